//! [`Tcb`]: the state of one connection.

use crate::assembler::Assembler;
use crate::congestion::{Congestion, Validation, initial_window};
use crate::facts::{Flags, Note, Settings};
use crate::marks::Ecn;
use crate::recovery::{Phase, Rate, Recovery, Scoreboard};
use crate::recv::ReceiveQueue;
use crate::rtt::Rtt;
use crate::send::SendQueue;
use crate::timers::Timers;
use crate::{Config, Error, Events, Isn, State};
use std::sync::Arc;
use wire::{Instant, Seq};

/// Send sequence variables (RFC 9293 3.3.1).
#[derive(Debug)]
pub(crate) struct Snd {
    /// SND.UNA
    pub una: Seq,
    /// SND.NXT
    pub nxt: Seq,
    /// SND.WND, bytes
    // RFC 9293 REC-1
    pub wnd: u32,
    /// SND.WL1. It follows RCV.NXT: a number from 2^31 bytes ago would look newer
    /// than every segment. SND.WL2 is needed nowhere, because the windows of
    /// acknowledgments below SND.UNA do not count anyway.
    pub wl1: Seq,
    /// Max(SND.WND)
    pub max_wnd: u32,
    /// ISS
    pub iss: Seq,
    /// Behind the last segment sent that was smaller than `mss` (Minshall), or
    /// SND.UNA if that is later.
    pub small_end: Seq,
    /// The most that was in flight in the window of data that ends at `usage_end`,
    /// and whether cwnd was the limit then.
    pub most_out: u32,
    /// See `most_out`; SND.NXT when that was noted.
    pub usage_end: Seq,
    /// See `most_out`.
    pub cwnd_limited: bool,
    /// Eff.snd.MSS: most payload bytes of a segment, without what timestamps
    /// take.
    pub mss: u16,
    /// The least of what the peer, our link and the path take, options
    /// included.
    pub limit: u16,
    /// Shift of the windows that the peer announces.
    pub shift: u8,
    /// The initial congestion window for segments of `mss` bytes.
    pub least_window: u32,
    /// Nothing needs a decision ([`Tcb::is_settled`]).
    pub settled: Note,
}

impl Snd {
    fn new(iss: Seq, mss: u16, segments: u32) -> Snd {
        Snd {
            una: iss,
            nxt: iss,
            wnd: 0,
            wl1: Seq(0),
            max_wnd: 0,
            iss,
            small_end: iss,
            most_out: 0,
            usage_end: iss,
            cwnd_limited: false,
            mss,
            limit: mss,
            shift: 0,
            least_window: initial_window(segments, mss.into()),
            settled: Note(false),
        }
    }
}

/// Receive sequence variables (RFC 9293 3.3.1).
#[derive(Debug)]
pub(crate) struct Rcv {
    /// RCV.NXT
    pub nxt: Seq,
    /// RCV.NXT + RCV.WND: the rightmost edge ever announced.
    pub edge: Seq,
    /// Last.ACK.sent (RFC 7323 4.3)
    pub acked: Seq,
    /// IRS
    pub irs: Seq,
    /// The sequence number of the peer's FIN, once it came.
    pub fin: Option<Seq>,
    /// Bytes taken out that the application has not read.
    pub outside: u32,
    /// Bytes of memory that they hold.
    pub memory_outside: u32,
    /// What the SYN announces: most payload bytes that our link takes.
    pub mss: u16,
    /// The full segments that the peer seems to send, bytes.
    pub full: u16,
    /// The last segment that was smaller and perhaps full, bytes.
    pub last: u16,
    /// Shift of the windows that we announce.
    pub shift: u8,
    /// What of our time stamps the peer echoed last, modulo 2^16.
    pub echo: u16,
    /// Does our SYN offer window scaling?
    pub scaling: bool,
    /// The flags of ECN in the peer's SYN, as a number.
    pub syn_ace: u8,
    /// Bytes of the receive buffer, and what they may become.
    pub limit: u32,
    /// See `limit`.
    pub most: u32,
    /// What was read up to when the buffer was looked at last ([`Tcb::tuned_at`]), modulo 2^32.
    pub tuned_from: u32,
}

impl Rcv {
    fn new(config: &Config, mss: u16) -> Rcv {
        Rcv {
            nxt: Seq(0),
            edge: Seq(0),
            acked: Seq(0),
            irs: Seq(0),
            fin: None,
            outside: 0,
            memory_outside: 0,
            mss,
            full: mss.min(DEFAULT_PEER_MSS),
            last: 0,
            echo: 0,
            shift: if config.window_scaling { config.window_shift() } else { 0 },
            scaling: config.window_scaling,
            syn_ace: 0,
            limit: config.receive_limit(),
            most: config.receive_most(),
            tuned_from: 0,
        }
    }
}

/// Timestamps (RFC 7323).
#[derive(Debug)]
pub(crate) struct Timestamps {
    /// Added to the millisecond clock.
    pub offset: u32,
    /// TS.Recent
    pub recent: u32,
    /// When TS.Recent was taken.
    pub recent_at: Instant,
}

/// What the acknowledging half owes.
#[derive(Debug)]
pub(crate) struct Acks {
    /// Acknowledge at once.
    pub now: bool,
    /// Duplicate acknowledgments that a sender without SACK has to count.
    pub duplicates: u8,
    /// Challenge acknowledgments sent in `second`.
    pub challenges: u16,
    /// The second of the stack's time that `challenges` counts.
    pub second: u32,
    /// How long an acknowledgment may wait, nanoseconds: 32 bits of them are more than four
    /// seconds, and RFC 1122 4.2.3.2 allows half a one.
    pub delay: u32,
}

impl Acks {
    fn new(config: &Config) -> Acks {
        let delay = u32::try_from(config.delayed_ack.as_nanos()).unwrap_or(u32::MAX);
        Acks { now: false, duplicates: 0, challenges: 0, second: 0, delay }
    }
}

/// The transmission control block: one connection.
///
/// # Grammar
/// A connection is made by [`Tcb::connect`] or, for a SYN that
/// [`listen`](crate::input::listen) found good, by [`Tcb::accept`]. Then, in any
/// order, with the time:
/// - [`Tcb::input`] for every segment of the flow, its checksum verified;
/// - [`Tcb::on_timeout`] once [`Tcb::next_timeout`] has come;
/// - the user's calls: [`Tcb::send`], [`Tcb::receive`], [`Tcb::shutdown_write`],
///   [`Tcb::release`], [`Tcb::abort`] and their kin.
///
/// Threads may bring times that they have read in another order. A connection's
/// own time does not go back: an earlier time than the latest counts as that.
///
/// After any of these, or a batch of them: [`Tcb::poll_transmit`] until it
/// returns `None` if [`Tcb::wants_transmit`], and [`Tcb::take_events`] if
/// [`Tcb::has_events`]. `next_timeout` is settled only after that.
///
/// After [`Events::CLOSED`], and after `poll_transmit` has said `None`, the
/// value may be dropped; received data can still be taken out of it before.
/// After [`Events::TIME_WAIT`] it may be replaced by a
/// [`TimeWait`](crate::TimeWait) if the application is gone.
// The order is that of the memory: with many connections each of these lines has to come from
// there. So what plain segments touch lies together, and what they do not comes last.
#[derive(Debug)]
#[repr(C)]
pub struct Tcb {
    pub(crate) state: State,
    pub(crate) events: Events,
    /// Time-outs in a row without progress.
    pub(crate) timeouts: u8,
    /// Probes in a row without an answer.
    pub(crate) probes: u8,
    /// Segments with data that are still acknowledged at once.
    pub(crate) quick_acks: u8,
    pub(crate) error: Option<Error>,
    /// What the network has said since the last progress that may pass.
    pub(crate) soft_error: Option<Error>,
    pub(crate) flags: Flags,
    pub(crate) snd: Snd,
    pub(crate) rtt: Rtt,
    pub(crate) acks: Acks,
    pub(crate) rcv: Rcv,
    pub(crate) ts: Timestamps,
    pub(crate) timers: Timers,
    pub(crate) send: SendQueue,
    pub(crate) board: Scoreboard,
    pub(crate) receive: ReceiveQueue,
    pub(crate) rate: Rate,
    pub(crate) congestion: Congestion,
    pub(crate) assembler: Option<Box<Assembler>>,
    pub(crate) config: Arc<Config>,
    /// The latest time that the connection was told.
    pub(crate) now: Instant,
    /// Sequence numbers delivered to the peer.
    pub(crate) delivered: u64,
    /// Bytes that came in order.
    pub(crate) received_total: u64,
    /// When data was sent last.
    pub(crate) last_sent: Instant,
    /// When a segment came last.
    pub(crate) last_received: Instant,
    /// The second half of it is for losses.
    pub(crate) recovery: Recovery,
    /// What the user has set for this connection.
    pub(crate) settings: Option<Box<Settings>>,
    /// Marks of congestion, if both ends speak of them.
    pub(crate) ecn: Option<Box<Ecn>>,
    /// What is known of a congestion window that is larger than the initial one.
    pub(crate) validation: Option<Box<Validation>>,
    /// When the receive buffer was looked at last: see [`Rcv::tuned_from`].
    pub(crate) tuned_at: Instant,
    /// A RST with this sequence number answers an unacceptable ACK.
    pub(crate) reset_reply: Option<Seq>,
    /// What came twice, for the next SACK option (RFC 2883).
    pub(crate) dsack: Option<(Seq, Seq)>,
}

/// A peer that announces less is taken to have announced this (Linux's
/// `TCP_MIN_SND_MSS`): segments of a few bytes would cost us more than it.
pub(crate) const LEAST_PEER_MSS: u16 = 48;
/// What a peer takes that announces nothing (RFC 9293 3.7.1).
pub(crate) const DEFAULT_PEER_MSS: u16 = 536;
/// Bytes that the timestamps option takes in each segment.
const TIMESTAMPS_LEN: u16 = 12;

impl Tcb {
    /// So many of its first bytes are what plain segments touch.
    pub const HOT: usize = std::mem::offset_of!(Tcb, recovery) + Recovery::HOT;

    /// One that is in CLOSED, to be opened where it stays: it is large, and to move it costs a
    /// third of what it costs to make it. (It is compiled into where that is.)
    #[inline(always)]
    pub fn closed(config: &Arc<Config>, isn: Isn, mss: u16, now: Instant) -> Tcb {
        let mss = mss.max(1);
        let iss = isn.seq;
        Tcb {
            state: State::Closed,
            events: Events::NONE,
            flags: Flags::new(config),
            snd: Snd::new(iss, mss, config.initial_window),
            rcv: Rcv::new(config, mss),
            acks: Acks::new(config),
            ts: Timestamps { offset: isn.timestamp_offset, recent: 0, recent_at: now },
            timers: Timers::OFF,
            send: SendQueue::new(iss + 1),
            board: Scoreboard::new(iss),
            recovery: Recovery::new(iss),
            rate: Rate::new(now),
            congestion: Congestion::new(
                config.congestion,
                initial_window(config.initial_window, mss.into()),
            ),
            rtt: Rtt::new(config, now),
            receive: ReceiveQueue::default(),
            assembler: None,
            config: config.clone(),
            now,
            delivered: 0,
            received_total: 0,
            last_sent: now,
            last_received: now,
            timeouts: 0,
            probes: 0,
            error: None,
            soft_error: None,
            reset_reply: None,
            dsack: None,
            tuned_at: now,
            quick_acks: config.quick_acks,
            settings: None,
            ecn: None,
            validation: None,
        }
    }

    /// Eff.snd.MSS (RFC 9293 3.7.1), without the bytes of options that each segment has.
    pub(crate) fn set_mss(&mut self) {
        // RFC 9293 MUST-16
        // RFC 6691 2/2
        let options = if self.flags.timestamps { TIMESTAMPS_LEN } else { 0 };
        let options = options + self.counters_len();
        self.snd.mss = self.snd.limit.saturating_sub(options).max(1);
        self.snd.least_window = initial_window(self.config.initial_window, self.mss());
    }

    /// Eff.snd.MSS (RFC 9293 3.7.1), bytes: most payload of one segment.
    #[inline]
    pub fn mss(&self) -> u32 {
        self.snd.mss.into()
    }

    /// The state (RFC 9293 3.3.2).
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Why the connection ended, if not as both ends wished.
    #[inline]
    pub fn error(&self) -> Option<Error> {
        self.error
    }

    /// The time by which [`Tcb::on_timeout`] wants to be called.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        let next = match self.congestion.pacer() {
            None => self.timers.next(),
            Some(pacer) => Instant::earlier(self.timers.next(), pacer.deadline()),
        };
        if self.flags.paced { Instant::earlier(next, self.pace_deadline()) } else { next }
    }

    /// Asks the memory for what [`Tcb::next_timeout`] looks at.
    #[inline]
    pub fn ask_for_timers(&self) {
        wire::prefetch(&self.flags);
        wire::prefetch(&self.timers);
        self.congestion.ask_for_pacer();
    }

    /// May [`Tcb::next_timeout`] be before `at`? `false` is certain, and cheaper.
    #[inline(always)]
    pub fn may_time_out_before(&self, at: Instant) -> bool {
        self.timers.any_before(at) || self.congestion.models() || self.flags.paced
    }

    /// May [`Tcb::poll_transmit`] return something? `false` is certain.
    #[inline]
    pub fn wants_transmit(&self) -> bool {
        self.flags.dirty
    }

    /// May [`Tcb::poll_transmit`] return data that was sent before? `false` is certain, until
    /// something happens.
    #[inline]
    pub fn wants_retransmit(&self) -> bool {
        self.flags.dirty && (self.board.lost > 0 || self.recovery.tail_due) && self.transmits()
    }

    /// What has happened since the last call.
    #[inline]
    pub fn take_events(&mut self) -> Events {
        std::mem::take(&mut self.events)
    }

    /// Has anything happened since [`Tcb::take_events`] was called?
    #[inline]
    pub fn has_events(&self) -> bool {
        !self.events.is_empty()
    }

    /// Bytes in the network, as far as we know: RFC 6675's pipe; without SACK
    /// each duplicate acknowledgment stands for a segment that left.
    #[inline]
    pub(crate) fn pipe(&self) -> u32 {
        // RFC 6675 3/3
        // RFC 5681 3.2/4, 3.2/8
        let out = self.snd.nxt.distance_from(self.snd.una);
        let gone = if self.flags.sack {
            self.board.sacked
        } else {
            // Limited transmit (RFC 3042) is for the first two only.
            let most = match self.recovery.phase {
                Phase::Open => 2,
                Phase::Fast => u32::MAX,
                Phase::Timeout => 0,
            };
            self.recovery.duplicates.min(most).saturating_mul(self.mss())
        };
        out.saturating_sub(self.board.lost).saturating_sub(gone)
    }

    /// Has the FIN been sent?
    #[inline]
    pub(crate) fn fin_sent(&self) -> bool {
        self.snd.nxt.after(self.send.end)
    }

    /// Has the FIN been acknowledged?
    #[inline]
    pub(crate) fn fin_acked(&self) -> bool {
        self.snd.una.after(self.send.end)
    }

    /// [`Tcb::poll_transmit`] may have something to say from now on.
    #[inline]
    pub(crate) fn touch(&mut self) {
        self.flags.dirty = true;
    }

    /// After each entry but the short ways: whoever made output possible must have called
    /// [`Tcb::touch`]. Only debug builds look.
    #[inline]
    pub(crate) fn check_touched(&mut self) {
        self.unsettle();
        self.check_short();
    }

    /// The same, after a short way.
    #[inline]
    pub(crate) fn check_short(&self) {
        debug_assert!(self.flags.dirty || !self.has_output(), "not touched: {self:?}");
    }

    /// The time that `now` counts as: it must not go back, or our timestamps
    /// would, and the peer would drop what carries them (RFC 7323 5.3).
    #[inline]
    pub(crate) fn clamp(&mut self, now: Instant) -> Instant {
        // RFC 7323 5.4/1
        self.now = self.now.max(now);
        self.now
    }

    /// The millisecond clock of our timestamps.
    #[inline]
    pub(crate) fn timestamp(&self, now: Instant) -> u32 {
        // RFC 7323 5.4/2
        (now.as_millis() as u32).wrapping_add(self.ts.offset)
    }

    /// The connection is over.
    pub(crate) fn finish(&mut self, error: Option<Error>) {
        self.state = State::Closed;
        self.error = self.error.or(error);
        self.timers = Timers::OFF;
        self.release_paced(Instant::FAR_FUTURE);
        self.snd.nxt = self.snd.nxt.latest(self.snd.una);
        self.send.clear();
        self.board.clear(self.snd.nxt);
        self.assembler = None;
        self.acks.now = false;
        self.flags.syn_due = false;
        self.flags.probe_due = false;
        if self.flags.released {
            self.receive = ReceiveQueue::default();
        }
        self.events.add(Events::CLOSED | Events::READABLE | Events::WRITABLE);
        // Nobody asks once more for what is not there.
        self.flags.dirty = self.flags.abort_due || self.reset_reply.is_some();
    }
}
