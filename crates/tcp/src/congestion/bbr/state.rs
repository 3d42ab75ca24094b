//! The parts of BBR's state.

use wire::Instant;
use wire::time::Duration;

/// What the sender does (BBR.state).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It looks for the rate of the path: faster and faster.
    Startup,
    /// The queue that this has made goes.
    Drain,
    /// ProbeBW_DOWN: slower than the path, so that a queue goes and others find room.
    Down,
    /// ProbeBW_CRUISE: as fast as the path.
    Cruise,
    /// ProbeBW_REFILL: all of what the path holds is in flight again.
    Refill,
    /// ProbeBW_UP: faster, to see whether there is more.
    Up,
    /// ProbeRTT: so little that no queue is left of it.
    Rtt,
}

impl Phase {
    /// BBR.pacing_gain, percent.
    pub(super) fn pacing_gain(self) -> u64 {
        match self {
            Phase::Startup => 277,
            Phase::Drain => 50,
            Phase::Down => 90,
            Phase::Up => 125,
            Phase::Cruise | Phase::Refill | Phase::Rtt => 100,
        }
    }

    /// BBR.cwnd_gain, percent.
    pub(super) fn window_gain(self) -> u64 {
        match self {
            Phase::Up => 225,
            Phase::Rtt => 50,
            _ => 200,
        }
    }

    /// IsInAProbeBWState
    pub(super) fn is_steady(self) -> bool {
        matches!(self, Phase::Down | Phase::Cruise | Phase::Refill | Phase::Up)
    }

    /// IsProbingBW: losses are the answer to a question.
    pub(super) fn probes(self) -> bool {
        matches!(self, Phase::Startup | Phase::Refill | Phase::Up)
    }
}

/// BBR.ack_phase: what acknowledgments are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Acks {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// BBR.bw and what it is made of, bytes per second.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    /// BBR.bw
    pub(super) now: u64,
    /// BBR.max_bw: the most of this cycle, and of the one before.
    pub(super) most: [u64; 2],
    /// BBR.bw_latest: the most of this round trip.
    pub(super) latest: u64,
    /// BBR.bw_shortterm
    pub(super) short: u64,
    /// The least at which data was to leave, in the round trip before and in this one: what a
    /// round trip delivers left in these two.
    pub(super) left: [u64; 2],
}

/// How much may be in flight, bytes.
#[derive(Clone, Debug)]
pub(super) struct Volumes {
    /// BBR.inflight_latest: the most that this round trip has delivered.
    pub(super) latest: u32,
    /// BBR.inflight_shortterm
    pub(super) short: u32,
    /// BBR.inflight_longterm
    pub(super) long: u32,
}

/// The least round-trip time, microseconds, and what is done to see it.
#[derive(Clone, Debug)]
pub(super) struct LeastRtt {
    /// BBR.min_rtt
    pub(super) rtt: u32,
    /// BBR.min_rtt_stamp
    pub(super) at: Instant,
    /// BBR.probe_rtt_min_delay
    pub(super) recent: u32,
    /// BBR.probe_rtt_min_stamp
    pub(super) recent_at: Instant,
    /// Until when a round trip that is nearly as short confirms `recent`.
    pub(super) sure_until: Instant,
    /// `rtt` when ProbeRTT began.
    pub(super) before: u32,
    /// BBR.probe_rtt_expired
    pub(super) expired: bool,
    /// BBR.probe_rtt_done_stamp
    pub(super) done: Option<Instant>,
    /// BBR.probe_rtt_round_done
    pub(super) round_done: bool,
}

/// Does the path deliver all it can (BBR.full_bw)?
#[derive(Clone, Debug, Default)]
pub(super) struct Full {
    /// BBR.full_bw
    pub(super) rate: u64,
    /// BBR.full_bw_count
    pub(super) count: u8,
    /// BBR.full_bw_now
    pub(super) now: bool,
    /// BBR.full_bw_reached
    pub(super) reached: bool,
}

/// How acknowledgments come in lumps (BBR.extra_acked), bytes.
#[derive(Clone, Debug)]
pub(super) struct Lumps {
    /// The most of these round trips, and of those before.
    pub(super) most: [u32; 2],
    pub(super) rounds: u8,
    /// BBR.extra_acked_interval_start
    pub(super) from: Instant,
    /// BBR.extra_acked_delivered
    pub(super) delivered: u64,
}

/// Losses in a round trip.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    /// BBR.is_loss_in_round
    pub(super) any: bool,
    /// BBR.loss_round_delivered
    pub(super) round_end: u64,
    /// BBR.loss_round_start
    pub(super) round_start: bool,
    /// Some were told of since a recovery has begun.
    pub(super) told: bool,
    /// Acknowledgments of this round trip that have shown some.
    pub(super) events: u8,
    /// A recovery goes on, and the window that there was before.
    pub(super) recovering: bool,
    /// BBR.prior_cwnd
    pub(super) window: u32,
}

/// The cycle of ProbeBW.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    pub(super) acks: Acks,
    /// BBR.cycle_stamp
    pub(super) at: Instant,
    /// BBR.bw_probe_wait
    pub(super) wait: Duration,
    /// BBR.rounds_since_probe_up
    pub(super) rounds: u32,
    /// BBR.is_bw_probe_sample
    pub(super) sample: bool,
    /// The network, and not the application, was the limit of something that the last
    /// probe has measured.
    pub(super) measured: bool,
    /// BBR.round_count when ProbeRTT was over.
    pub(super) quiet_from: u32,
    /// BBR.bw_probe_up_rounds
    pub(super) up_rounds: u32,
    /// BBR.bw_probe_up_acked
    pub(super) up_acked: u32,
    /// BBR.probe_up_acked_per_inc
    pub(super) up_each: u32,
    /// BBR.prev_probe_too_high
    pub(super) too_high: bool,
    /// BBR.prev_probe_precautionary; and a Startup that losses have ended.
    pub(super) careful: bool,
    /// BBR.drain_start_round
    pub(super) drain_from: u32,
}

/// What is restored if a loss turns out to be none (BBR.undo_…).
#[derive(Clone, Debug)]
pub(super) struct Undo {
    pub(super) phase: Option<Phase>,
    pub(super) rate: u64,
    pub(super) short: u32,
    pub(super) long: u32,
}
