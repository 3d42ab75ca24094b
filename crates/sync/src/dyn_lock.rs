//! [`DynLock`]: a lock whose type is chosen when it is made. What it guards is
//! compiled once, for an indirect call a use, where
//! [`with_lock!`](crate::with_lock) compiles it for each lock.

use crate::counted::Counted;
use crate::{LockCounts, LockKind, RawLock};

macro_rules! any_lock {
    (() $($module:ident::$lock:ident $facts:tt)*) => {
        /// A lock of any kind.
        #[derive(Debug)]
        enum AnyLock {
            $($lock(crate::$module::$lock),)*
        }

        impl From<LockKind> for AnyLock {
            fn from(kind: LockKind) -> AnyLock {
                match kind {
                    $(LockKind::$lock => AnyLock::$lock(Default::default()),)*
                }
            }
        }

        impl AnyLock {
            #[inline]
            fn run(&self, f: &mut dyn FnMut()) {
                match self { $(AnyLock::$lock(lock) => lock.with(f),)* }
            }

            #[inline]
            fn run_shared(&self, f: &mut dyn FnMut()) {
                match self { $(AnyLock::$lock(lock) => lock.with_shared(f),)* }
            }
        }

        // SAFETY: each use is one use of the lock that it is made of, with a
        // closure that calls `f` at most once and does not catch its panic; the
        // lock calls that closure exactly once if it returns.
        unsafe impl RawLock for AnyLock {
            #[inline]
            fn with<R>(&self, f: impl FnOnce() -> R) -> R {
                once(f, |f| self.run(f))
            }

            #[inline]
            fn with_shared<R>(&self, f: impl FnOnce() -> R) -> R {
                once(f, |f| self.run_shared(f))
            }

            fn is_locked(&self) -> bool {
                match self { $(AnyLock::$lock(lock) => lock.is_locked(),)* }
            }

            fn is_locked_shared(&self) -> bool {
                match self { $(AnyLock::$lock(lock) => lock.is_locked_shared(),)* }
            }
        }
    };
}

crate::for_each_lock!([any_lock]);

impl Default for AnyLock {
    fn default() -> AnyLock {
        AnyLock::from(LockKind::default())
    }
}

/// A lock of any [`LockKind`], counted or not.
#[derive(Debug, Default)]
pub struct DynLock(Form);

#[derive(Debug)]
enum Form {
    Plain(AnyLock),
    Counted(Box<Counted<AnyLock>>),
}

impl Default for Form {
    fn default() -> Form {
        Form::Plain(AnyLock::default())
    }
}

impl DynLock {
    /// A lock of this kind.
    pub fn new(kind: LockKind, counted: bool) -> DynLock {
        let lock = AnyLock::from(kind);
        DynLock(if counted { Form::Counted(Box::new(lock.into())) } else { Form::Plain(lock) })
    }
}

// SAFETY: each use is one use of the lock that it is made of.
unsafe impl RawLock for DynLock {
    #[inline]
    fn with<R>(&self, f: impl FnOnce() -> R) -> R {
        match &self.0 {
            Form::Plain(lock) => lock.with(f),
            Form::Counted(lock) => lock.with(f),
        }
    }

    #[inline]
    fn with_shared<R>(&self, f: impl FnOnce() -> R) -> R {
        match &self.0 {
            Form::Plain(lock) => lock.with_shared(f),
            Form::Counted(lock) => lock.with_shared(f),
        }
    }

    fn is_locked(&self) -> bool {
        match &self.0 {
            Form::Plain(lock) => lock.is_locked(),
            Form::Counted(lock) => lock.is_locked(),
        }
    }

    fn is_locked_shared(&self) -> bool {
        match &self.0 {
            Form::Plain(lock) => lock.is_locked_shared(),
            Form::Counted(lock) => lock.is_locked_shared(),
        }
    }

    fn counts(&self) -> LockCounts {
        match &self.0 {
            Form::Plain(_) => LockCounts::default(),
            Form::Counted(lock) => lock.counts(),
        }
    }
}

/// Has `run` call a closure that calls `f`, and gives what `f` gave.
#[inline]
fn once<R>(f: impl FnOnce() -> R, run: impl FnOnce(&mut dyn FnMut())) -> R {
    let (mut f, mut result) = (Some(f), None);
    run(&mut || result = f.take().map(|f| f()));
    result.expect("the lock has called it")
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::Locked;

    #[test]
    fn every_kind_excludes_and_counts() {
        for kind in LockKind::ALL {
            for counted in [false, true] {
                let locked = Locked::from_parts(DynLock::new(kind, counted), 0u64);
                std::thread::scope(|scope| {
                    for _ in 0..3 {
                        scope.spawn(|| {
                            for _ in 0..1000 {
                                locked.with(|n| *n += 1);
                            }
                        });
                    }
                });
                assert_eq!(locked.read(|n| *n), 3000);
                let uses = locked.lock().counts().uses;
                assert_eq!(uses, if counted { 3001 } else { 0 });
            }
        }
    }
}
