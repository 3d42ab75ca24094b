//! A pool for work that would block a unit's thread.

use crate::wait::caught;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

/// Threads at most, and how long one waits for work.
const THREADS: usize = 64;
const IDLE: Duration = Duration::from_secs(5);

type Work = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Pool {
    work: VecDeque<Work>,
    threads: usize,
    idle: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool { work: VecDeque::new(), threads: 0, idle: 0 });
static CAME: Condvar = Condvar::new();

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Answer<T> {
    value: Option<io::Result<T>>,
    waker: Option<Waker>,
}

/// Does `work` on a thread of the pool.
///
/// # Errors
/// `Other` if it panics; the system's error if it gives no thread.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> io::Result<T> {
    let answer = Arc::new(Mutex::new(Answer { value: None, waker: None }));
    let to = answer.clone();
    post(Box::new(move || {
        let done = caught(work).ok_or_else(|| io::Error::other("the work panicked"));
        let waker = {
            let mut answer = lock(&to);
            answer.value = Some(done);
            answer.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }))?;
    std::future::poll_fn(|cx| {
        let mut answer = lock(&answer);
        match answer.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                let before = answer.waker.replace(cx.waker().clone());
                drop(answer);
                drop(before);
                Poll::Pending
            }
        }
    })
    .await
}

fn post(work: Work) -> io::Result<()> {
    let mut pool = lock(&POOL);
    if pool.idle <= pool.work.len() && pool.threads < THREADS {
        match std::thread::Builder::new().name("ana-blocking".into()).spawn(serve) {
            Ok(_) => pool.threads += 1,
            Err(error) if pool.threads == 0 => return Err(error),
            // It is done later.
            Err(_) => {}
        }
    }
    pool.work.push_back(work);
    CAME.notify_one();
    Ok(())
}

/// A thread of the pool.
fn serve() {
    let mut pool = lock(&POOL);
    loop {
        if let Some(work) = pool.work.pop_front() {
            drop(pool);
            // Its result may be dropped here, and that may panic.
            caught(work);
            pool = lock(&POOL);
            continue;
        }
        pool.idle += 1;
        let (guard, waited) = CAME.wait_timeout(pool, IDLE).unwrap_or_else(PoisonError::into_inner);
        pool = guard;
        pool.idle -= 1;
        if waited.timed_out() && pool.work.is_empty() {
            pool.threads -= 1;
            return;
        }
    }
}
