//! The rules of simulated locks: which thread gets a released lock, and how the
//! others wait. The locks are those of `sync`; their costs are in
//! [`LockCosts`](super::costs::LockCosts).
//!
//! | kind | order | waits |
//! |---|---|---|
//! | `spin` | the quickest thread, often the last owner, as its processor has the line | spinning |
//! | `ticket`, `mcs` | arrival | spinning |
//! | `adaptive` | the quickest thread; a thread that has waited for long is served first | spins, then parks |
//! | `os`, `readers-writer` | the quickest thread | spins, then parks |
//! | semaphore | arrival | spins, then parks |

use super::Time;
use super::ids::ThreadId;
use std::collections::VecDeque;
use sync::LockKind;
use sync::by_name::{Order, Waiting};

/// A fair lock is handed to a thread that has waited for this long, ps, as in
/// `parking_lot`.
pub(crate) const FAIR_AFTER: Time = Time(500_000_000);

/// A rule for which thread is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// Threads are served in the order of arrival.
    pub(crate) in_order: bool,
    /// Waiters spin for some time, then park.
    pub(crate) parks: bool,
    /// A thread that has waited for [`FAIR_AFTER`] is next.
    pub(crate) fair: bool,
}

impl Rule {
    /// The rule of a kind of lock, taken exclusively.
    pub(crate) const fn of(kind: LockKind) -> Rule {
        Rule {
            in_order: matches!(kind.order(), Order::Arrival),
            parks: matches!(kind.waiting(), Waiting::Park),
            fair: matches!(kind.order(), Order::FairInTheEnd),
        }
    }

    /// The rule of a semaphore (Yates 3.1).
    pub(crate) const SEMAPHORE: Rule = Rule { in_order: true, parks: true, fair: false };
}

/// The costs of a lock, ps.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Price {
    pub(crate) alone: u64,
    pub(crate) contended: u64,
    pub(crate) per_waiter: u64,
    pub(crate) spin: u64,
}

/// A lock.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    pub(crate) rule: Rule,
    pub(crate) price: Price,
    /// The class of locks that it is reported under.
    pub(crate) class: u16,
    pub(crate) holder: Option<ThreadId>,
    /// The processor whose cache has its line.
    pub(crate) processor: u16,
    /// Waiting threads, in the order of arrival.
    pub(crate) waiters: VecDeque<ThreadId>,
    /// The lock is on its way to a spinning thread.
    pub(crate) granting: bool,
    pub(crate) taken_at: Time,
    pub(crate) held: u64,
    pub(crate) waited: u64,
    pub(crate) uses: u64,
    pub(crate) contended_uses: u64,
}

impl Lock {
    pub(crate) fn new(rule: Rule, price: Price, class: u16) -> Lock {
        Lock {
            rule,
            price,
            class,
            holder: None,
            processor: u16::MAX,
            waiters: VecDeque::new(),
            granting: false,
            taken_at: Time(0),
            held: 0,
            waited: 0,
            uses: 0,
            contended_uses: 0,
        }
    }

    /// True if a thread that arrives now may take the lock.
    pub(crate) fn is_open(&self) -> bool {
        self.holder.is_none() && (!self.rule.in_order || self.waiters.is_empty())
    }

    /// `thread`, on `processor`, takes the lock.
    pub(crate) fn take(&mut self, thread: ThreadId, processor: u16, now: Time) {
        self.holder = Some(thread);
        self.processor = processor;
        self.taken_at = now;
        self.uses += 1;
    }

    /// The holder releases the lock.
    pub(crate) fn let_go(&mut self, now: Time) {
        self.held += now.0 - self.taken_at.0;
        self.holder = None;
    }

    /// Records the wait of a thread that has just got the lock.
    pub(crate) fn waited_since(&mut self, since: Time, now: Time) {
        self.waited += now.0 - since.0;
        self.contended_uses += 1;
    }

    /// Removes `thread` from the waiters.
    pub(crate) fn forget(&mut self, thread: ThreadId) {
        if let Some(at) = self.waiters.iter().position(|&waiter| waiter == thread) {
            self.waiters.remove(at);
        }
    }

    /// The time from its last holder to the next while `others` also wait, ps.
    pub(crate) fn transfer(&self, others: usize) -> u64 {
        self.price.contended.saturating_add(self.price.per_waiter.saturating_mul(others as u64))
    }

    /// Starts counting again.
    pub(crate) fn reset(&mut self, now: Time) {
        (self.held, self.waited, self.uses, self.contended_uses) = (0, 0, 0, 0);
        self.taken_at = now;
    }
}
