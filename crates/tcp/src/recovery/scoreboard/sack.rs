//! What SACK tells.

use super::{LOOKED_AT, Scoreboard};
use crate::recovery::marks::{LEFT, Unheard};
use crate::recovery::news::News;
use crate::recovery::record::Record;
use smallvec::SmallVec;
use wire::Seq;

/// What a record whose segments were sent again costs that are SACKed: trees are changed then.
const RESENT: u32 = 4;

/// What the segments of a record cost that are SACKed, if they were found lost before.
fn cost(r: &Record, bits: u64) -> u32 {
    match (r.resent & bits != 0, r.lost & bits != 0) {
        (true, _) => RESENT,
        (false, true) => 1,
        (false, false) => 0,
    }
}

impl Scoreboard {
    /// Marks what SACK blocks cover, as far as they lie in `(from, nxt]`. A block
    /// costs its new bytes, and a search: who sent them has paid for what is marked once. What was found
    /// lost in the meantime is dearer, and what was sent again: of that no more than [`LOOKED_AT`]
    /// records are marked, from below. The rest is marked with the next acknowledgment, which need not tell of it again
    /// (RFC 2018 4), and nothing is found lost from there on until then.
    pub(crate) fn sack(&mut self, blocks: &[(Seq, Seq)], (from, nxt): (Seq, Seq), news: &mut News) {
        // RFC 6675 3/1
        // RFC 2018 5/1
        let told = blocks
            .iter()
            .copied()
            // RFC 2883 4: a block below the cumulative ACK is a D-SACK
            .filter(|b| b.0.after_or_at(from) && b.0.before(b.1) && b.1.before_or_at(nxt));
        let before = self.marks.as_mut().map(|marks| std::mem::take(&mut marks.unheard));
        let before = before.into_iter().flatten().filter(|b| b.1.after(from));
        let before = before.map(|(left, right)| (left.latest(from), right));
        let mut all: SmallVec<[(Seq, Seq); 2 * LEFT]> = before.collect();
        news.late = !all.is_empty();
        all.extend(told);
        all.sort_unstable_by_key(|b| (b.0.distance_from(from), !b.1.distance_from(from)));
        let (mut looks, mut unheard) = (RESENT * LOOKED_AT, Unheard::new());
        for (left, right) in all {
            let left = unheard.last().map_or(left, |last| left.latest(last.1));
            if !left.before(right) {
                continue;
            }
            if let Some(at) = self.sack_block((left, right), &mut looks, unheard.len(), news) {
                unheard.push((at, right));
            }
        }
        if !unheard.is_empty() {
            self.marks.get_or_insert_default().unheard = unheard;
        }
    }

    /// Marks what [`left`, `right`) covers. Returns from where on it is not, if that is too much. If
    /// so many are `kept` that no more can be, what is dear is passed over: it may be sent again for
    /// nothing.
    fn sack_block(
        &mut self,
        (left, right): (Seq, Seq),
        looks: &mut u32,
        kept: usize,
        news: &mut News,
    ) -> Option<Seq> {
        let mut i = self.find(left);
        while let Some(r) = self.records.get(i).filter(|r| r.seq.before(right)) {
            self.step();
            if r.is_sacked() {
                i = self.skip_run(i);
                continue;
            }
            let bits = r.covered(left, right, self.una) & r.alive(self.una) & !r.sacked;
            if bits != 0 {
                let cost = cost(r, bits);
                if cost > *looks && kept < LEFT {
                    *looks = 0;
                    return Some(r.seq.latest(left));
                }
                if cost <= *looks {
                    *looks -= cost;
                    self.mark_sacked(i, bits, news);
                }
            }
            i += 1;
        }
        None
    }

    /// The index behind the run of SACKed records at `i`. Shortens the way for
    /// the next time (as union-find does).
    fn skip_run(&mut self, i: usize) -> usize {
        let mut end = i;
        while let Some(r) = self.records.get(end)
            && r.is_sacked()
        {
            self.step();
            end += usize::from(r.run.max(1));
        }
        let end = end.min(self.records.len());
        let mut k = i;
        while k < end {
            let r = &mut self.records[k];
            let step = usize::from(r.run.max(1));
            r.run = (end - k).min(usize::from(u16::MAX)) as u16;
            k += step;
        }
        end
    }

    /// The segments `bits` of record `i` are SACKed, for the first time.
    fn mark_sacked(&mut self, i: usize, bits: u64, news: &mut News) {
        let Some(r) = self.records.get_mut(i) else { return };
        let n = r.bytes(bits, self.una);
        self.sacked += n;
        self.sacked_segments += bits.count_ones();
        news.delivered += n;
        news.records += 1;
        let (lost, resent) = (r.lost & bits, r.resent & bits);
        r.lost &= !bits;
        r.sacked |= bits;
        r.run = 1;
        let top = 63 - bits.leading_zeros();
        self.fack = self.fack.latest(r.end_of(top));
        news.originals(r, bits & !resent);
        let Some(marks) = self.marks.as_mut().filter(|_| lost | resent != 0) else { return };
        if lost != 0 {
            self.lost -= r.bytes(lost, self.una);
            if r.lost == 0 {
                marks.lost.remove(self.first + i as u64);
            }
        }
        marks.again.forget(self.first + i as u64, resent, |x, of| {
            for end in r.outer_ends(of) {
                news.retransmission_sacked(x, end);
            }
        });
    }
}
