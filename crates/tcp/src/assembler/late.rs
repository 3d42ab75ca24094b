//! Which time stamps what fills a hole may have.

use wire::Seq;

/// Bytes after which the bound moves up. It is of the last two of these at most, a quarter of the
/// sequence numbers; a segment of an earlier turn was sent all of them ago.
const SPAN: u32 = 1 << 29;

/// The time stamp from which on a segment that fills a hole is none of an earlier turn of the
/// sequence numbers.
///
/// Once a retransmission has filled the first hole, TS.Recent is later than all that is still on
/// its way between what has come, and PAWS (RFC 7323 5.3 R1) drops it: each of these segments goes
/// again, and the first of them does it to the rest. What is late here was sent after what had
/// come in order when the first hole was met, so its time stamp is not before that.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    /// The bound, and the one that takes its place.
    from: u32,
    next: u32,
    /// RCV.NXT when they were moved up.
    at: Seq,
}

impl Late {
    /// Of a hole at `nxt`, when TS.Recent was `recent`.
    pub(crate) fn new(recent: u32, nxt: Seq) -> Late {
        Late { from: recent, next: recent, at: nxt }
    }

    /// May a segment with this time stamp fill a hole, now that RCV.NXT is `nxt` and TS.Recent
    /// `recent`?
    pub(crate) fn takes(&mut self, value: u32, recent: u32, nxt: Seq) -> bool {
        let passed = nxt.distance_from(self.at);
        if passed >= SPAN {
            self.from = if passed < 2 * SPAN { self.next } else { recent };
            (self.next, self.at) = (recent, nxt);
        }
        value.wrapping_sub(self.from) as i32 >= 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_moves_up() {
        let mut late = Late::new(100, Seq(0));
        let mut takes = |value, recent, nxt| late.takes(value, recent, Seq(nxt));
        assert!(takes(100, 150, 1000) && !takes(99, 150, 1000));
        assert!(takes(100, 150, SPAN - 1));
        // What was TS.Recent half a gibibyte ago is the next.
        assert!(takes(100, 200, SPAN) && !takes(99, 200, SPAN));
        assert!(takes(200, 300, 2 * SPAN) && !takes(199, 300, 2 * SPAN));
        // Nothing is remembered over a gibibyte.
        assert!(!takes(399, 400, 4 * SPAN) && takes(400, 400, 4 * SPAN));
    }

    #[test]
    fn stamps_and_numbers_wrap() {
        let mut late = Late::new(u32::MAX - 10, Seq(u32::MAX - 10));
        assert!(late.takes(5, 20, Seq(100)) && late.takes(u32::MAX - 10, 20, Seq(100)));
        assert!(!late.takes(u32::MAX - 11, 20, Seq(100)));
    }
}
