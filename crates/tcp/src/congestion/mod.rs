//! Congestion control: how many bytes may be in flight.
//!
//! An algorithm is a file beside this one, with a type that implements
//! [`CongestionControl`], and a row of the table below. Everything else (its name,
//! the configuration, parsing, tests of all algorithms) follows from the row.

mod registry;

mod cubic;
mod new_reno;

use registry::algorithms;
use wire::Instant;
use wire::time::Duration;

algorithms! {
    /// Reno's window (RFC 5681) with New Reno's recovery (RFC 6582).
    "newreno" => NewReno(new_reno::NewReno),
    /// CUBIC (RFC 9438): the window follows a cubic function of the time since the
    /// last loss, and so depends little on the round-trip time.
    "cubic" => Cubic(Box<cubic::Cubic>),
}

/// What an acknowledgment tells the algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Acked {
    /// Bytes newly acknowledged or selectively acknowledged.
    pub delivered: u32,
    /// Did the window limit what was sent before? One that is not used says
    /// nothing about the network (RFC 7661), so it must not grow. In slow start it
    /// counts as used if half of it is.
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
    /// The state of a new connection with this initial window.
    fn new(initial_window: u32) -> Self
    where
        Self: Sized;
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

/// An algorithm whose state is too large to lie in each connection.
impl<C: CongestionControl> CongestionControl for Box<C> {
    fn new(initial_window: u32) -> Box<C> {
        Box::new(C::new(initial_window))
    }
    fn window(&self) -> u32 {
        (**self).window()
    }
    fn ssthresh(&self) -> u32 {
        (**self).ssthresh()
    }
    fn on_ack(&mut self, acked: &Acked) {
        (**self).on_ack(acked);
    }
    fn on_loss(&mut self, flight: u32, mss: u32, now: Instant) {
        (**self).on_loss(flight, mss, now);
    }
    fn on_recovered(&mut self, window: u32, now: Instant) {
        (**self).on_recovered(window, now);
    }
    fn on_timeout(&mut self, flight: u32, mss: u32, again: bool, now: Instant) {
        (**self).on_timeout(flight, mss, again, now);
    }
    fn on_idle(&mut self, initial: u32) {
        (**self).on_idle(initial);
    }
}

impl std::fmt::Display for Algorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for Algorithm {
    type Err = UnknownAlgorithm;
    fn from_str(name: &str) -> Result<Algorithm, UnknownAlgorithm> {
        Algorithm::ALL
            .iter()
            .find(|a| a.name() == name)
            .copied()
            .ok_or_else(|| UnknownAlgorithm(name.into()))
    }
}

/// There is no congestion control of this name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownAlgorithm(pub String);

impl std::fmt::Display for UnknownAlgorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = Algorithm::ALL.iter().map(|a| a.name()).collect();
        write!(f, "no congestion control is called {:?}: use {}", self.0, names.join(" or "))
    }
}

impl std::error::Error for UnknownAlgorithm {}

/// The initial window of `segments` segments of `mss` bytes (RFC 6928).
pub(crate) fn initial_window(segments: u32, mss: u32) -> u32 {
    segments.max(1).saturating_mul(mss).min(MAX_WINDOW)
}

/// No window gets larger, so that sums of windows do not overflow.
pub(crate) const MAX_WINDOW: u32 = 1 << 30;

#[cfg(test)]
mod tests;
