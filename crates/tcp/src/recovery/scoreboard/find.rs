//! Where a record stands.

use super::Scoreboard;
use wire::Seq;

/// Records of which one is looked for by halves alone.
const FEW: usize = 32;

impl Scoreboard {
    /// Index of the record that holds `seq`, or of the first behind it.
    pub(super) fn find(&self, seq: Seq) -> usize {
        let (mut low, mut high) = self.near(seq);
        while low < high {
            let middle = low + (high - low) / 2;
            (low, high) =
                if self.is_below(middle, seq) { (middle + 1, high) } else { (low, middle) };
        }
        low
    }

    /// Does record `i` end at or below `seq`?
    fn is_below(&self, i: usize, seq: Seq) -> bool {
        self.step();
        self.records.get(i).is_some_and(|r| r.end().before_or_at(seq))
    }

    /// Two indices between which [`Scoreboard::find`] finds it, the ends included. Most records
    /// are as long as the others, so it stands about where its share of the bytes says.
    fn near(&self, seq: Seq) -> (usize, usize) {
        let len = self.records.len();
        let (Some(front), Some(back)) = (self.records.front(), self.records.back()) else {
            return (0, 0);
        };
        if seq.before_or_at(front.seq) {
            return (0, 0);
        }
        if seq.after_or_at(back.end()) {
            return (len, len);
        }
        if len < FEW {
            return (0, len);
        }
        let (bytes, all) = (seq.distance_from(front.seq), back.end().distance_from(front.seq));
        let guess = (u64::from(bytes) * len as u64 / u64::from(all.max(1))) as usize;
        let guess = guess.min(len - 1);
        let (mut low, mut high, mut step) = (guess, guess, 1);
        if self.is_below(guess, seq) {
            (low, high) = (guess + 1, guess + 1);
            while high < len && self.is_below(high, seq) {
                (low, high, step) = (high + 1, (high + step).min(len), 2 * step);
            }
            return (low, high);
        }
        while low > 0 && !self.is_below(low - 1, seq) {
            (low, high, step) = (low.saturating_sub(step), low - 1, 2 * step);
        }
        (low, high)
    }
}

#[cfg(test)]
mod tests;
