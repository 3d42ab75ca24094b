//! [`Token`]: what a thread that parks is unparked by.

use std::sync::{Mutex, PoisonError};
use std::task::Waker;

/// What is left for a thread that parks: whether it was unparked, and what wakes
/// it if it sleeps already.
#[derive(Debug, Default)]
pub(super) struct Token(Mutex<(bool, Option<Waker>)>);

impl Token {
    /// Calls `f` with whether the thread was unparked, and what wakes it.
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut (bool, Option<Waker>)) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
