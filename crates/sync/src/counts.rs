//! [`LockCounts`]: what a lock has counted.

use std::time::Duration;

/// What a [`Counted`](crate::counted::Counted) lock has seen since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LockCounts {
    /// How often it was taken, by shared uses too.
    pub uses: u64,
    /// How many of these found it taken, so that they had to wait. Looked at
    /// just before asking for it: one that came in between is not counted.
    pub contended: u64,
    /// Time from asking for it to having it, over those uses.
    pub wait: Duration,
    /// Time from having it to letting it go, over all uses, from samples. Of
    /// shared uses at the same time, each counts.
    pub hold: Duration,
}

impl LockCounts {
    /// Adds the counts of another lock.
    pub fn add(&mut self, other: &LockCounts) {
        self.uses += other.uses;
        self.contended += other.contended;
        self.wait += other.wait;
        self.hold += other.hold;
    }
}
