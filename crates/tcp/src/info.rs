//! What a connection tells of itself.

use crate::congestion::{Algorithm, DeliveryRate};
use crate::recovery::Phase;
use crate::timers::Retransmit;
use crate::{State, Tcb};
use wire::Instant;
use wire::time::Duration;

impl Tcb {
    /// What is known of the connection, for people and statistics. It costs a copy
    /// of what stands in the connection: nothing is searched or summed up.
    pub fn info(&self) -> Info {
        Info {
            state: self.state,
            srtt: Duration::from_micros(self.rtt.srtt.into()),
            rttvar: Duration::from_micros(self.rtt.rttvar.into()),
            min_rtt: (self.rtt.min != u32::MAX).then(|| Duration::from_micros(self.rtt.min.into())),
            rto: Duration::from_micros(self.rtt.rto()),
            cwnd: self.congestion.window(),
            ssthresh: self.congestion.ssthresh(),
            delivery_rate: self.rate.last.into(),
            reordering: self.recovery.rack.reordered,
            congestion: self.congestion.algorithm(),
            pacing_rate: self.pacing_rate(),
            recovering: self.recovery.phase != Phase::Open,
            mss: self.snd.mss,
            path_mss: self.snd.limit,
            peer_mss: self.rcv.full,
            retransmits: self.recovery.retransmits,
            duplicates: self.recovery.duplicates_told,
            timeouts: self.timeouts,
            probes: self.probes,
            send_window: self.snd.wnd,
            receive_window: self.rcv.edge.distance_from(self.rcv.nxt),
            receive_buffer: self.rcv.limit,
            send_buffer: self.send_limit(),
            send_shift: self.snd.shift,
            receive_shift: self.rcv.shift,
            in_flight: self.pipe(),
            sacked: self.board.sacked,
            lost: self.board.lost,
            queued: self.queued(),
            unsent: self.unsent(),
            unread: self.unread(),
            delivered: self.delivered,
            received: self.received_total,
            last_sent: self.last_sent,
            last_received: self.last_received,
            timestamps: self.flags.timestamps,
            sack: self.flags.sack,
            ecn: self.has_ecn(),
            accurate_ecn: self.accurate_info(),
            marked: self.ecn.as_ref().map_or(0, |ecn| ecn.marked),
            echoed: self.ecn.as_ref().map_or(0, |ecn| ecn.echoed),
            out_of_order: self.assembler.as_ref().map_or(0, |a| a.len()),
            syn_data: self.has_syn_data(),
            footprint: self.footprint() + self.rcv.memory_outside as usize,
        }
    }

    fn accurate_info(&self) -> Option<AccurateEcn> {
        let ecn = self.ecn.as_ref().filter(|ecn| ecn.on)?;
        let accurate = ecn.accurate.as_ref()?;
        let (receiver, sender) = (&accurate.receiver, &accurate.sender);
        Some(AccurateEcn {
            capable: ecn.capable,
            options: sender.options,
            received_ect_0: receiver.bytes[0] - 1,
            received_ce: receiver.bytes[1],
            received_ect_1: receiver.bytes[2] - 1,
            delivered_ect_0: sender.bytes[0] - 1,
            delivered_ce: sender.bytes[1],
            delivered_ect_1: sender.bytes[2] - 1,
        })
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
        let outstanding = self.snd.una != self.snd.nxt || self.early_syn_waits();
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
    /// The least round-trip time measured lately: in the last 34 s, and up to 35 s before; of a connection whose
    /// window was never larger than at first and that has lost nothing, of all its time.
    pub min_rtt: Option<Duration>,
    /// The retransmission time-out, backed off.
    pub rto: Duration,
    /// The congestion window, bytes.
    pub cwnd: u32,
    /// The slow start threshold, bytes.
    pub ssthresh: u32,
    /// How fast data was delivered when that was last measured.
    pub delivery_rate: DeliveryRate,
    /// Has the network been seen to reorder?
    pub reordering: bool,
    /// The congestion control that decides about both.
    pub congestion: Algorithm,
    /// How fast data leaves, bytes per second; 0: as fast as the windows let it go.
    pub pacing_rate: u64,
    /// Is a loss being repaired?
    pub recovering: bool,
    /// Most payload bytes of a segment that we send.
    pub mss: u16,
    /// Most bytes of payload and options that the peer, our link and the path take.
    pub path_mss: u16,
    /// Payload bytes of the full segments that the peer seems to send.
    pub peer_mss: u16,
    /// Segments sent again since the start.
    pub retransmits: u32,
    /// Segments that had arrived already when they were sent again, as the peer says (D-SACK,
    /// RFC 2883), since the start.
    pub duplicates: u32,
    /// Retransmission time-outs in a row.
    pub timeouts: u8,
    /// Probes in a row, of a closed window or for keep-alive, without an answer.
    pub probes: u8,
    /// SND.WND, bytes.
    pub send_window: u32,
    /// RCV.WND, bytes.
    pub receive_window: u32,
    /// Bytes that may wait unread now.
    pub receive_buffer: u32,
    /// Bytes that may be queued now, if the congestion window is large.
    pub send_buffer: u32,
    /// Shift of the windows that the peer announces.
    pub send_shift: u8,
    /// Shift of the windows that we announce.
    pub receive_shift: u8,
    /// Bytes in the network, as far as we know.
    pub in_flight: u32,
    /// Bytes in flight that the peer has acknowledged selectively.
    pub sacked: u32,
    /// Bytes that were found lost and not sent again yet.
    pub lost: u32,
    /// Bytes that are queued: unsent, or sent and not acknowledged.
    pub queued: usize,
    /// Bytes that are queued and were never sent.
    pub unsent: usize,
    /// Bytes that came in order and that the application has not read.
    pub unread: usize,
    /// Bytes delivered to the peer since the start.
    pub delivered: u64,
    /// Bytes that came in order since the start.
    pub received: u64,
    /// When data was sent last, in the stack's time.
    pub last_sent: Instant,
    /// When an acceptable segment came last, in the stack's time.
    pub last_received: Instant,
    /// Are timestamps in use?
    pub timestamps: bool,
    /// Are selective acknowledgments in use?
    pub sack: bool,
    /// Do both ends use explicit congestion notification (RFC 3168)?
    pub ecn: bool,
    /// The counters, if both ends count marks (RFC 9768).
    pub accurate_ecn: Option<AccurateEcn>,
    /// Segments that came marked by a queue on the way.
    pub marked: u32,
    /// Acknowledgments by which the peer told of marks; if both ends count them, our
    /// segments that were marked.
    pub echoed: u32,
    /// Bytes that came out of order and wait for what is missing.
    pub out_of_order: usize,
    /// Data in the first SYN counted (RFC 7413, Linux's `TCPI_OPT_SYN_DATA`).
    pub syn_data: bool,
    /// Bytes of buffers that the connection keeps, those too that hold what was taken out and not
    /// read.
    pub footprint: usize,
}

/// What both ends have counted (RFC 9768), as in the fields of Linux's `tcp_info` of these
/// names. Bytes are those of payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AccurateEcn {
    /// What we send may be marked: nothing has shown that the path or the peer spoils marks.
    pub capable: bool,
    /// The peer's options have come: counters of bytes.
    pub options: bool,
    /// Bytes that have come with ECT(0).
    pub received_ect_0: u64,
    /// Bytes that have come with a mark.
    pub received_ce: u64,
    /// Bytes that have come with ECT(1).
    pub received_ect_1: u64,
    /// Bytes of ours that have arrived with ECT(0), as the peer's options say.
    pub delivered_ect_0: u64,
    /// Bytes of ours that have arrived with a mark, as the peer's options say.
    pub delivered_ce: u64,
    /// Bytes of ours that have arrived with ECT(1), as the peer's options say.
    pub delivered_ect_1: u64,
}
