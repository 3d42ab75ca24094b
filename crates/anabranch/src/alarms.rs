//! [`Alarms`]: tasks that are to be woken after a while. A library without a runtime of its
//! own has no timer for tasks, so one thread wakes them; it is there only while some wait.

use crate::wait::wake_each;
use platform::{Instant, Mutex, thread};
use std::sync::Arc;
use std::task::Waker;

#[derive(Default)]
struct State {
    waiting: Vec<(Instant, Waker)>,
    runs: bool,
}

/// Tasks that wait for a moment.
#[derive(Default)]
pub(crate) struct Alarms(Mutex<State>);

impl Alarms {
    /// Wakes a task at `at`. All of them wait equally long, so that whoever comes later is
    /// woken later.
    pub(crate) fn wake_at(self: &Arc<Alarms>, at: Instant, waker: &Waker) {
        let mut state = self.0.lock();
        let is_same = |(of, known): &(Instant, Waker)| *of == at && known.will_wake(waker);
        if !state.waiting.iter().any(is_same) {
            state.waiting.push((at, waker.clone()));
        }
        if !state.runs {
            let alarms = self.clone();
            let thread = thread::Builder::new().name("ana-alarm".into());
            // Without a thread, the next attempt begins when one has failed.
            state.runs = thread.spawn(move || alarms.run()).is_ok();
        }
    }

    fn run(&self) {
        loop {
            let now = Instant::now();
            let mut state = self.0.lock();
            let (due, left): (Vec<_>, Vec<_>) =
                std::mem::take(&mut state.waiting).into_iter().partition(|(at, _)| *at <= now);
            let next = left.iter().map(|(at, _)| *at).min();
            state.waiting = left;
            state.runs = next.is_some() || !due.is_empty();
            let ends = !state.runs;
            drop(state);
            wake_each(due.into_iter().map(|(_, waker)| waker));
            match next {
                _ if ends => return,
                Some(at) => thread::sleep(at.saturating_duration_since(now)),
                None => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::task::Wake;
    use std::time::Duration;

    /// Says so, or panics.
    struct Tells(Option<mpsc::Sender<()>>);

    impl Wake for Tells {
        fn wake(self: Arc<Self>) {
            let to = self.0.as_ref().expect("a waker of the test's that panics");
            to.send(()).expect("somebody listens");
        }
    }

    #[test]
    fn a_waker_that_panics_ends_nothing() {
        let alarms = Arc::<Alarms>::default();
        let (sender, woken) = mpsc::channel();
        let start = Instant::now();
        alarms.wake_at(start, &Waker::from(Arc::new(Tells(None))));
        let second = start + Duration::from_millis(20);
        alarms.wake_at(second, &Waker::from(Arc::new(Tells(Some(sender)))));
        assert_eq!(woken.recv(), Ok(()));
    }
}
