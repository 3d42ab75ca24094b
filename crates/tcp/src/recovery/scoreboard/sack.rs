//! What SACK tells.

use super::{LOOKED_AT, Scoreboard};
use crate::recovery::news::News;
use wire::Seq;

impl Scoreboard {
    /// Marks what SACK blocks cover, as far as they lie in `(una, nxt]`. A block
    /// costs its new bytes, and a search. The lowest is the first, and no more than
    /// [`LOOKED_AT`] records are looked at: nothing is found lost from there on until the next
    /// acknowledgment, which tells of the rest again (RFC 2018 4).
    pub(crate) fn sack(&mut self, blocks: &[(Seq, Seq)], nxt: Seq, news: &mut News) {
        // RFC 6675 3/1
        // RFC 2018 5/1
        let (una, mut looks, mut done) = (self.una, LOOKED_AT, None);
        if let Some(marks) = &mut self.marks {
            marks.unheard = None;
        }
        while let Some((left, right)) = blocks
            .iter()
            .copied()
            // RFC 2883 4: a block below the cumulative ACK is a D-SACK
            .filter(|b| b.0.after_or_at(una) && b.0.before(b.1) && b.1.before_or_at(nxt))
            .filter(|b| done.is_none_or(|done: Seq| b.0.after(done)))
            .min_by_key(|b| (b.0.distance_from(una), !b.1.distance_from(una)))
        {
            if let Some(at) = self.sack_block((left, right), &mut looks, news) {
                self.marks.get_or_insert_default().unheard = Some(at);
                return;
            }
            done = Some(left);
        }
    }

    /// Marks what [`left`, `right`) covers. Returns where that ends if so much is not looked at.
    fn sack_block(
        &mut self,
        (left, right): (Seq, Seq),
        looks: &mut u32,
        news: &mut News,
    ) -> Option<Seq> {
        let mut i = self.find(left);
        while let Some(r) = self.records.get(i).filter(|r| r.seq.before(right)) {
            if *looks == 0 {
                return Some(r.seq);
            }
            *looks -= 1;
            self.step();
            if r.is_sacked() {
                i = self.skip_run(i);
                continue;
            }
            let bits = r.covered(left, right, self.una) & r.alive(self.una) & !r.sacked;
            if bits != 0 {
                self.mark_sacked(i, bits, news);
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
