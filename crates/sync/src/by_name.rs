//! Locks by name: [`LockKind`], and [`with_lock!`](crate::with_lock) from a
//! name to the code made for that lock.

use std::fmt;
use std::str::FromStr;

/// The locks that can be chosen by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LockKind {
    /// `spin`: [`spin::Spin`](crate::spin::Spin), test and test-and-set.
    Spin,
    /// `ticket`: [`ticket::Ticket`](crate::ticket::Ticket).
    Ticket,
    /// `mcs`: [`mcs::Mcs`](crate::mcs::Mcs), a queue of Mellor-Crummey and Scott.
    Mcs,
    /// `adaptive`: [`adaptive::Adaptive`](crate::adaptive::Adaptive), spin, then
    /// park.
    #[default]
    Adaptive,
    /// `os`: [`os::Os`](crate::os::Os), the standard library's futex.
    Os,
    /// `readers-writer`: [`rw::ReadersWriter`](crate::rw::ReadersWriter).
    ReadersWriter,
}

impl LockKind {
    /// All of them.
    pub const ALL: [LockKind; 6] = [
        LockKind::Spin,
        LockKind::Ticket,
        LockKind::Mcs,
        LockKind::Adaptive,
        LockKind::Os,
        LockKind::ReadersWriter,
    ];

    /// Its name, as [`FromStr`] takes it.
    pub const fn name(self) -> &'static str {
        match self {
            LockKind::Spin => "spin",
            LockKind::Ticket => "ticket",
            LockKind::Mcs => "mcs",
            LockKind::Adaptive => "adaptive",
            LockKind::Os => "os",
            LockKind::ReadersWriter => "readers-writer",
        }
    }
}

impl fmt::Display for LockKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// There is no lock of that name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchLock(pub String);

impl fmt::Display for NoSuchLock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = LockKind::ALL.map(LockKind::name).join(", ");
        write!(f, "no lock is called {:?}: use one of {names}", self.0)
    }
}

impl std::error::Error for NoSuchLock {}

impl FromStr for LockKind {
    type Err = NoSuchLock;

    fn from_str(name: &str) -> Result<LockKind, NoSuchLock> {
        let found = LockKind::ALL.into_iter().find(|kind| kind.name() == name);
        found.ok_or_else(|| NoSuchLock(name.to_owned()))
    }
}

/// Evaluates an expression with a type alias for the lock of a [`LockKind`], or
/// for the [`Counted`](crate::counted::Counted) one if the second argument is
/// true. The expression is compiled for every lock.
///
/// ```
/// use sync::{LockKind, Locked};
/// let kind: LockKind = "mcs".parse().unwrap();
/// let sum = sync::with_lock!(kind, false, L => {
///     let locked: Locked<L, u32> = Locked::new(1);
///     locked.with(|n| *n + 1)
/// });
/// assert_eq!(sum, 2);
/// ```
#[macro_export]
macro_rules! with_lock {
    ($kind:expr, $counted:expr, $lock:ident => $then:expr) => {
        match ($kind, $counted) {
            ($crate::LockKind::Spin, counted) => {
                $crate::with_lock!(@one $crate::spin::Spin, counted, $lock => $then)
            }
            ($crate::LockKind::Ticket, counted) => {
                $crate::with_lock!(@one $crate::ticket::Ticket, counted, $lock => $then)
            }
            ($crate::LockKind::Mcs, counted) => {
                $crate::with_lock!(@one $crate::mcs::Mcs, counted, $lock => $then)
            }
            ($crate::LockKind::Adaptive, counted) => {
                $crate::with_lock!(@one $crate::adaptive::Adaptive, counted, $lock => $then)
            }
            ($crate::LockKind::Os, counted) => {
                $crate::with_lock!(@one $crate::os::Os, counted, $lock => $then)
            }
            ($crate::LockKind::ReadersWriter, counted) => {
                $crate::with_lock!(@one $crate::rw::ReadersWriter, counted, $lock => $then)
            }
        }
    };
    (@one $type:ty, $counted:ident, $lock:ident => $then:expr) => {
        if $counted {
            type $lock = $crate::counted::Counted<$type>;
            $then
        } else {
            type $lock = $type;
            $then
        }
    };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
