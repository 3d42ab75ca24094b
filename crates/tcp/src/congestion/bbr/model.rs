//! What BBR knows of the path (draft-ietf-ccwg-bbr 5.5), and what losses change in it.

use super::{Ack, Acks, LEAST, Lost, NO_RATE, NONE, Phase, State};
use wire::time::Duration;

/// BBR.LossThresh, percent: a path that loses more is given too much.
const LOSSES: u64 = 2;
/// So many segments more may be lost: of few that are in flight, chance takes more than its part.
const SPARE: u32 = 2;
/// BBR.Beta, percent: what a round trip with losses leaves at least.
const BETA: u64 = 70;
/// BBR.Headroom, percent: what is left to others of what may be in flight.
const HEADROOM: u64 = 15;
/// Round trips of each half of the filter of BBR.extra_acked (BBR.ExtraAckedFilterLen).
const LUMP_ROUNDS: u8 = 5;
/// BBR.MinRTTFilterLen
const RTT_LIFE: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTInterval
pub(super) const PROBE_RTT_EVERY: Duration = Duration::from_secs(5);
/// How long round trips that are nearly as short as the shortest confirm it, after ProbeRTT has found
/// what was known: the next one comes after [`RTT_LIFE`] then, as in BBR's first version.
pub(super) const SURE: Duration = Duration::from_secs(5);
/// BBR.full_bw_count at which the path is full, and the growth below which a round trip
/// counts, percent.
const FULL_ROUNDS: u8 = 3;
/// Round trips after ProbeRTT in which what is delivered says nothing of the path.
const QUIET_ROUNDS: u32 = 3;
const FULL_GROWTH: u64 = 125;

/// LossLowerBounds: what `short` becomes after a round trip with losses that has delivered
/// `latest` where so much had `left`. If that is all but what may be lost, and `spare`, it stays.
fn lowered(short: u64, latest: u64, left: u64, spare: u64) -> u64 {
    let part = |of: u64, percent: u64| (u128::from(of) * u128::from(percent) / 100) as u64;
    let delivered = latest.saturating_add(spare) >= part(left.min(short), 100 - LOSSES);
    if delivered { short } else { latest.max(part(short, BETA)) }
}

/// Do two round trips differ by no more than 1/128?
pub(super) fn is_near(one: u32, other: u32) -> bool {
    one.abs_diff(other) <= one.min(other) / 128
}

/// `percent` of `n`.
fn part(n: u32, percent: u64) -> u32 {
    (u64::from(n) * percent / 100).min(NONE.into()) as u32
}

impl State {
    /// BBR.max_bw
    pub(super) fn most_rate(&self) -> u64 {
        self.rates.most[0].max(self.rates.most[1])
    }

    /// BDPMultiple: `gain` percent of what the path holds at `rate`.
    pub(super) fn product(&self, rate: u64, gain: u64) -> u32 {
        if self.least.rtt == NONE {
            return self.initial;
        }
        let bytes = u128::from(rate) * u128::from(self.least.rtt) / 1_000_000;
        (bytes * u128::from(gain) / 100).min(NONE.into()) as u32
    }

    /// QuantizationBudget
    fn budget(&self, volume: u32) -> u32 {
        let quanta = self.pacer.quantum().min(super::QUANTUM).saturating_mul(3);
        let volume = volume.max(quanta).max(LEAST * self.mss);
        if self.phase == Phase::Up { volume.saturating_add(2 * self.mss) } else { volume }
    }

    /// Inflight(rate, 1.0)
    pub(super) fn inflight(&self, rate: u64) -> u32 {
        self.budget(self.product(rate, 100))
    }

    /// UpdateMaxInflight
    pub(super) fn max_inflight(&self) -> u32 {
        let lumps = self.lumps.most[0].max(self.lumps.most[1]);
        let volume = self.product(self.rates.now, self.phase.window_gain());
        self.budget(volume.saturating_add(lumps))
    }

    /// TargetInflight
    pub(super) fn target(&self) -> u32 {
        self.product(self.rates.now, 100).min(self.window)
    }

    /// InflightWithHeadroom
    pub(super) fn with_headroom(&self) -> u32 {
        let long = self.volumes.long;
        if long == NONE {
            return NONE;
        }
        let room = part(long, HEADROOM).max(self.mss);
        long.saturating_sub(room).max(LEAST * self.mss)
    }

    /// StartRound
    pub(super) fn start_round(&mut self) {
        self.round_end = self.delivered;
    }

    /// UpdateLatestDeliverySignals
    pub(super) fn update_latest(&mut self, ack: &Ack<'_>) {
        self.losses.round_start = false;
        self.rates.latest = self.rates.latest.max(ack.rate);
        self.volumes.latest = self.volumes.latest.max(ack.path.span);
        let prior = self.delivered.saturating_sub(ack.path.span.into());
        if ack.path.span > 0 && prior >= self.losses.round_end {
            self.losses.round_end = self.delivered;
            self.losses.round_start = true;
        }
    }

    /// AdvanceLatestDeliverySignals
    pub(super) fn advance_latest(&mut self, ack: &Ack<'_>) {
        if self.losses.round_start {
            (self.rates.latest, self.volumes.latest) = (ack.rate, ack.path.span);
        }
    }

    /// ResetCongestionSignals
    pub(super) fn reset_signals(&mut self) {
        self.losses.any = false;
        (self.rates.latest, self.volumes.latest) = (0, 0);
    }

    /// ResetShortTermModel
    pub(super) fn reset_short(&mut self) {
        (self.rates.short, self.volumes.short) = (NO_RATE, NONE);
    }

    /// UpdateCongestionSignals: UpdateMaxBw, and once a round trip what losses mean.
    pub(super) fn update_congestion(&mut self, ack: &Ack<'_>) {
        let prior = self.delivered.saturating_sub(ack.path.span.into());
        self.round_start = ack.path.span > 0 && prior >= self.round_end;
        if self.round_start {
            self.start_round();
            self.rounds = self.rounds.wrapping_add(1);
            self.cycle.rounds = self.cycle.rounds.saturating_add(1);
        }
        if ack.rate > 0 && (ack.rate >= self.most_rate() || !ack.path.app_limited) {
            self.rates.most[1] = self.rates.most[1].max(ack.rate);
        }
        if ack.rate > 0 && !ack.path.app_limited {
            self.cycle.measured |= self.cycle.acks == Acks::Feedback;
        }
        if self.losses.round_start {
            let since = self.rounds.wrapping_sub(self.cycle.quiet_from);
            let quiet = matches!(self.phase, Phase::Drain | Phase::Rtt) || since <= QUIET_ROUNDS;
            if self.losses.any && !self.phase.probes() && !quiet {
                self.lower_bounds();
            }
            self.losses.any = false;
            self.rates.left = [self.rates.left[1], NO_RATE];
        }
        self.rates.left[1] = self.rates.left[1].min(self.leaving());
    }

    /// The rate at which data is to leave, as the pacer and the window have it.
    fn leaving(&self) -> u64 {
        let paced = Some(self.pacer.rate()).filter(|rate| *rate > 0).unwrap_or(NO_RATE);
        if self.least.rtt == NONE {
            return paced;
        }
        paced.min(u64::from(self.window) * 1_000_000 / u64::from(self.least.rtt))
    }

    /// AdaptLowerBoundsFromCongestion
    fn lower_bounds(&mut self) {
        if self.rates.short == NO_RATE {
            self.rates.short = self.most_rate();
        }
        if self.volumes.short == NONE {
            self.volumes.short = self.window;
        }
        let left = self.rates.left[0].min(self.rates.left[1]);
        let spare = u64::from(self.mss * SPARE);
        // The same in each round trip, bytes a second.
        let each = match self.least.rtt {
            NONE => 0,
            rtt => spare * 1_000_000 / u64::from(rtt),
        };
        self.rates.short = lowered(self.rates.short, self.rates.latest, left, each);
        let left = if left == NO_RATE { NONE } else { self.product(left, 100) };
        let (short, latest) = (self.volumes.short.into(), self.volumes.latest.into());
        let volume = lowered(short, latest, left.into(), spare);
        self.volumes.short = volume.min(NONE.into()) as u32;
    }

    /// AdvanceMaxBwFilter; not before there is something in it.
    pub(super) fn advance_filter(&mut self) {
        if self.rates.most[1] > 0 {
            self.rates.most = [self.rates.most[1], 0];
        }
    }

    /// UpdateACKAggregation
    pub(super) fn update_lumps(&mut self, ack: &Ack<'_>) {
        let lumps = &mut self.lumps;
        if self.round_start {
            lumps.rounds += 1;
            if lumps.rounds >= if self.full.reached { LUMP_ROUNDS } else { 1 } {
                (lumps.rounds, lumps.most) = (0, [lumps.most[1], 0]);
            }
        }
        let micros = u128::from(self.now.micros_since(lumps.from));
        let expected = u128::from(self.rates.now) * micros / 1_000_000;
        let mut expected = expected.min(u64::MAX.into()) as u64;
        if lumps.delivered <= expected {
            (lumps.delivered, lumps.from, expected) = (0, self.now, 0);
        }
        lumps.delivered += u64::from(ack.sample.delivered);
        let extra = (lumps.delivered - expected).min(self.window.into()) as u32;
        lumps.most[1] = lumps.most[1].max(extra);
    }

    /// ResetFullBW, with `rate` as the new base.
    pub(super) fn reset_full(&mut self, rate: u64) {
        (self.full.rate, self.full.count, self.full.now) = (rate, 0, false);
    }

    /// CheckFullBWReached
    pub(super) fn check_full(&mut self, ack: &Ack<'_>) {
        if self.full.now || !self.round_start || ack.path.app_limited || ack.rate == 0 {
            return;
        }
        let base = u128::from(self.full.rate) * u128::from(FULL_GROWTH) / 100;
        if u128::from(ack.rate) >= base {
            return self.reset_full(ack.rate);
        }
        self.full.count += 1;
        self.full.now = self.full.count >= FULL_ROUNDS;
        self.full.reached |= self.full.now;
    }

    /// UpdateMinRTT
    pub(super) fn update_least_rtt(&mut self, ack: &Ack<'_>) {
        let (now, least) = (self.now, &mut self.least);
        least.expired = now > least.recent_at + PROBE_RTT_EVERY;
        match ack.sample.rtt {
            Some(rtt) if rtt < least.recent || least.expired => {
                (least.recent, least.recent_at) = (rtt.max(1), now);
            }
            Some(rtt) if now <= least.sure_until && is_near(rtt, least.recent) => {
                least.recent_at = now;
            }
            _ => {}
        }
        if least.recent < least.rtt || now > least.at + RTT_LIFE {
            (least.rtt, least.at) = (least.recent, least.recent_at);
        }
    }

    /// IsInflightTooHigh: of `in_flight` bytes so many were lost. [`SPARE`] segments more than the
    /// draft has it may be.
    pub(super) fn is_too_much(&self, lost: u32, in_flight: u32, sack: bool) -> bool {
        let beyond = lost.saturating_sub(self.mss * SPARE);
        u64::from(beyond) * 100 > u64::from(in_flight) * LOSSES || (lost > 0 && !sack)
    }

    /// HandleLostPacket
    pub(super) fn on_lost(&mut self, lost: &Lost) {
        (self.now, self.delivered) = (lost.now, lost.delivered);
        self.note_loss();
        self.losses.told = true;
        if self.cycle.sample && self.is_too_much(lost.since, lost.sent_in_flight, true) {
            self.too_high(in_flight_at_loss(lost), lost.app_limited);
        }
    }

    /// NoteLoss
    pub(super) fn note_loss(&mut self) {
        if !self.losses.any {
            self.losses.round_end = self.delivered;
            self.save_upon_loss();
        }
        self.losses.any = true;
    }

    /// All of `flight` is lost.
    pub(super) fn lost_too_much(&mut self, flight: u32) {
        self.note_loss();
        if self.cycle.sample {
            self.too_high(flight, false);
        }
    }

    /// Queues have marked what was in flight (RFC 3168 6.1.2: as if it were lost).
    pub(super) fn marked(&mut self, flight: u32) {
        self.save_window();
        if self.phase == Phase::Startup {
            self.note_loss();
            self.leave_startup();
        } else {
            self.lost_too_much(flight);
        }
    }

    /// HandleInflightTooHigh
    pub(super) fn too_high(&mut self, volume: u32, app_limited: bool) {
        self.cycle.too_high = true;
        self.cycle.sample = false;
        if !app_limited {
            self.volumes.long = volume.max(part(self.target(), BETA)).max(1);
        }
        if self.phase == Phase::Up {
            self.undo.phase = Some(Phase::Up);
            self.start_down();
        }
    }

    /// SaveStateUponLoss, but for the window.
    pub(super) fn save_upon_loss(&mut self) {
        self.undo.phase = None;
        self.undo.rate = self.rates.short;
        (self.undo.short, self.undo.long) = (self.volumes.short, self.volumes.long);
    }

    /// HandleSpuriousLossDetection
    pub(super) fn undo_loss(&mut self) {
        self.restore_window();
        self.losses.any = false;
        self.losses.recovering = false;
        self.reset_full(0);
        self.rates.short = self.rates.short.max(self.undo.rate);
        self.volumes.short = self.volumes.short.max(self.undo.short);
        self.volumes.long = self.volumes.long.max(self.undo.long);
        match self.undo.phase.take() {
            Some(Phase::Startup) if self.phase != Phase::Startup => {
                self.full.reached = false;
                if self.phase != Phase::Rtt {
                    self.phase = Phase::Startup;
                }
            }
            Some(Phase::Up) if !matches!(self.phase, Phase::Up | Phase::Rtt) => {
                self.start_refill();
            }
            _ => {}
        }
    }
}

/// InflightAtLoss: how much was in flight when losses came to be too many. That may have
/// been within what was sent at once.
fn in_flight_at_loss(lost: &Lost) -> u32 {
    let before = u64::from(lost.sent_in_flight.saturating_sub(lost.bytes));
    let lost_before = u64::from(lost.since.saturating_sub(lost.bytes));
    let most = (before * LOSSES).saturating_sub(lost_before * 100) / (100 - LOSSES);
    (before + most).min(NONE.into()) as u32
}
