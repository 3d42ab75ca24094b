//! The catalog of locks, and what is made of it: [`LockKind`] for their names,
//! [`with_lock!`](crate::with_lock) from a name to code that is compiled for that
//! lock, and [`DynLock`](crate::DynLock) for code that is compiled once.
//!
//! A lock is a file in this crate, its `mod` line, and a row in
//! [`for_each_lock!`](crate::for_each_lock). Names, help texts, tests, models and
//! the planner follow the catalog.

use std::fmt;
use std::str::FromStr;

/// The catalog: calls the macro in brackets with the arguments that follow it, in
/// parentheses, and then one row for each lock.
///
/// A row is the module and the type in this crate; and in braces the name, who is
/// next ([`Order`]), how threads wait
/// ([`Waiting`]), and what the lock is.
///
/// ```
/// macro_rules! types {
///     (($separator:expr) $($module:ident::$lock:ident $facts:tt)*) => {
///         [$(stringify!($lock)),*].join($separator)
///     };
/// }
/// let types = anabranch_sync::for_each_lock!([types] ", ");
/// assert!(types.starts_with("Spin, Ticket, Mcs"));
/// ```
#[macro_export]
macro_rules! for_each_lock {
    ([$($callback:tt)*] $($argument:tt)*) => {
        $crate::__with_example! {
            [$($callback)*] ($($argument)*)
            spin::Spin { "spin", Unfair, Spin, "test and test-and-set" }
            ticket::Ticket { "ticket", Arrival, Spin, "a ticket for each, served in turn" }
            mcs::Mcs {
                "mcs", Arrival, SpinApart,
                "a queue, in which each waits at a word of its own (Mellor-Crummey and Scott)"
            }
            adaptive::Adaptive {
                "adaptive", FairInTheEnd, Park, "spin for as long as has paid lately, then park"
            }
            os::Os { "os", Unfair, Park, "the standard library's futex" }
            rw::ReadersWriter {
                "readers-writer", Unfair, Park, "readers together, or one writer"
            }
        }
    };
}

/// Adds nothing to the catalog.
#[cfg(not(seventh))]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_example {
    ([$($callback:tt)*] $($rows:tt)*) => { $($callback)*! { $($rows)* } };
}

/// Adds the worked example's row, where that is compiled.
#[cfg(seventh)]
#[doc(hidden)]
#[macro_export]
macro_rules! __with_example {
    ([$($callback:tt)*] $($rows:tt)*) => {
        $($callback)*! {
            $($rows)*
            proportional::Proportional {
                "proportional", Arrival, Spin,
                "tickets, and pauses in proportion to the place in the queue"
            }
        }
    };
}

/// Who gets a lock that is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Whoever is quickest.
    Unfair,
    /// Whoever is quickest, but one that has waited for long is served first.
    FairInTheEnd,
    /// The thread that has asked first.
    Arrival,
}

/// How threads wait for a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// They keep looking, all at one word.
    Spin,
    /// They keep looking, each at a word of its own.
    SpinApart,
    /// They look for a while, then sleep until they are woken.
    Park,
}

macro_rules! lock_kind {
    (() $($module:ident::$lock:ident {
        $name:literal, $order:ident, $waiting:ident, $about:literal
    })*) => {
        /// The locks that can be chosen by name.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum LockKind {
            $(
                #[doc = concat!("`", $name, "`: [`", stringify!($lock), "`](crate::",
                    stringify!($module), "::", stringify!($lock), "), ", $about, ".")]
                $lock,
            )*
        }

        impl LockKind {
            /// All of them.
            pub const ALL: [LockKind; [$($name),*].len()] =
                [$(LockKind::$lock),*];

            /// Its name, as [`FromStr`] takes it.
            pub const fn name(self) -> &'static str {
                match self { $(LockKind::$lock => $name,)* }
            }

            /// What it is, in a few words.
            pub const fn about(self) -> &'static str {
                match self { $(LockKind::$lock => $about,)* }
            }

            /// Who gets it when it is released.
            pub const fn order(self) -> Order {
                match self { $(LockKind::$lock => Order::$order,)* }
            }

            /// How threads wait for it.
            pub const fn waiting(self) -> Waiting {
                match self { $(LockKind::$lock => Waiting::$waiting,)* }
            }
        }
    };
}

for_each_lock!([lock_kind]);

impl Default for LockKind {
    fn default() -> LockKind {
        LockKind::DEFAULT
    }
}

impl LockKind {
    /// The lock that is used where none is chosen.
    pub const DEFAULT: LockKind = LockKind::Adaptive;

    /// The names of all locks, in a row.
    pub fn names() -> String {
        LockKind::ALL.map(LockKind::name).join(", ")
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
        write!(f, "no lock is called {:?}: use one of {}", self.0, LockKind::names())
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

/// Evaluates an expression with a type alias for the lock of a [`LockKind`]. The
/// expression is compiled for every lock.
///
/// ```
/// use anabranch_sync::{LockKind, Locked};
/// let kind: LockKind = "mcs".parse().unwrap();
/// let sum = anabranch_sync::with_lock!(kind, L => {
///     let locked: Locked<L, u32> = Locked::new(1);
///     locked.with(|n| *n + 1)
/// });
/// assert_eq!(sum, 2);
/// ```
#[macro_export]
macro_rules! with_lock {
    ($kind:expr, $lock:ident => $then:expr) => {
        $crate::for_each_lock!([$crate::__with_lock] $kind, $lock => $then)
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __with_lock {
    (($kind:expr, $alias:ident => $then:expr)
        $($module:ident::$lock:ident $facts:tt)*) => {
        match $kind {
            $(
                $crate::LockKind::$lock => {
                    type $alias = $crate::$module::$lock;
                    $then
                }
            )*
        }
    };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
