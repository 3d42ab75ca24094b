//! RACK (RFC 8985): what was sent before something that was delivered, and has had
//! time enough to be delivered too, is lost.

use super::DUP_THRESHOLD;
use super::rate::Newest;
use super::scoreboard::Front;
use wire::time::Duration;
use wire::{Instant, Seq};

/// Recoveries without a D-SACK after which the reordering window is small again.
const PERSIST: u8 = 16;

/// The state of RACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rack {
    /// RACK.xmit_ts
    sent: Instant,
    /// RACK.end_seq
    end: Seq,
    /// RACK.rtt, microseconds
    rtt: u32,
    /// RACK.dsack_round: D-SACKs count again when this is acknowledged, if one has counted.
    round: Seq,
    /// See `round`.
    counted: bool,
    /// RACK.reo_wnd_mult
    steps: u8,
    /// RACK.reo_wnd_persist
    persist: u8,
    /// RACK.reordering_seen
    pub reordered: bool,
}

impl Rack {
    pub(crate) fn new(iss: Seq) -> Rack {
        Rack {
            sent: Instant::ZERO,
            end: iss,
            rtt: 0,
            round: iss,
            counted: false,
            steps: 1,
            persist: PERSIST,
            reordered: false,
        }
    }

    /// RFC 8985 6.2 step 2: `newest` was delivered.
    #[inline]
    pub(crate) fn on_news(&mut self, newest: &Newest, now: Instant) {
        // RFC 8985 6.2/2
        self.rtt = now.micros_since(newest.sent).min(u32::MAX.into()) as u32;
        if newest.sent > self.sent || (newest.sent == self.sent && newest.end.after(self.end)) {
            (self.sent, self.end) = (newest.sent, newest.end);
        }
    }

    /// Something that others had overtaken is there, `took` microseconds after it was sent.
    #[cold]
    pub(crate) fn on_late(&mut self, took: u32, late: &mut Lateness) {
        // RFC 8985 6.2/3
        self.reordered = true;
        late.note(took.saturating_sub(self.rtt));
    }

    /// A D-SACK came: what was sent again was not lost. The window grows, once in a
    /// round trip.
    pub(crate) fn on_dsack(&mut self, una: Seq, nxt: Seq) {
        // RFC 8985 6.2/6
        if !self.counted || una.after_or_at(self.round) {
            (self.round, self.counted) = (nxt, true);
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSIST;
        }
    }

    /// SND.UNA is `una` now.
    #[inline]
    pub(crate) fn forget_round(&mut self, una: Seq) {
        self.counted &= una.before(self.round);
    }

    /// A recovery is over.
    pub(crate) fn on_recovered(&mut self, late: &mut Lateness) {
        // RFC 8985 6.2/6
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            (self.steps, self.persist) = (1, PERSIST);
            late.forget();
        }
    }

    /// RACK.reo_wnd (RFC 8985 6.2 step 4), with `sacked` segments SACKed. `least` and
    /// `srtt` are round-trip times in microseconds.
    pub(crate) fn window(
        &self,
        (recovering, sacked): (bool, u32),
        (least, srtt): (u32, u32),
        late: Lateness,
    ) -> Duration {
        // RFC 8985 6.2/4, 6.2/5, 6.2/7
        // RFC 6675 3/2
        if !self.reordered && (recovering || sacked >= DUP_THRESHOLD) {
            return Duration::ZERO;
        }
        let window = u64::from(least) * u64::from(self.steps) / 4;
        // What the network has shown to be possible, and some more: no D-SACK need teach it.
        let late = late.most();
        Duration::from_micros(window.max(late + late / 4).min(srtt.into()))
    }

    /// What may be found lost now.
    pub(crate) fn front(&self, window: Duration) -> Front {
        let wait = Duration::from_micros(self.rtt.into()) + window;
        Front { sent: self.sent, end: self.end, wait }
    }
}

/// By how much the latest of what others had overtaken was later than they: since RACK's
/// window was small again last, and in the time before that.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Lateness([u16; 2]);

impl Lateness {
    /// Microseconds of a unit: four seconds are the most.
    const UNIT: u32 = 64;

    fn note(&mut self, micros: u32) {
        let units = micros.div_ceil(Lateness::UNIT).min(u16::MAX.into()) as u16;
        self.0[0] = self.0[0].max(units);
    }

    fn forget(&mut self) {
        self.0 = [0, self.0[0]];
    }

    /// Microseconds.
    fn most(self) -> u64 {
        u64::from(self.0[0].max(self.0[1])) * u64::from(Lateness::UNIT)
    }
}

#[cfg(test)]
mod tests;
