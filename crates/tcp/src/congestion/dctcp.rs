//! DCTCP (RFC 8257): how much of what was sent has been marked says by how much the window
//! is reduced. For networks of one owner, whose queues mark above a small threshold: Reno,
//! which halves at each mark, would leave them empty.

use super::new_reno::NewReno;
use super::{CongestionControl, Paces, Sample};
use wire::Instant;

/// g (RFC 8257 3.3): the weight of the last window in the estimate.
const WEIGHT: f64 = 1.0 / 16.0;

/// The state of DCTCP. Without marks it is Reno.
#[derive(Clone, Debug)]
pub(crate) struct Dctcp(Box<State>);

#[derive(Clone, Debug)]
struct State {
    reno: NewReno,
    /// DCTCP.Alpha: the part of the bytes that is marked. At first the worst is assumed.
    alpha: f64,
    /// DCTCP.BytesAcked and DCTCP.BytesMarked, in this window.
    acked: u64,
    marked: u64,
}

impl CongestionControl for Dctcp {
    fn new(initial_window: u32) -> Dctcp {
        let reno = NewReno::new(initial_window);
        Dctcp(Box::new(State { reno, alpha: 1.0, acked: 0, marked: 0 }))
    }
    fn set_ssthresh(&mut self, ssthresh: u32) {
        self.0.reno.set_ssthresh(ssthresh);
    }
    #[inline]
    fn window(&self) -> u32 {
        self.0.reno.window()
    }
    #[inline]
    fn ssthresh(&self) -> u32 {
        self.0.reno.ssthresh()
    }

    fn on_ack(&mut self, a: &Sample) {
        let s = &mut *self.0;
        s.acked += u64::from(a.delivered);
        s.marked += u64::from(a.marked.min(a.delivered));
        if a.round && s.acked > 0 {
            //= RFC 8257 3.3: "DCTCP.Alpha = DCTCP.Alpha * (1 - g) + g * M"
            let part = s.marked as f64 / s.acked as f64;
            s.alpha += WEIGHT * (part - s.alpha);
            (s.acked, s.marked) = (0, 0);
        }
        // What tells of marks does not let the window grow.
        if a.marked == 0 {
            s.reno.on_ack(a);
        }
    }

    /// RFC 8257 3.3: the window becomes smaller by half of what is marked.
    fn on_marks(&mut self, _flight: u32, mss: u32, _now: Instant) {
        let s = &mut *self.0;
        let left = f64::from(s.reno.window()) * (1.0 - s.alpha / 2.0);
        s.reno.reduce_to((left as u32).max(2 * mss));
    }

    /// RFC 8257 3.4: a loss counts as with Reno.
    fn on_loss(&mut self, flight: u32, mss: u32, now: Instant) {
        self.0.reno.on_loss(flight, mss, now);
    }
    fn on_recovered(&mut self, window: u32, now: Instant) {
        self.0.reno.on_recovered(window, now);
    }
    fn on_timeout(&mut self, flight: u32, mss: u32, again: bool, now: Instant) {
        self.0.reno.on_timeout(flight, mss, again, now);
    }
    fn on_undo(&mut self) {
        self.0.reno.on_undo();
    }
    fn on_disuse(&mut self, initial: u32) {
        self.0.reno.on_disuse(initial);
    }
    fn counts_marks(&self) -> bool {
        true
    }
}

impl Paces for Dctcp {}

#[cfg(test)]
mod tests;
