//! What BBR does, and for how long (draft-ietf-ccwg-bbr 5.3).

use super::model::{SURE, is_near};
use super::{Ack, Acks, NONE, Phase, State};
use wire::time::Duration;

/// BBR.ProbeRTTDuration
const PROBE_RTT: Duration = Duration::from_millis(200);
/// Acknowledgments of a round trip that have to show losses before Startup ends for them
/// (BBRStartupFullLossCnt).
const LOSSES: u8 = 6;
/// So many times as much has to be lost for that while the rate still grows.
const GROWING: u32 = 4;
/// Round trips after which Drain is over at the latest.
const DRAIN_ROUNDS: u32 = 3;
/// The most round trips between two probes for more: as long as Reno takes to lose again
/// on a path of so many segments.
const RENO_ROUNDS: u32 = 63;

impl State {
    /// CheckStartupDone
    pub(super) fn check_startup_done(&mut self, ack: &Ack<'_>) {
        if self.phase != Phase::Startup {
            return;
        }
        self.check_startup_losses(ack);
        if self.full.reached {
            self.enter_drain();
        }
    }

    /// CheckStartupHighLoss
    fn check_startup_losses(&mut self, ack: &Ack<'_>) {
        let path = &ack.path;
        if ack.sample.lost > 0 {
            self.losses.events = self.losses.events.saturating_add(1);
        }
        let enough = self.losses.events >= if path.sack { LOSSES } else { 1 };
        let round = self.losses.round_start || !path.sack;
        // While the rate grows by more than a quarter in a round trip, the path is not full, or loses a
        // lot more than chance does.
        let grows = path.sack && self.full.count == 0;
        let lost = path.lost_since / if grows { GROWING } else { 1 };
        let too_much = self.is_too_much(lost, path.sent_in_flight, path.sack);
        if round && path.recovering && enough && too_much {
            self.undo.phase = Some(Phase::Startup);
            self.full_by_losses();
            // It has seen too little of the path.
            self.cycle.careful = true;
        }
        if self.losses.round_start {
            self.losses.events = 0;
        }
    }

    /// Losses say that the path is full.
    fn full_by_losses(&mut self) {
        (self.full.now, self.full.reached) = (true, true);
        let product = self.product(self.rates.now, 100);
        self.volumes.long = product.max(self.volumes.latest).max(1);
    }

    /// Startup is over, because queues mark.
    pub(super) fn leave_startup(&mut self) {
        self.full_by_losses();
        self.enter_drain();
    }

    fn enter_drain(&mut self) {
        self.phase = Phase::Drain;
        self.cycle.drain_from = self.rounds;
    }

    /// CheckDrainDone
    pub(super) fn check_drain_done(&mut self, ack: &Ack<'_>) {
        let drained = || ack.path.in_flight <= self.inflight(self.rates.now);
        let late = || self.rounds.wrapping_sub(self.cycle.drain_from) > DRAIN_ROUNDS;
        if self.phase == Phase::Drain && (drained() || late()) {
            self.cycle.quiet_from = self.rounds;
            self.start_down();
        }
    }

    /// StartProbeBW_DOWN
    pub(super) fn start_down(&mut self) {
        self.reset_signals();
        self.cycle.up_each = NONE;
        self.pick_wait();
        self.cycle.at = self.now;
        self.cycle.acks = Acks::Stopping;
        self.start_round();
        self.phase = Phase::Down;
    }

    /// PickProbeWait. Flows that began together must not probe together, so the time and
    /// what was delivered are stirred (as SplitMix64 does it).
    fn pick_wait(&mut self) {
        let mut x = self.now.as_nanos() ^ self.delivered.rotate_left(32);
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^= x >> 31;
        self.cycle.rounds = (x & 1) as u32;
        self.cycle.wait = Duration::from_millis(2000 + (x >> 8) % 1001);
    }

    /// StartProbeBW_REFILL
    pub(super) fn start_refill(&mut self) {
        self.reset_short();
        (self.cycle.up_rounds, self.cycle.up_acked) = (0, 0);
        self.cycle.careful = false;
        self.cycle.acks = Acks::Refilling;
        self.start_round();
        self.phase = Phase::Refill;
    }

    /// StartProbeBW_UP
    fn start_up(&mut self, ack: &Ack<'_>) {
        self.cycle.acks = Acks::Starting;
        self.start_round();
        self.reset_full(ack.rate);
        self.cycle.measured = false;
        self.phase = Phase::Up;
        self.raise_slope();
    }

    /// UpdateProbeBWCyclePhase
    pub(super) fn update_cycle(&mut self, ack: &Ack<'_>) {
        if !self.full.reached || self.adapt_long(ack) {
            return;
        }
        let down = self.phase == Phase::Up && self.is_time_to_go_down(ack);
        match self.phase {
            Phase::Down | Phase::Cruise if self.is_time_to_probe() => self.start_refill(),
            Phase::Down if self.is_time_to_cruise(ack) => self.phase = Phase::Cruise,
            Phase::Refill if self.round_start => {
                self.cycle.sample = true;
                self.start_up(ack);
            }
            Phase::Up if down => {
                self.cycle.too_high = false;
                self.start_down();
            }
            _ => {}
        }
    }

    /// IsTimeToProbeBW
    fn is_time_to_probe(&self) -> bool {
        let rounds = (self.target() / self.mss).min(RENO_ROUNDS);
        self.now > self.cycle.at + self.cycle.wait || self.cycle.rounds >= rounds
    }

    /// IsTimeToCruise
    fn is_time_to_cruise(&self, ack: &Ack<'_>) -> bool {
        let most = self.with_headroom().min(self.inflight(self.most_rate()));
        ack.path.in_flight <= most
    }

    /// IsTimeToGoDown
    fn is_time_to_go_down(&mut self, ack: &Ack<'_>) -> bool {
        let long = self.volumes.long;
        if self.cycle.too_high && ack.path.in_flight >= long {
            self.cycle.careful = true;
            return true;
        }
        if ack.path.cwnd_limited && self.window >= long {
            self.reset_full(ack.rate);
            return false;
        }
        self.full.now
    }

    /// RaiseInflightLongtermSlope
    fn raise_slope(&mut self) {
        let growth = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(30);
        self.cycle.up_each = (self.window / growth).max(self.mss);
    }

    /// ProbeInflightLongtermUpward
    fn raise_long(&mut self, ack: &Ack<'_>) {
        if !ack.path.cwnd_limited || self.window < self.volumes.long {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.up_acked = cycle.up_acked.saturating_add(ack.sample.delivered);
        let steps = cycle.up_acked / cycle.up_each.max(1);
        cycle.up_acked -= steps * cycle.up_each;
        let by = steps.saturating_mul(self.mss);
        self.volumes.long = self.volumes.long.saturating_add(by).min(NONE - 1);
        if self.round_start {
            self.raise_slope();
        }
    }

    /// AdaptLongTermModel. Returns whether it has decided what comes next.
    fn adapt_long(&mut self, ack: &Ack<'_>) -> bool {
        if self.cycle.acks == Acks::Starting && self.round_start {
            self.cycle.acks = Acks::Feedback;
        }
        if self.cycle.acks == Acks::Stopping && self.round_start {
            self.cycle.sample = false;
            self.cycle.acks = Acks::Init;
            let steady = self.phase.is_steady() && !ack.path.app_limited;
            if std::mem::take(&mut self.cycle.measured) || steady {
                self.advance_filter();
            }
            if self.phase.is_steady() && self.cycle.careful && !self.cycle.too_high {
                self.start_refill();
                return true;
            }
        }
        let path = &ack.path;
        let too_much = self.is_too_much(path.lost_since, path.sent_in_flight, path.sack);
        if !too_much && self.volumes.long != NONE {
            self.volumes.long = self.volumes.long.max(path.sent_in_flight);
            if self.phase == Phase::Up {
                self.raise_long(ack);
            }
        }
        if too_much && !path.sack && self.cycle.sample {
            // No piece was told of.
            self.too_high(path.sent_in_flight, path.app_limited);
            return true;
        }
        false
    }

    /// ProbeRTTCwnd
    pub(super) fn probe_rtt_window(&self) -> u32 {
        self.product(self.rates.now, 50).max(super::LEAST * self.mss)
    }

    /// CheckProbeRTT
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack<'_>) {
        if self.phase != Phase::Rtt && self.least.expired && !self.idle {
            self.save_window();
            self.phase = Phase::Rtt;
            (self.least.done, self.least.before) = (None, self.least.rtt);
            self.cycle.acks = Acks::Stopping;
            self.start_round();
        }
        if self.phase == Phase::Rtt {
            self.probe_rtt(ack);
        }
        if ack.path.span > 0 {
            self.idle = false;
        }
    }

    /// HandleProbeRTT
    fn probe_rtt(&mut self, ack: &Ack<'_>) {
        if self.least.done.is_none() {
            if ack.path.in_flight <= self.probe_rtt_window() {
                self.least.done = Some(self.now + PROBE_RTT);
                self.least.round_done = false;
                self.start_round();
            }
            return;
        }
        self.least.round_done |= self.round_start;
        if self.least.round_done {
            self.check_probe_rtt_done();
        }
    }

    /// CheckProbeRTTDone and ExitProbeRTT
    pub(super) fn check_probe_rtt_done(&mut self) {
        if self.least.done.is_none_or(|done| self.now <= done) {
            return;
        }
        self.least.recent_at = self.now;
        if is_near(self.least.recent, self.least.before) {
            self.least.sure_until = self.now + SURE;
        }
        self.cycle.quiet_from = self.rounds;
        self.restore_window();
        self.reset_short();
        if self.full.reached {
            self.start_down();
            self.phase = Phase::Cruise;
        } else {
            self.phase = Phase::Startup;
        }
    }
}
