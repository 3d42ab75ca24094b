//! [`MaybeShared`]: state that a unit has for itself, or that units have in common.

use platform::Mutex;
use std::sync::Arc;

/// State that units have in common, under one lock.
pub(crate) struct Shared<T>(Arc<Mutex<T>>);

impl<T> Shared<T> {
    pub(crate) fn new(state: T) -> Shared<T> {
        Shared(Arc::new(Mutex::new(state)))
    }
}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Shared<T> {
        Shared(self.0.clone())
    }
}

/// A unit's own state, without a lock; or what it has in common with others.
pub(crate) enum MaybeShared<T> {
    Own(Box<T>),
    Shared(Shared<T>),
}

impl<T> MaybeShared<T> {
    pub(crate) fn own(state: T) -> MaybeShared<T> {
        MaybeShared::Own(Box::new(state))
    }

    /// Runs `f` with exclusive access to the state.
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        match self {
            MaybeShared::Own(state) => f(state),
            MaybeShared::Shared(Shared(state)) => f(&mut state.lock()),
        }
    }

    /// The state, if nobody else has it.
    pub(crate) fn as_own(&self) -> Option<&T> {
        match self {
            MaybeShared::Own(state) => Some(state),
            MaybeShared::Shared(_) => None,
        }
    }
}
