//! What hyper asks of a runtime, on the thread of a unit. For its `Read` and `Write` take
//! `hyper_util::rt::TokioIo`.

use super::{Sleep, spawn};
use hyper::rt;
use std::pin::Pin;
use std::time::{Duration, Instant};

/// Starts hyper's tasks on the calling task's unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Executor;

impl<F: Future + 'static> rt::Executor<F> for Executor {
    /// # Panics
    /// If it is not called in a task of a unit.
    fn execute(&self, task: F) {
        let task = async {
            task.await;
        };
        spawn(task).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Time by the timers of the calling task's unit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Timer;

impl rt::Timer for Timer {
    fn sleep(&self, time: Duration) -> Pin<Box<dyn rt::Sleep>> {
        Box::pin(super::sleep(time))
    }

    fn sleep_until(&self, at: Instant) -> Pin<Box<dyn rt::Sleep>> {
        self.sleep(at.saturating_duration_since(Instant::now()))
    }
}

impl rt::Sleep for Sleep {}
