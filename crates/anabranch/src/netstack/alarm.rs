//! [`Alarms`]: tasks that are woken at a time of their own. The library has no runtime of its
//! own, so one thread wakes them; it goes a second after nobody has waited any more.

use crate::wait::wake_each;
use platform::{Instant, Mutex, thread};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

/// How long the thread stays when nobody waits.
const LINGER: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
struct State {
    /// By time; the number tells those of one moment apart.
    waiting: BTreeMap<Name, Waker>,
    next: u64,
    thread: Option<thread::Thread>,
    runs: bool,
}

/// By which an alarm is taken back.
pub(super) type Name = (Instant, u64);

/// Tasks that wait for a moment.
#[derive(Debug, Default)]
pub(super) struct Alarms(Mutex<State>);

impl Alarms {
    /// Wakes a task at `at`. If the system gives no thread for it, at once, and there is no alarm: the task has to
    /// ask again.
    pub(super) fn wake_at(self: &Arc<Alarms>, at: Instant, waker: &Waker) -> Option<Name> {
        let mut state = self.0.lock();
        let name = (at, state.next);
        state.next += 1;
        if !state.runs {
            let alarms = self.clone();
            let thread = thread::Builder::new().name("ana-rates".into());
            if thread.spawn(move || alarms.run()).is_err() {
                drop(state);
                waker.wake_by_ref();
                return None;
            }
            state.runs = true;
        }
        state.waiting.insert(name, waker.clone());
        let is_first = state.waiting.first_key_value().is_some_and(|(first, _)| *first == name);
        if let Some(thread) = state.thread.as_ref().filter(|_| is_first) {
            thread.unpark();
        }
        Some(name)
    }

    /// Takes an alarm back, if it has not rung.
    pub(super) fn cancel(&self, name: Name) {
        // What goes with it may take alarms back, too: it is dropped after the lock.
        let _waker = self.0.lock().waiting.remove(&name);
    }

    /// Rings an alarm now, if it has not rung.
    pub(super) fn ring(&self, name: Name) {
        let waker = self.0.lock().waiting.remove(&name);
        waker.into_iter().for_each(Waker::wake);
    }

    fn run(&self) {
        self.0.lock().thread = Some(thread::current());
        let mut idle_since = None;
        loop {
            let now = Instant::now();
            let mut state = self.0.lock();
            let later = state.waiting.split_off(&(now, u64::MAX));
            let due = std::mem::replace(&mut state.waiting, later);
            let next = state.waiting.first_key_value().map(|((at, _), _)| *at);
            if next.is_some() || !due.is_empty() {
                idle_since = None;
            } else if now.saturating_duration_since(*idle_since.get_or_insert(now)) >= LINGER {
                (state.runs, state.thread) = (false, None);
                return;
            }
            drop(state);
            wake_each(due.into_values());
            let left = next.map_or(LINGER, |at| at.saturating_duration_since(Instant::now()));
            thread::park_timeout(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;
    use std::task::Wake;

    struct Tell(usize, mpsc::Sender<usize>);

    impl Wake for Tell {
        fn wake(self: Arc<Self>) {
            self.1.send(self.0).expect("somebody listens");
        }
    }

    #[test]
    fn tasks_are_woken_in_the_order_of_their_times() {
        let alarms = Arc::<Alarms>::default();
        let (sender, woken) = mpsc::channel();
        let start = Instant::now();
        // What comes later may be due before.
        for after in [300, 100, 200, 0] {
            let waker = Waker::from(Arc::new(Tell(after, sender.clone())));
            alarms.wake_at(start + Duration::from_millis(after as u64), &waker);
        }
        let order: Vec<usize> = woken.iter().take(4).collect();
        assert_eq!(order, [0, 100, 200, 300]);
        assert!(start.elapsed() >= Duration::from_millis(300));
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("a waker of the test's");
        }
    }

    #[test]
    fn a_waker_that_panics_ends_nothing() {
        let alarms = Arc::<Alarms>::default();
        let (sender, woken) = mpsc::channel();
        let start = Instant::now();
        alarms.wake_at(start, &Waker::from(Arc::new(Panics)));
        for after in [0, 20] {
            let waker = Waker::from(Arc::new(Tell(after, sender.clone())));
            alarms.wake_at(start + Duration::from_millis(after as u64), &waker);
        }
        drop(sender);
        assert_eq!(woken.iter().collect::<Vec<_>>(), [0, 20]);
    }

    #[test]
    fn an_alarm_that_is_taken_back_does_not_ring() {
        let alarms = Arc::<Alarms>::default();
        let (sender, woken) = mpsc::channel();
        let start = Instant::now();
        let names = [50, 100].map(|after| {
            let waker = Waker::from(Arc::new(Tell(after, sender.clone())));
            alarms.wake_at(start + Duration::from_millis(after as u64), &waker)
        });
        let names = names.map(|name| name.expect("a thread"));
        alarms.cancel(names[0]);
        assert_eq!(woken.recv(), Ok(100));
        // Once it has rung, that changes nothing.
        alarms.cancel(names[1]);
        assert!(alarms.0.lock().waiting.is_empty());
    }

    #[test]
    fn the_thread_goes_and_another_comes() {
        static WOKEN: AtomicUsize = AtomicUsize::new(0);
        struct Count;
        impl Wake for Count {
            fn wake(self: Arc<Self>) {
                WOKEN.fetch_add(1, Ordering::SeqCst);
            }
        }
        let alarms = Arc::<Alarms>::default();
        for round in 1..=2 {
            alarms.wake_at(Instant::now(), &Waker::from(Arc::new(Count)));
            while WOKEN.load(Ordering::SeqCst) < round || alarms.0.lock().runs {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert!(alarms.0.lock().waiting.is_empty());
        }
    }
}
