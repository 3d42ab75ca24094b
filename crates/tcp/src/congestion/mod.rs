//! Congestion control: how many bytes may be in flight.

mod new_reno;

pub(crate) use new_reno::NewReno;
use wire::Instant;
use wire::time::Duration;

/// The algorithms there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Algorithm {
    /// Reno's window (RFC 5681) with New Reno's recovery (RFC 6582).
    #[default]
    NewReno,
}

/// What an acknowledgment tells the algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Bytes newly acknowledged or selectively acknowledged.
    pub delivered: u32,
    /// Did the window limit what was sent before? One that is not used says
    /// nothing about the network (RFC 7661), so it must not grow. Where it is seen
    /// that less than half of it is used, it is not limited in slow start either.
    pub limited: bool,
    /// The smoothed round-trip time; zero before there is one.
    pub srtt: Duration,
    /// Bytes of a full segment.
    pub mss: u32,
    /// The time it came.
    pub now: Instant,
}

/// What decides about the congestion window. All sizes are in bytes.
pub trait CongestionControl {
    /// cwnd.
    fn window(&self) -> u32;
    /// ssthresh.
    fn ssthresh(&self) -> u32;
    /// Data was acknowledged, while no fast recovery was going on.
    fn on_ack(&mut self, acked: &Acked);
    /// Loss was detected without a time-out, with `flight` bytes in flight.
    fn on_loss(&mut self, flight: u32, mss: u32, now: Instant);
    /// The recovery that [`CongestionControl::on_loss`] began is over; at most
    /// `window` may be in flight to begin with.
    fn on_recovered(&mut self, window: u32, now: Instant);
    /// The retransmission timer went off with `flight` bytes in flight; `again`:
    /// for a segment that had already been sent again for that reason.
    fn on_timeout(&mut self, flight: u32, mss: u32, again: bool, now: Instant);
    /// Nothing was sent for longer than an RTO; `initial` is the initial window.
    fn on_idle(&mut self, initial: u32);
}

/// The state of the algorithm that a connection runs.
#[derive(Clone, Debug)]
pub(crate) enum Congestion {
    NewReno(NewReno),
}

impl Congestion {
    pub(crate) fn new(algorithm: Algorithm, initial_window: u32) -> Congestion {
        match algorithm {
            Algorithm::NewReno => Congestion::NewReno(NewReno::new(initial_window)),
        }
    }
}

impl CongestionControl for Congestion {
    #[inline]
    fn window(&self) -> u32 {
        let Congestion::NewReno(c) = self;
        c.window()
    }
    #[inline]
    fn ssthresh(&self) -> u32 {
        let Congestion::NewReno(c) = self;
        c.ssthresh()
    }
    #[inline]
    fn on_ack(&mut self, acked: &Acked) {
        let Congestion::NewReno(c) = self;
        c.on_ack(acked);
    }
    fn on_loss(&mut self, flight: u32, mss: u32, now: Instant) {
        let Congestion::NewReno(c) = self;
        c.on_loss(flight, mss, now);
    }
    fn on_recovered(&mut self, window: u32, now: Instant) {
        let Congestion::NewReno(c) = self;
        c.on_recovered(window, now);
    }
    fn on_timeout(&mut self, flight: u32, mss: u32, again: bool, now: Instant) {
        let Congestion::NewReno(c) = self;
        c.on_timeout(flight, mss, again, now);
    }
    fn on_idle(&mut self, initial: u32) {
        let Congestion::NewReno(c) = self;
        c.on_idle(initial);
    }
}

/// The initial window of `segments` segments of `mss` bytes (RFC 6928).
pub(crate) fn initial_window(segments: u32, mss: u32) -> u32 {
    segments.max(1).saturating_mul(mss).min(MAX_WINDOW)
}

/// No window gets larger, so that sums of windows do not overflow.
pub(crate) const MAX_WINDOW: u32 = 1 << 30;
