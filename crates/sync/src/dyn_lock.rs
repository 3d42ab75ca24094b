//! [`DynLock`]: a lock whose type is chosen when it is made. What it guards is
//! compiled once, for an indirect call a use, where
//! [`with_lock!`](crate::with_lock) compiles it for each lock.

use crate::counted::{Counted, LockCounts};
use crate::{LockKind, RawLock};
use crate::{adaptive::Adaptive, mcs::Mcs, os::Os, rw::ReadersWriter, spin::Spin, ticket::Ticket};

macro_rules! named {
    ($($kind:ident($lock:ty, $counted:ident)),*) => {
        /// A lock of any [`LockKind`], counted or not.
        #[derive(Debug)]
        pub enum DynLock {
            $(
                #[doc = concat!("Of the kind `", stringify!($kind), "`.")]
                $kind($lock),
                #[doc = concat!("Of the kind `", stringify!($kind), "`, counted.")]
                $counted(Box<Counted<$lock>>),
            )*
        }

        impl DynLock {
            /// A lock of this kind.
            pub fn new(kind: LockKind, counted: bool) -> DynLock {
                match (kind, counted) {
                    $(
                        (LockKind::$kind, false) => DynLock::$kind(<$lock>::default()),
                        (LockKind::$kind, true) => DynLock::$counted(Box::default()),
                    )*
                }
            }

            #[inline]
            fn run(&self, f: &mut dyn FnMut()) {
                match self {
                    $(DynLock::$kind(lock) => lock.with(f), DynLock::$counted(lock) => lock.with(f),)*
                }
            }

            #[inline]
            fn run_shared(&self, f: &mut dyn FnMut()) {
                match self {
                    $(
                        DynLock::$kind(lock) => lock.with_shared(f),
                        DynLock::$counted(lock) => lock.with_shared(f),
                    )*
                }
            }
        }

        // SAFETY: each use is one use of the lock that it is made of, with a
        // closure that calls `f` at most once and does not catch its panic; the
        // lock calls that closure exactly once if it returns.
        unsafe impl RawLock for DynLock {
            #[inline]
            fn with<R>(&self, f: impl FnOnce() -> R) -> R {
                once(f, |f| self.run(f))
            }

            #[inline]
            fn with_shared<R>(&self, f: impl FnOnce() -> R) -> R {
                once(f, |f| self.run_shared(f))
            }

            fn is_locked(&self) -> bool {
                match self {
                    $(
                        DynLock::$kind(lock) => lock.is_locked(),
                        DynLock::$counted(lock) => lock.is_locked(),
                    )*
                }
            }

            fn is_locked_shared(&self) -> bool {
                match self {
                    $(
                        DynLock::$kind(lock) => lock.is_locked_shared(),
                        DynLock::$counted(lock) => lock.is_locked_shared(),
                    )*
                }
            }

            fn counts(&self) -> LockCounts {
                match self {
                    $(
                        DynLock::$kind(_) => LockCounts::default(),
                        DynLock::$counted(lock) => lock.counts(),
                    )*
                }
            }
        }
    };
}

named! {
    Spin(Spin, CountedSpin), Ticket(Ticket, CountedTicket), Mcs(Mcs, CountedMcs),
    Adaptive(Adaptive, CountedAdaptive), Os(Os, CountedOs),
    ReadersWriter(ReadersWriter, CountedReadersWriter)
}

impl Default for DynLock {
    fn default() -> DynLock {
        DynLock::new(LockKind::default(), false)
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
                let locked = Locked::of(DynLock::new(kind, counted), 0u64);
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
