//! The mutex of the standard library: a futex.

use crate::primitive::Mutex;
use crate::raw::RawLock;
use std::sync::{PoisonError, TryLockError};

/// The operating system's mutex, as the standard library wraps it: waiters
/// sleep in the kernel after a short spin.
#[derive(Debug, Default)]
pub struct Os(Mutex<()>);

// SAFETY: `Mutex` is a mutual exclusion; its guard lives until `f` returns or
// unwinds. That a panic poisoned it says nothing about what we guard.
unsafe impl RawLock for Os {
    #[inline]
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        let _guard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f()
    }

    /// By trying to take it, which for that moment locks others out.
    #[inline]
    fn is_locked(&self) -> bool {
        matches!(self.0.try_lock(), Err(TryLockError::WouldBlock))
    }
}
