//! What a connection tells of itself.

use crate::congestion::CongestionControl;
use crate::timers::Retransmit;
use crate::{State, Tcb};
use wire::time::Duration;

impl Tcb {
    /// What is known of the connection, for people and statistics.
    pub fn info(&self) -> Info {
        Info {
            state: self.state,
            srtt: Duration::from_micros(self.rtt.srtt.into()),
            rttvar: Duration::from_micros(self.rtt.rttvar.into()),
            min_rtt: (self.rtt.min != u32::MAX).then(|| Duration::from_micros(self.rtt.min.into())),
            rto: self.rtt.rto(&self.config),
            cwnd: self.congestion.window(),
            ssthresh: self.congestion.ssthresh(),
            mss: self.snd.mss,
            retransmits: self.recovery.retransmits,
            timeouts: self.timeouts,
            send_window: self.snd.wnd,
            receive_window: self.rcv.edge.distance_from(self.rcv.nxt),
            send_shift: self.snd.shift,
            receive_shift: self.rcv.shift,
            in_flight: self.pipe(),
            delivered: self.delivered,
            timestamps: self.is.timestamps,
            sack: self.is.sack,
            out_of_order: self.assembler.as_ref().map_or(0, |a| a.len()),
            footprint: self.footprint(),
        }
    }

    /// Bytes of memory that buffers of the connection keep from being reused: sent
    /// and not acknowledged, received and not taken out, and out of order.
    pub fn footprint(&self) -> usize {
        let disorder = self.assembler.as_ref().map_or(0, |a| a.footprint());
        self.send.footprint() + self.receive.footprint() + disorder
    }

    /// Panics if the invariants of the data structures do not hold; for tests.
    #[doc(hidden)]
    pub fn check_invariants(&self) {
        if self.state == State::Closed {
            return self.receive.check();
        }
        debug_assert!(self.snd.una.before_or_at(self.snd.nxt));
        debug_assert!(self.rcv.nxt.before_or_at(self.rcv.edge));
        debug_assert!(self.snd.nxt.before_or_at(self.send.end + 1));
        self.send.check(self.snd.una);
        self.board.check(self.snd.una, self.snd.nxt);
        self.receive.check();
        if let Some(a) = &self.assembler {
            a.check(self.rcv.nxt);
            debug_assert!(!a.is_empty());
        }
        let outstanding = self.snd.una != self.snd.nxt;
        let rto = self.timers.kind == Retransmit::Rto;
        debug_assert_eq!(outstanding, rto, "{:?}", self.state);
    }
}

/// What is known of a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Info {
    /// The state.
    pub state: State,
    /// Smoothed round-trip time; zero before there is a measurement.
    pub srtt: Duration,
    /// Its variation.
    pub rttvar: Duration,
    /// The least round-trip time measured.
    pub min_rtt: Option<Duration>,
    /// The retransmission time-out, backed off.
    pub rto: Duration,
    /// The congestion window, bytes.
    pub cwnd: u32,
    /// The slow start threshold, bytes.
    pub ssthresh: u32,
    /// Most payload bytes of a segment that we send.
    pub mss: u16,
    /// Segments sent again since the start.
    pub retransmits: u32,
    /// Retransmission time-outs in a row.
    pub timeouts: u8,
    /// SND.WND, bytes.
    pub send_window: u32,
    /// RCV.WND, bytes.
    pub receive_window: u32,
    /// Shift of the windows that the peer announces.
    pub send_shift: u8,
    /// Shift of the windows that we announce.
    pub receive_shift: u8,
    /// Bytes in the network, as far as we know.
    pub in_flight: u32,
    /// Bytes delivered to the peer since the start, modulo 2^32.
    pub delivered: u32,
    /// Are timestamps in use?
    pub timestamps: bool,
    /// Are selective acknowledgments in use?
    pub sack: bool,
    /// Bytes that came out of order and wait for what is missing.
    pub out_of_order: usize,
    /// Bytes of buffers that the connection keeps.
    pub footprint: usize,
}
