//! What is lost, and what was sent again: kept beside the records, for most
//! connections have neither.

use super::news::Resent;
use std::collections::{BTreeMap, BTreeSet};
use wire::Seq;

/// Which records are lost, and the retransmissions that are under way: sent again,
/// and neither acknowledged nor lost since. By their first sequence numbers and in
/// the order of transmission.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    /// The numbers of records of which something is lost.
    pub lost: BTreeSet<u64>,
    by_seq: BTreeMap<u32, Resent>,
    by_time: BTreeMap<u64, Seq>,
    /// How many retransmissions there were.
    count: u64,
    /// Records that were looked at for losses, beyond what acknowledgments have paid for since.
    pub spent: u32,
}

impl Marks {
    /// The segment at `seq` was sent again.
    pub(crate) fn sent(&mut self, seq: Seq, mut x: Resent) {
        self.count += 1;
        x.number = self.count;
        if let Some(before) = self.by_seq.insert(seq.0, x) {
            self.by_time.remove(&before.number);
        }
        self.by_time.insert(x.number, seq);
    }

    /// The retransmission of the segment at `seq`, if it is under way.
    pub(crate) fn resent(&self, seq: Seq) -> Option<&Resent> {
        self.by_seq.get(&seq.0)
    }

    /// That retransmission is not under way any more.
    pub(crate) fn forget(&mut self, seq: Seq) -> Option<Resent> {
        let x = self.by_seq.remove(&seq.0)?;
        self.by_time.remove(&x.number);
        Some(x)
    }

    /// None is.
    pub(crate) fn forget_all(&mut self) {
        self.by_seq.clear();
        self.by_time.clear();
    }

    /// Is any?
    pub(crate) fn any_resent(&self) -> bool {
        !self.by_seq.is_empty()
    }

    /// The one that was sent first.
    pub(crate) fn oldest(&self) -> Option<(Seq, Resent)> {
        let (_, seq) = self.by_time.first_key_value()?;
        Some((*seq, *self.by_seq.get(&seq.0)?))
    }
}
