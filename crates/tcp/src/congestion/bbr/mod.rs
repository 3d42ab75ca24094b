//! BBR, version 3 (draft-ietf-ccwg-bbr). It makes a model of the path: how fast the path
//! delivers, its least round-trip time, and how much may be in flight before it loses too
//! much. The model says how fast to send, and how much may be in flight.
//!
//! [`model`] is made by what acknowledgments and losses tell. [`cycle`] is what the sender
//! does to find it out: now and then it sends faster for a while, or next to nothing.
//!
//! Names are those of the draft, where the code follows it. Eight things are its own:
//! - The draft says nothing of the marks of RFC 3168. They count as a loss that was too
//!   much, once in a round trip.
//! - Losses in ProbeRTT or Drain and the three round trips after it do not lower the short-term rate to
//!   what was delivered then: it tells of what was in flight, or of Startup's last flight, and not of
//!   the path. A path that loses 1 % by chance was used by a third less for seconds.
//! - While the rate still grows by more than a quarter in each round trip, four times BBR.LossThresh
//!   has to be lost to end Startup. It ended at a twenty-fifth of the rate for nine segments that
//!   were lost by chance of 300, and over 250 ms it took ten seconds to climb from there.
//! - The first probe comes at once after a Startup that losses have ended. Where the queue is shorter
//!   than the path that is so before the rate is known: what was in flight is a fifth less than the path holds,
//!   and Cruise leaves a headroom of that. A path with a queue of a tenth of it was used to 0.78 for more
//!   than a second.
//! - Losses do not lower the short-term bounds after a round trip that has delivered all
//!   but what may be lost (BBR.LossThresh) of what was sent. Data leaves 1 % slower than the
//!   path delivers, 10 % slower after a probe, and with a headroom of 15 % in flight, so with
//!   1 % of chance loss each round trip would measure less than the last.
//! - Two segments more than BBR.LossThresh may be lost of what was in flight, and of what a round
//!   trip delivers. Of 83 segments two are more than 2 %, and with 1 % of chance loss a fifth of
//!   all round trips lose so many, a twentieth three: the path was found full in most probes, a
//!   headroom left of what was no limit, and the short-term rate lowered again and again between
//!   two probes.
//! - The filter of the rate advances after a probe in which the network was the limit of
//!   anything, even if the application is when the probe ends, or if ProbeRTT cuts it
//!   short. Otherwise a path that is slower now is believed fast for ten seconds and more.
//! - ProbeRTT comes every ten seconds, not five, where the last one has found what was known and the
//!   queue runs empty by itself: round trips that are nearly as short confirm the shortest. Half a
//!   window for two round trips of 250 ms costs a path of that length one part in twenty.

mod cycle;
mod model;
mod state;

use super::{CongestionControl, Lost, MAX_WINDOW, Pacer, Paces, Path, Sample, Sent};
use state::{Acks, Cycle, Full, LeastRtt, Losses, Lumps, Phase, Rates, Undo, Volumes};
use wire::Instant;
use wire::time::Duration;

/// No bound.
const NONE: u32 = u32::MAX;
/// The same, of a rate.
const NO_RATE: u64 = u64::MAX;
/// BBR.PacingMarginPercent: data leaves so much slower than the path delivers.
const MARGIN: u64 = 99;
/// BBR.MinPipeCwnd, segments.
const LEAST: u32 = 4;
/// No segment is larger, bytes.
const MOST_SEGMENT: u32 = 65_535;
/// The largest burst, and the time that it takes if it is smaller (the draft's 5.6.3).
const QUANTUM: u32 = 64 * 1024;
const QUANTA: u64 = 1000;

/// The state of BBR.
#[derive(Clone, Debug)]
pub(crate) struct Bbr(Box<State>);

#[derive(Clone, Debug)]
struct State {
    pacer: Pacer,
    phase: Phase,
    /// C.cwnd, and what it was at first.
    window: u32,
    initial: u32,
    mss: u32,
    now: Instant,
    /// The first acknowledgment has come.
    begun: bool,
    /// C.delivered
    delivered: u64,
    /// BBR.next_round_delivered
    round_end: u64,
    /// BBR.round_start
    round_start: bool,
    /// BBR.round_count
    rounds: u32,
    /// BBR.idle_restart
    idle: bool,
    rates: Rates,
    volumes: Volumes,
    least: LeastRtt,
    full: Full,
    lumps: Lumps,
    losses: Losses,
    cycle: Cycle,
    undo: Undo,
}

/// An acknowledgment.
struct Ack<'a> {
    sample: &'a Sample,
    path: Path,
    /// RS.delivery_rate
    rate: u64,
}

impl State {
    fn new(initial: u32) -> State {
        let (never, none) = (Instant::ZERO, Undo { phase: None, rate: 0, short: 0, long: 0 });
        State {
            pacer: Pacer::OFF,
            phase: Phase::Startup,
            window: initial,
            initial,
            mss: 1,
            now: never,
            begun: false,
            delivered: 0,
            round_end: 0,
            round_start: false,
            rounds: 0,
            idle: false,
            rates: Rates { now: 0, most: [0; 2], latest: 0, short: NO_RATE, left: [NO_RATE; 2] },
            volumes: Volumes { latest: 0, short: NONE, long: NONE },
            least: LeastRtt {
                rtt: NONE,
                at: never,
                recent: NONE,
                recent_at: never,
                sure_until: never,
                before: NONE,
                expired: false,
                done: None,
                round_done: false,
            },
            full: Full::default(),
            lumps: Lumps { most: [0; 2], rounds: 0, from: never, delivered: 0 },
            losses: Losses {
                any: false,
                round_end: 0,
                round_start: false,
                told: false,
                events: 0,
                recovering: false,
                window: 0,
            },
            cycle: Cycle {
                acks: Acks::Init,
                at: never,
                wait: Duration::ZERO,
                rounds: 0,
                sample: false,
                measured: false,
                quiet_from: 0,
                up_rounds: 0,
                up_acked: 0,
                up_each: NONE,
                too_high: false,
                careful: false,
                drain_from: 0,
            },
            undo: none,
        }
    }

    /// UpdateOnACK
    fn on_ack(&mut self, ack: &Ack<'_>) {
        self.begin_ack(ack);
        self.update_latest(ack);
        self.update_congestion(ack);
        self.update_lumps(ack);
        self.check_full(ack);
        self.check_startup_done(ack);
        self.check_drain_done(ack);
        self.update_cycle(ack);
        self.update_least_rtt(ack);
        self.check_probe_rtt(ack);
        self.advance_latest(ack);
        self.rates.now = self.most_rate().min(self.rates.short);
        self.set_pacing(self.phase.pacing_gain());
        self.set_window(ack);
    }

    /// What is the same for all that follows; a recovery may be over.
    fn begin_ack(&mut self, ack: &Ack<'_>) {
        let a = ack.sample;
        (self.now, self.mss, self.delivered) =
            (a.now, a.mss.clamp(1, MOST_SEGMENT), ack.path.delivered);
        if !self.begun {
            self.begun = true;
            (self.least.at, self.least.recent_at, self.lumps.from) = (a.now, a.now, a.now);
        }
        if std::mem::replace(&mut self.losses.recovering, ack.path.recovering)
            && !ack.path.recovering
        {
            self.restore_window();
        }
    }

    /// SetPacingRateWithGain, percent, and SetSendQuantum.
    fn set_pacing(&mut self, gain: u64) {
        let rate = self.rates.now.saturating_mul(gain * MARGIN) / 10_000;
        if rate > 0 && (self.full.reached || rate > self.pacer.rate()) {
            self.pace(rate);
        }
    }

    fn pace(&mut self, rate: u64) {
        let quantum = (rate / QUANTA).min(QUANTUM.into()) as u32;
        self.pacer.set(rate, quantum.max(2 * self.mss));
    }

    /// SetCwnd
    fn set_window(&mut self, ack: &Ack<'_>) {
        let most = self.max_inflight();
        let grown = self.window.saturating_add(ack.sample.delivered);
        if self.full.reached {
            self.window = grown.min(most);
        } else if self.window < most || self.delivered < self.initial.into() {
            self.window = grown;
        }
        self.window = self.window.clamp(LEAST * self.mss, MAX_WINDOW);
        if self.phase == Phase::Rtt {
            self.window = self.window.min(self.probe_rtt_window());
        }
        self.bound_window();
    }

    /// BoundCwndForModel
    fn bound_window(&mut self) {
        let cap = match self.phase {
            Phase::Down | Phase::Refill | Phase::Up => self.volumes.long,
            Phase::Cruise | Phase::Rtt => self.with_headroom(),
            Phase::Startup | Phase::Drain => NONE,
        };
        let cap = cap.min(self.volumes.short).max(LEAST * self.mss);
        self.window = self.window.min(cap);
    }

    /// SaveCwnd
    fn save_window(&mut self) {
        let fresh = !self.losses.recovering && self.phase != Phase::Rtt;
        let before = if fresh { 0 } else { self.losses.window };
        self.losses.window = before.max(self.window);
    }

    /// RestoreCwnd
    fn restore_window(&mut self) {
        self.window = self.window.max(self.losses.window);
    }

    /// HandleRestartFromIdle, and the rate before there is a measurement.
    fn on_sent(&mut self, sent: &Sent) {
        self.mss = sent.mss.clamp(1, MOST_SEGMENT);
        if self.pacer.rate() == 0 && sent.srtt > 0 {
            let rate = u64::from(self.initial) * 1_000_000 / u64::from(sent.srtt);
            self.pace(rate * Phase::Startup.pacing_gain() / 100);
        }
        if sent.alone && sent.app_limited {
            self.idle = true;
            (self.lumps.from, self.lumps.delivered) = (sent.now, 0);
            self.now = self.now.max(sent.now);
            if self.phase.is_steady() {
                self.set_pacing(100);
            } else if self.phase == Phase::Rtt {
                self.check_probe_rtt_done();
            }
        }
        self.pacer.on_sent(sent.bytes, sent.now);
    }
}

impl CongestionControl for Bbr {
    fn new(initial_window: u32) -> Bbr {
        Bbr(Box::new(State::new(initial_window)))
    }
    /// There is none.
    fn set_ssthresh(&mut self, _: u32) {}
    fn window(&self) -> u32 {
        self.0.window
    }
    fn ssthresh(&self) -> u32 {
        MAX_WINDOW
    }
    fn on_ack(&mut self, sample: &Sample) {
        let Some(path) = sample.path else { return };
        self.0.on_ack(&Ack { sample, path, rate: path.rate() });
    }
    /// OnEnterFastRecovery
    fn on_loss(&mut self, _flight: u32, _mss: u32, now: Instant) {
        self.0.now = now;
        self.0.save_window();
        // Without SACK, and if a probe of the tail was lost, nothing else tells of it.
        if !std::mem::take(&mut self.0.losses.told) {
            self.0.note_loss();
        }
        self.0.losses.recovering = true;
    }
    fn on_recovered(&mut self, _window: u32, _now: Instant) {
        self.0.losses.recovering = false;
        self.0.losses.told = false;
        self.0.restore_window();
    }
    /// OnEnterRTO
    fn on_timeout(&mut self, flight: u32, mss: u32, again: bool, now: Instant) {
        let state = &mut *self.0;
        state.now = now;
        if !again {
            state.save_window();
            state.lost_too_much(flight);
        }
        state.losses.recovering = true;
        state.window = mss;
    }
    fn on_undo(&mut self) {
        self.0.undo_loss();
    }
    /// What the model says holds after a pause, too; data leaves at its rate.
    fn on_disuse(&mut self, _initial: u32) {}
    fn on_marks(&mut self, flight: u32, _mss: u32, now: Instant) {
        self.0.now = now;
        self.0.marked(flight);
    }
    #[inline]
    fn models(&self) -> bool {
        true
    }
    fn on_sent(&mut self, sent: &Sent) {
        self.0.on_sent(sent);
    }
    fn on_lost(&mut self, lost: &Lost) {
        self.0.on_lost(lost);
    }
    fn drains(&self) -> bool {
        self.0.phase == Phase::Rtt
    }
}

impl Paces for Bbr {
    #[inline]
    fn pacer(&self) -> Option<&Pacer> {
        Some(&self.0.pacer)
    }
    #[inline]
    fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        Some(&mut self.0.pacer)
    }
}

#[cfg(test)]
mod tests;
