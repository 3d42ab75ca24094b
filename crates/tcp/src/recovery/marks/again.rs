//! [`Again`]: the retransmissions that are under way.

use crate::recovery::news::Resent;
use std::collections::BTreeMap;
use wire::Instant;
use wire::time::Duration;

/// Segments of one record that were sent again at about one time, and are neither acknowledged nor
/// lost since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// The number of the record.
    pub name: u64,
    /// The segments of it.
    pub bits: u64,
    pub sent: Resent,
}

/// Runs that are under way, from which on what is sent again at about one time joins the last: see
/// [`NEAR`].
const CROWD: usize = 256;
/// How long after the first of a run others may be sent that join it, if there are so many.
const NEAR: Duration = Duration::from_micros(100);

/// Runs of retransmissions, in the order of their transmission and by their places. Mostly it is
/// one: that lies here.
#[derive(Debug, Default)]
pub(crate) struct Again {
    one: Option<Run>,
    /// If they are several, or were: in the order of their transmission.
    by_time: BTreeMap<u64, Run>,
    /// Which of these it is, by its first segment: no two have one in common.
    by_place: BTreeMap<u64, u64>,
    /// How many there were, ever.
    count: u64,
    /// When the first of the last run was sent.
    latest: Instant,
}

/// Segment `k` of record `name`, in the order of sequence numbers: a record has no more than 64.
fn place(name: u64, k: u32) -> u64 {
    name << 6 | u64::from(k)
}

impl Again {
    /// The segments of `run` were sent again now: none of them is under way already. What was sent
    /// for the first time was so until `new`, the first of its record.
    pub(crate) fn put(&mut self, run: Run, new: Instant) {
        match self.one.take() {
            None if self.by_time.is_empty() => {
                self.one = Some(run);
                self.latest = run.sent.sent;
            }
            one => {
                one.into_iter().for_each(|one| self.put_behind(one, new));
                self.put_behind(run, new);
            }
        }
    }

    fn put_behind(&mut self, run: Run, new: Instant) {
        let crowded = self.by_time.len() >= CROWD;
        if let Some(mut last) = self.by_time.last_entry().filter(|_| crowded) {
            let (number, last) = (*last.key(), last.get_mut());
            let near = run.sent.is_near(&last.sent, NEAR);
            // The order of transmission stands: nothing else was sent in between.
            if last.name == run.name && near && new < last.sent.sent {
                let first = last.bits.trailing_zeros();
                last.bits |= run.bits;
                last.sent.then.in_flight = run.sent.then.in_flight;
                let now = last.bits.trailing_zeros();
                return self.replace((run.name, number), first, Some(now));
            }
        }
        self.count += 1;
        self.latest = run.sent.sent;
        self.by_time.insert(self.count, run);
        self.by_place.insert(place(run.name, run.bits.trailing_zeros()), self.count);
    }

    /// The run of that number, of record `name`, begins with segment `now` of it instead of `first`.
    fn replace(&mut self, (name, number): (u64, u64), first: u32, now: Option<u32>) {
        if now != Some(first) {
            self.by_place.remove(&place(name, first));
            now.map(|now| self.by_place.insert(place(name, now), number));
        }
    }

    /// The retransmission of segment `k` of record `name`, if it is under way.
    pub(crate) fn get(&self, name: u64, k: u32) -> Option<&Resent> {
        let has = |run: &Run| run.name == name && run.bits >> k & 1 == 1;
        if let Some(one) = &self.one {
            return Some(&one.sent).filter(|_| has(one));
        }
        let numbers = self.by_place.range(place(name, 0)..=place(name, k)).rev();
        let mut runs = numbers.filter_map(|(_, number)| self.by_time.get(number));
        Some(&runs.find(|run| has(run))?.sent)
    }

    /// The segments `bits` of record `name` are not under way any more. `tell` hears of those that
    /// were, together with others that were sent with them.
    pub(crate) fn forget(&mut self, name: u64, mut bits: u64, mut tell: impl FnMut(&Resent, u64)) {
        if let Some(one) = self.one.as_mut().filter(|one| one.name == name && one.bits & bits != 0)
        {
            tell(&one.sent, one.bits & bits);
            one.bits &= !bits;
            self.one.take_if(|one| one.bits == 0);
            return;
        }
        let mut from = place(name, 0);
        while bits != 0
            && let Some((&at, &number)) = self.by_place.range(from..place(name + 1, 0)).next()
            && let Some(run) = self.by_time.get_mut(&number)
        {
            from = at + 1;
            let hit = run.bits & bits;
            if hit == 0 {
                continue;
            }
            tell(&run.sent, hit);
            let first = run.bits.trailing_zeros();
            run.bits &= !hit;
            bits &= !hit;
            let now = Some(run.bits.trailing_zeros()).filter(|now| *now < 64);
            if now.is_none() {
                self.by_time.remove(&number);
            }
            self.replace((name, number), first, now);
        }
    }

    /// None is under way.
    pub(crate) fn clear(&mut self) {
        drop(self.take());
    }

    /// When the first of the last run was sent.
    pub(crate) fn latest(&self) -> Instant {
        self.latest
    }

    /// Is none under way?
    pub(crate) fn is_empty(&self) -> bool {
        self.one.is_none() && self.by_time.is_empty()
    }

    /// How many runs there are, for tests.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        usize::from(self.one.is_some()) + self.by_time.len()
    }

    /// What was sent first.
    pub(crate) fn oldest(&self) -> Option<Run> {
        self.one.or_else(|| self.by_time.first_key_value().map(|(_, run)| *run))
    }

    /// All, in the order of their transmission; there are none afterwards.
    pub(crate) fn take(&mut self) -> impl Iterator<Item = Run> + use<> {
        let (count, latest) = (self.count, self.latest);
        let was = std::mem::replace(self, Again { count, latest, ..Again::default() });
        was.one.into_iter().chain(was.by_time.into_values())
    }

    /// Bytes of heap, about: nodes of such trees are two thirds full.
    pub(crate) fn footprint(&self) -> usize {
        let each = size_of::<(u64, Run)>() + size_of::<(u64, u64)>();
        self.by_time.len() * each * 3 / 2
    }
}

#[cfg(test)]
mod tests;
