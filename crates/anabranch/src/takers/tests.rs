use super::*;
use crate::wait::{block_on, wake_each};
use platform::Mutex;
use platform::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::Wake;
use std::thread;
use std::time::Duration;

/// Things, and who waits for them.
#[derive(Default)]
struct Things {
    there: usize,
    takers: Takers,
}

/// A call that takes one of them, and counts how often it looked.
fn take(things: &Mutex<Things>, looks: &AtomicUsize) {
    let taken = block_on(None, |cx| {
        let mut asked = Asked::default();
        let mut things = things.lock();
        looks.fetch_add(1, Ordering::Relaxed);
        things.takers.look(Some(cx));
        match things.there.checked_sub(1) {
            Some(left) => {
                things.there = left;
                Poll::Ready(Ok(()))
            }
            None => things.takers.wait(Some(cx), &mut asked),
        }
    });
    taken.expect("no time-out");
}

fn put(things: &Mutex<Things>) {
    let mut wakes = Vec::new();
    let mut locked = things.lock();
    locked.there += 1;
    locked.takers.take_for_one(&mut wakes);
    drop(locked);
    wake_each(wakes);
}

fn waiting(things: &Mutex<Things>) -> usize {
    things.lock().takers.threads.len()
}

#[test]
fn one_thread_is_woken_for_one_thing() {
    const THREADS: usize = 50;
    let things = Mutex::new(Things::default());
    let looks = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| take(&things, &looks));
        }
        for left in (0..THREADS).rev() {
            while waiting(&things) <= left {
                thread::sleep(Duration::from_millis(1));
            }
            put(&things);
        }
    });
    // Each before it waited, and once it was woken; a thread may wake for nothing now and then.
    assert!(looks.into_inner() < 3 * THREADS);
}

/// A thread that comes by chance takes what another was woken for. Were it still known as one that waits,
/// it would be woken for the next thing, and the other wait for ever.
#[test]
fn who_comes_by_chance_waits_no_more() {
    let things = Arc::new(Mutex::new(Things::default()));
    let looks = Arc::new(AtomicUsize::new(0));
    let start = || {
        let (things, looks) = (things.clone(), looks.clone());
        thread::spawn(move || take(&things, &looks))
    };
    let first = start();
    while waiting(&things) < 1 {
        thread::yield_now();
    }
    let second = start();
    while waiting(&things) < 2 {
        thread::yield_now();
    }
    // The first is to be woken, and is late.
    let mut late = Vec::new();
    let mut locked = things.lock();
    locked.there += 1;
    locked.takers.take_for_one(&mut late);
    drop(locked);
    second.thread().unpark();
    second.join().expect("it takes the thing");
    wake_each(late);
    while waiting(&things) < 1 {
        thread::yield_now();
    }
    put(&things);
    first.join().expect("it takes the next");
}

/// Of a task nobody knows whether it comes.
#[test]
fn tasks_are_all_woken() {
    #[derive(Default)]
    struct Task(AtomicUsize);
    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
    let tasks: Vec<_> = (0..3).map(|_| Arc::<Task>::default()).collect();
    let things = Mutex::new(Things::default());
    for task in &tasks {
        let waker = Waker::from(task.clone());
        let mut asked = Asked::default();
        things.lock().takers.add(&Context::from_waker(&waker), &mut asked);
    }
    put(&things);
    assert!(tasks.iter().all(|task| task.0.load(Ordering::Relaxed) == 1));
}
