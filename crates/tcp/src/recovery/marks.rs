//! What is lost, and what was sent again: kept beside the records, for most
//! connections have neither.

use super::news::Resent;
use std::collections::{BTreeMap, BTreeSet, btree_set};
use std::iter::Chain;
use std::option;
use wire::Seq;

/// Which records are lost, and the retransmissions that are under way: sent again,
/// and neither acknowledged nor lost since.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    pub lost: Lost,
    resent: Sent,
    /// Records that were looked at for losses, beyond what acknowledgments have paid for since.
    pub spent: u32,
}

/// The numbers of records of which something is lost. Mostly it is one, as of whoever sent
/// one segment and waited in vain: it lies here, and takes no memory of its own.
#[derive(Debug, Default)]
pub(crate) struct Lost {
    /// The only one.
    one: Option<u64>,
    /// All, if they are several.
    all: BTreeSet<u64>,
}

impl Lost {
    pub(crate) fn insert(&mut self, name: u64) {
        match self.one {
            None if self.all.is_empty() => self.one = Some(name),
            Some(one) if one == name => {}
            one => {
                self.one = None;
                self.all.extend(one);
                self.all.insert(name);
            }
        }
    }

    pub(crate) fn remove(&mut self, name: u64) {
        if self.one == Some(name) {
            self.one = None;
        } else {
            self.all.remove(&name);
        }
    }

    pub(crate) fn contains(&self, name: u64) -> bool {
        self.one == Some(name) || self.all.contains(&name)
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        usize::from(self.one.is_some()) + self.all.len()
    }

    /// The lowest.
    pub(crate) fn first(&self) -> Option<u64> {
        self.one.or_else(|| self.all.first().copied())
    }
}

impl IntoIterator for Lost {
    type Item = u64;
    type IntoIter = Chain<option::IntoIter<u64>, btree_set::IntoIter<u64>>;

    fn into_iter(self) -> Self::IntoIter {
        self.one.into_iter().chain(self.all)
    }
}

impl FromIterator<u64> for Lost {
    fn from_iter<I: IntoIterator<Item = u64>>(names: I) -> Lost {
        let mut names = names.into_iter();
        match (names.next(), names.next()) {
            (one, None) => Lost { one, all: BTreeSet::new() },
            (a, b) => Lost { one: None, all: a.into_iter().chain(b).chain(names).collect() },
        }
    }
}

/// Retransmissions. As above: the only one lies here.
#[derive(Debug, Default)]
struct Sent {
    one: Option<(Seq, Resent)>,
    /// If they are several: by their first sequence numbers, and in the order of transmission.
    by_seq: BTreeMap<u32, Resent>,
    by_time: BTreeMap<u64, Seq>,
    /// How many there were, ever.
    count: u64,
}

impl Sent {
    /// Puts it with the others.
    fn put(&mut self, seq: Seq, x: Resent) {
        if let Some(before) = self.by_seq.insert(seq.0, x) {
            self.by_time.remove(&before.number);
        }
        self.by_time.insert(x.number, seq);
    }
}

impl Marks {
    /// The segment at `seq` was sent again.
    pub(crate) fn sent(&mut self, seq: Seq, mut x: Resent) {
        let sent = &mut self.resent;
        sent.count += 1;
        x.number = sent.count;
        match sent.one.take() {
            None if sent.by_seq.is_empty() => sent.one = Some((seq, x)),
            Some((one, _)) if one == seq => sent.one = Some((seq, x)),
            one => {
                if let Some((seq, one)) = one {
                    sent.put(seq, one);
                }
                sent.put(seq, x);
            }
        }
    }

    /// The retransmission of the segment at `seq`, if it is under way.
    pub(crate) fn resent(&self, seq: Seq) -> Option<&Resent> {
        match &self.resent.one {
            Some((one, x)) => (*one == seq).then_some(x),
            None => self.resent.by_seq.get(&seq.0),
        }
    }

    /// That retransmission is not under way any more.
    pub(crate) fn forget(&mut self, seq: Seq) -> Option<Resent> {
        let sent = &mut self.resent;
        if let Some((_, x)) = sent.one.take_if(|(one, _)| *one == seq) {
            return Some(x);
        }
        let x = sent.by_seq.remove(&seq.0)?;
        sent.by_time.remove(&x.number);
        Some(x)
    }

    /// None is.
    pub(crate) fn forget_all(&mut self) {
        self.resent = Sent { count: self.resent.count, ..Sent::default() };
    }

    /// Is any?
    pub(crate) fn any_resent(&self) -> bool {
        self.resent.one.is_some() || !self.resent.by_seq.is_empty()
    }

    /// Where nothing is lost: is there nothing else to be kept?
    pub(crate) fn is_empty(&self) -> bool {
        !self.any_resent() && self.spent == 0
    }

    /// The one that was sent first.
    pub(crate) fn oldest(&self) -> Option<(Seq, Resent)> {
        let sent = &self.resent;
        if sent.one.is_some() {
            return sent.one;
        }
        let (_, seq) = sent.by_time.first_key_value()?;
        Some((*seq, *sent.by_seq.get(&seq.0)?))
    }
}

#[cfg(test)]
mod tests;
