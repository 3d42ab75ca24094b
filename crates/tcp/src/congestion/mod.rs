//! Congestion control: how many bytes may be in flight.
//!
//! An algorithm is a file beside this one, with a type that implements
//! [`CongestionControl`], and a row of the table below. Everything else (its name,
//! the configuration, parsing, tests of all algorithms) follows from the row.

mod registry;

mod bbr;
mod cubic;
mod dctcp;
mod hystart;
mod new_reno;
mod pacer;
mod validation;

use crate::recovery::Measured;
pub(crate) use pacer::Pacer;
use registry::algorithms;
pub(crate) use validation::Validation;
use wire::Instant;

algorithms! {
    /// CUBIC (RFC 9438) with HyStart++ (RFC 9406): the window follows a cubic
    /// function of the time since the last loss, and so depends little on the
    /// round-trip time.
    "cubic" => Cubic(cubic::Cubic),
    /// Reno's window (RFC 5681) with New Reno's recovery (RFC 6582).
    "newreno" => NewReno(new_reno::NewReno),
    /// BBR, version 3 (draft-ietf-ccwg-bbr): a model of the path, made of how fast it
    /// delivers and of its least round-trip time, says how fast to send.
    "bbr" => Bbr(bbr::Bbr),
    /// DCTCP (RFC 8257), for networks of one owner whose queues mark early: the window is
    /// reduced by as much as is marked. It asks for explicit congestion notification.
    "dctcp" => Dctcp(dctcp::Dctcp),
}

/// How fast data was delivered (draft-ietf-ccwg-bbr 4.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeliveryRate {
    /// Bytes delivered.
    pub delivered: u32,
    /// In so many microseconds; zero if nothing was measured.
    pub micros: u32,
    /// The application was the limit: the network may do more.
    pub app_limited: bool,
}

impl DeliveryRate {
    /// Bytes per second, if something was measured.
    pub fn bytes_per_second(&self) -> Option<u64> {
        (u64::from(self.delivered) * 1_000_000).checked_div(self.micros.into())
    }
}

impl From<Measured> for DeliveryRate {
    #[inline]
    fn from(m: Measured) -> DeliveryRate {
        DeliveryRate { delivered: m.delivered, micros: m.micros, app_limited: m.app_limited }
    }
}

/// What an acknowledgment that brings news tells the algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Bytes newly acknowledged or selectively acknowledged.
    pub delivered: u32,
    /// Bytes that it shows to be lost.
    pub lost: u32,
    /// Of `delivered`: bytes that queues have marked, as far as the peer tells.
    pub marked: u32,
    /// May the window grow? Not in fast recovery, nor by what comes out of order.
    pub grow: bool,
    /// Did the window limit what was sent before? One that is not used says
    /// nothing about the network (RFC 7661), so it must not grow. In slow start it
    /// counts as used if half of it is.
    pub limited: bool,
    /// Is a round trip over: is something acknowledged that was sent after the last
    /// acknowledgment that said so?
    pub round: bool,
    /// The round-trip time that it has measured, microseconds.
    pub rtt: Option<u32>,
    /// The smoothed round-trip time, microseconds; zero before there is one.
    pub srtt: u32,
    /// The last measurement of how fast data is delivered.
    pub rate: DeliveryRate,
    /// Bytes of a full segment.
    pub mss: u32,
    /// More about the path, for an algorithm that [asks for it](CongestionControl::models).
    pub path: Option<Path>,
    /// The time it came.
    pub now: Instant,
}

/// The rate sample of one acknowledgment (draft-ietf-ccwg-bbr 4.1), and what else a model
/// of the path is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Path {
    /// C.delivered: bytes delivered so far.
    pub delivered: u64,
    /// RS.delivered: those of them that had not been delivered when the newest of the
    /// segments was sent that this acknowledgment brings news of; 0 if there is none.
    pub span: u32,
    /// RS.interval: in how many microseconds; 0 if the sample says nothing.
    pub micros: u32,
    /// RS.is_app_limited: the application was the limit when that segment was sent.
    pub app_limited: bool,
    /// RS.tx_in_flight: bytes in the network when it was sent, its own included.
    pub sent_in_flight: u32,
    /// RS.lost: bytes found lost since.
    pub lost_since: u32,
    /// C.inflight: bytes in the network now.
    pub in_flight: u32,
    /// C.is_cwnd_limited: was the window the limit of what was sent last?
    pub cwnd_limited: bool,
    /// Is a recovery going on?
    pub recovering: bool,
    /// Does the peer tell what it has beyond a hole?
    pub sack: bool,
}

impl Path {
    /// RS.delivery_rate, bytes per second; 0 if nothing was measured.
    pub fn rate(&self) -> u64 {
        (u64::from(self.span) * 1_000_000).checked_div(self.micros.into()).unwrap_or(0)
    }
}

/// What was sent at once and is found lost together.
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// Bytes of it.
    pub bytes: u32,
    /// P.tx_in_flight: bytes in the network when it was sent, its own included.
    pub sent_in_flight: u32,
    /// Bytes found lost since it was sent, its own included.
    pub since: u32,
    /// P.is_app_limited: the application was the limit when it was sent.
    pub app_limited: bool,
    /// C.delivered: bytes delivered so far.
    pub delivered: u64,
    /// When it was found out.
    pub now: Instant,
}

/// Something is sent, new or again.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Bytes of it.
    pub bytes: u32,
    /// Nothing else is in the network.
    pub alone: bool,
    /// The application is the limit.
    pub app_limited: bool,
    /// The smoothed round-trip time, microseconds; zero before there is one.
    pub srtt: u32,
    /// Bytes of a full segment.
    pub mss: u32,
    /// When.
    pub now: Instant,
}

#[cfg(test)]
impl Sample {
    /// `delivered` bytes are acknowledged, and the window may grow.
    fn of(delivered: u32, mss: u32, now: Instant) -> Sample {
        Sample {
            delivered,
            lost: 0,
            marked: 0,
            grow: true,
            limited: true,
            round: false,
            rtt: None,
            srtt: 0,
            rate: Measured::default().into(),
            mss,
            path: None,
            now,
        }
    }
}

/// What decides about the congestion window. All sizes are in bytes.
pub trait CongestionControl {
    /// The state of a new connection with this initial window.
    fn new(initial_window: u32) -> Self
    where
        Self: Sized;
    /// Sets ssthresh to what another algorithm had found.
    fn set_ssthresh(&mut self, ssthresh: u32);
    /// cwnd.
    fn window(&self) -> u32;
    /// ssthresh.
    fn ssthresh(&self) -> u32;
    /// Data was acknowledged: every acknowledgment that brings news, in recovery as
    /// well.
    fn on_ack(&mut self, sample: &Sample);
    /// Loss was detected without a time-out, with `flight` bytes in flight.
    fn on_loss(&mut self, flight: u32, mss: u32, now: Instant);
    /// The recovery that [`CongestionControl::on_loss`] began is over; at most
    /// `window` may be in flight to begin with.
    fn on_recovered(&mut self, window: u32, now: Instant);
    /// The retransmission timer went off with `flight` bytes in flight; `again`:
    /// for a segment that had already been sent again for that reason.
    fn on_timeout(&mut self, flight: u32, mss: u32, again: bool, now: Instant);
    /// There was no loss: the last [`CongestionControl::on_loss`] or
    /// [`CongestionControl::on_timeout`] (not one `again`) was for nothing.
    fn on_undo(&mut self);
    /// Nothing is undone from now on, and the connection may rest for long: what was kept for
    /// that may go.
    fn rest(&mut self) {}
    /// The window was not used for five minutes (RFC 7661 4.4.3): half of it goes, but no more
    /// than what is beyond the initial window, `initial`.
    fn on_disuse(&mut self, initial: u32);
    /// Nothing was in flight for longer than an RTO.
    fn on_pause(&mut self, _now: Instant) {}

    /// The peer tells of marks (RFC 3168), for the first time in a window of data; `flight`
    /// bytes are in flight, and no recovery is going on. Most do as for a loss.
    fn on_marks(&mut self, flight: u32, mss: u32, now: Instant) {
        self.on_loss(flight, mss, now);
        self.on_recovered(u32::MAX, now);
    }

    /// Does it count marks (RFC 8257)? Then connections ask for explicit congestion
    /// notification unless it is off, and tell their peers of each mark.
    fn counts_marks(&self) -> bool {
        false
    }

    /// Does it make a model of the path? Then [`Sample::path`] is told, and it hears of
    /// all that is sent and of each piece that is lost, and the window is its own in fast
    /// recovery, too: otherwise proportional rate reduction (RFC 9937) says what may go.
    fn models(&self) -> bool {
        false
    }
    /// Something is sent, if it [asks](CongestionControl::models).
    fn on_sent(&mut self, _: &Sent) {}
    /// Something was found lost without a time-out, if it
    /// [asks](CongestionControl::models). [`CongestionControl::on_loss`] follows if that
    /// begins a recovery.
    fn on_lost(&mut self, _: &Lost) {}
    /// Does it keep the sender below what the network delivers, if it
    /// [asks](CongestionControl::models)? Then the next samples say nothing.
    fn drains(&self) -> bool {
        false
    }
}

/// A state that paces.
pub(crate) trait Paces {
    /// How fast data leaves, if the algorithm says so.
    #[inline]
    fn pacer(&self) -> Option<&Pacer> {
        None
    }
    #[inline]
    fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        None
    }
}

impl Paces for cubic::Cubic {}
impl Paces for new_reno::NewReno {}

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
    // RFC 5681 3.1/2
    segments.max(1).saturating_mul(mss).min(MAX_WINDOW)
}

/// No window gets larger, so that sums of windows do not overflow.
pub(crate) const MAX_WINDOW: u32 = 1 << 30;

/// The window after a recovery of an algorithm that has `window` and `ssthresh`. It may know of no
/// reduction at all: another algorithm had the connection when it began, or it fell into what was
/// reduced already and is undone. Then the window stays.
fn recovered(window: u32, ssthresh: u32) -> u32 {
    if ssthresh >= MAX_WINDOW { window } else { ssthresh }
}

#[cfg(test)]
mod tests;
