//! What is lost, and what was sent again: kept beside the records, for most
//! connections have neither.

mod lost;

use super::news::Resent;
pub(crate) use lost::Lost;
use std::collections::{BTreeMap, VecDeque};
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

/// Retransmissions. Mostly it is one, too: it lies here.
#[derive(Debug, Default)]
struct Sent {
    one: Option<(Seq, Resent)>,
    /// If they are several: their numbers, by their first sequence numbers.
    by_seq: BTreeMap<u32, u64>,
    /// These and some that are under way no more, in the order of transmission. The first is
    /// under way.
    by_time: VecDeque<Again>,
    /// How many of them are not.
    gone: usize,
    /// How many there were, ever.
    count: u64,
}

/// A retransmission.
#[derive(Debug)]
struct Again {
    seq: Seq,
    sent: Resent,
    under_way: bool,
}

/// Retransmissions that are over and stand among the others, at least, before they are taken out.
const GONE: usize = 32;

impl Sent {
    /// Puts it with the others.
    fn put(&mut self, seq: Seq, sent: Resent) {
        if let Some(before) = self.by_seq.insert(seq.0, sent.number) {
            self.take(before);
        }
        self.by_time.push_back(Again { seq, sent, under_way: true });
    }

    /// Where the one of that number stands.
    fn place(&self, number: u64) -> Option<usize> {
        // Numbers grow by one, but where some were taken out.
        let most = number.checked_sub(self.by_time.front()?.sent.number)? as usize;
        let there = self.by_time.get(most).is_some_and(|again| again.sent.number == number);
        let place =
            if there { most } else { self.by_time.partition_point(|a| a.sent.number < number) };
        self.by_time.get(place).filter(|again| again.sent.number == number)?;
        Some(place)
    }

    /// The one of that number is over. It is taken out at once if it is the first, or with others.
    fn take(&mut self, number: u64) -> Option<Resent> {
        let place = self.place(number)?;
        let again = &mut self.by_time[place];
        again.under_way = false;
        let sent = again.sent;
        self.gone += 1;
        while self.by_time.front().is_some_and(|first| !first.under_way) {
            self.by_time.pop_front();
            self.gone -= 1;
        }
        if self.gone > GONE && self.gone > self.by_time.len() / 2 {
            self.by_time.retain(|again| again.under_way);
            self.gone = 0;
        }
        let len = self.by_time.len();
        if self.by_time.capacity() > 4 * GONE && len < self.by_time.capacity() / 8 {
            self.by_time.shrink_to(4 * len);
        }
        Some(sent)
    }

    /// Bytes of heap, about.
    fn footprint(&self) -> usize {
        self.by_time.capacity() * size_of::<Again>() + self.by_seq.len() * 2 * size_of::<u64>()
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
            None => {
                let place = self.resent.place(*self.resent.by_seq.get(&seq.0)?)?;
                Some(&self.resent.by_time[place].sent)
            }
        }
    }

    /// That retransmission is not under way any more.
    pub(crate) fn forget(&mut self, seq: Seq) -> Option<Resent> {
        let sent = &mut self.resent;
        if let Some((_, x)) = sent.one.take_if(|(one, _)| *one == seq) {
            return Some(x);
        }
        let number = sent.by_seq.remove(&seq.0)?;
        sent.take(number)
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
        sent.by_time.front().map(|first| (first.seq, first.sent))
    }

    /// Bytes of heap, its own included, about.
    pub(crate) fn footprint(&self) -> usize {
        size_of::<Marks>() + self.lost.footprint() + self.resent.footprint()
    }
}

#[cfg(test)]
mod tests;
