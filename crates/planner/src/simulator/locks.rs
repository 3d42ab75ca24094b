//! The rules of simulated locks: who gets a lock that is let go, and who waits
//! how. The locks are those of `sync`; what they cost is in
//! [`LockCosts`](super::costs::LockCosts).
//!
//! The catalog says of each kind who is next and how threads wait
//! ([`LockKind::order`], [`LockKind::waiting`]); a semaphore serves in the order of
//! arrival, and its waiters spin, then park.

use super::Time;
use super::ids::ThreadId;
use std::collections::VecDeque;
use sync::LockKind;
use sync::by_name::{Order, Waiting};

/// How long somebody may wait for a lock of a kind that looks after such before it
/// is handed to him, ps: what `parking_lot` takes.
pub(crate) const FAIR_AFTER: Time = Time(500_000_000);

/// A rule for who is next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// In the order of arrival.
    pub(crate) in_order: bool,
    /// Waiters park, after some spinning.
    pub(crate) parks: bool,
    /// A thread that has waited for [`FAIR_AFTER`] is next.
    pub(crate) fair: bool,
}

impl Rule {
    /// That of a kind of lock, taken exclusively.
    pub(crate) const fn of(kind: LockKind) -> Rule {
        Rule {
            in_order: matches!(kind.order(), Order::Arrival),
            parks: matches!(kind.waiting(), Waiting::Park),
            fair: matches!(kind.order(), Order::FairInTheEnd),
        }
    }

    /// A semaphore's (Yates 3.1).
    pub(crate) const SEMAPHORE: Rule = Rule { in_order: true, parks: true, fair: false };
}

/// What a lock costs, ps.
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
    /// The sort of lock that it is, for the report.
    pub(crate) class: u16,
    pub(crate) holder: Option<ThreadId>,
    /// The processor that has its line.
    pub(crate) processor: u16,
    /// Those that want it, in the order in which they came.
    pub(crate) waiters: VecDeque<ThreadId>,
    /// It is on its way to one of those that spin.
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

    /// May somebody who comes now take it?
    pub(crate) fn is_open(&self) -> bool {
        self.holder.is_none() && (!self.rule.in_order || self.waiters.is_empty())
    }

    /// `thread`, on `processor`, has it from now on.
    pub(crate) fn take(&mut self, thread: ThreadId, processor: u16, now: Time) {
        self.holder = Some(thread);
        self.processor = processor;
        self.taken_at = now;
        self.uses += 1;
    }

    /// Its holder lets it go.
    pub(crate) fn let_go(&mut self, now: Time) {
        self.held += now.0 - self.taken_at.0;
        self.holder = None;
    }

    /// Who waited since then has it.
    pub(crate) fn waited_since(&mut self, since: Time, now: Time) {
        self.waited += now.0 - since.0;
        self.contended_uses += 1;
    }

    /// `thread` waits no longer.
    pub(crate) fn forget(&mut self, thread: ThreadId) {
        if let Some(at) = self.waiters.iter().position(|&waiter| waiter == thread) {
            self.waiters.remove(at);
        }
    }

    /// From its last holder to the next of several, ps.
    pub(crate) fn transfer(&self, others: usize) -> u64 {
        self.price.contended.saturating_add(self.price.per_waiter.saturating_mul(others as u64))
    }

    /// Starts counting anew.
    pub(crate) fn reset(&mut self, now: Time) {
        (self.held, self.waited, self.uses, self.contended_uses) = (0, 0, 0, 0);
        self.taken_at = now;
    }
}
