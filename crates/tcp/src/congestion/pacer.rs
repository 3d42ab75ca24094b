//! Pacing: data leaves at a rate rather than as soon as the window lets it go.
//!
//! What was sent has a time at which the last of it would have left at that rate. Until
//! then nothing more leaves. The time does not lag behind for more than a burst, so that a
//! sender that had nothing to send for a while, or no window, does not make up for it at once. What
//! a timer that came late has cost is made up for.

use wire::Instant;
use wire::time::Duration;

/// The longest that a timer may be late and be made up for, and how soon that has to be: the wheel that
/// timers stand in has ticks of a millisecond. A window that opens after as long overflows a queue
/// of two milliseconds.
const LATE: Duration = Duration::from_millis(2);

/// The state of it.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    /// Bytes a second; 0: as fast as the window lets them go.
    rate: u64,
    /// Most bytes that leave at once.
    quantum: u32,
    /// So many bytes leave as fast as the window lets them go, if little was sent before.
    credit: u32,
    /// When what was sent has left at this rate.
    next: Instant,
    /// Nothing leaves before that.
    held: bool,
    /// When what was held back was let go of last, and by how much that was too late.
    released: Instant,
    late: Duration,
}

impl Pacer {
    /// Nothing is held back.
    pub(crate) const OFF: Pacer = Pacer {
        rate: 0,
        quantum: u32::MAX,
        credit: 0,
        next: Instant::ZERO,
        held: false,
        released: Instant::ZERO,
        late: Duration::ZERO,
    };

    /// `rate` bytes a second from now on, at most `quantum` at once.
    pub(crate) fn set(&mut self, rate: u64, quantum: u32) {
        (self.rate, self.quantum) = (rate.max(1), quantum);
    }

    /// A sender that has sent little may send so many bytes without being held back.
    pub(crate) fn set_credit(&mut self, credit: u32) {
        self.credit = credit;
    }

    /// Bytes a second; 0: there is no bound.
    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    /// Most bytes that leave at once.
    pub(crate) fn quantum(&self) -> u32 {
        self.quantum
    }

    /// How long `len` bytes take.
    fn takes(&self, len: u32) -> Duration {
        let nanos = u128::from(len) * 1_000_000_000 / u128::from(self.rate);
        Duration::from_nanos(nanos.min(u64::MAX.into()) as u64)
    }

    /// `len` bytes leave.
    pub(crate) fn on_sent(&mut self, len: u32, now: Instant) {
        if self.rate == 0 {
            return;
        }
        let burst = self.takes(self.quantum.max(self.credit));
        let lag = if now.since(self.released) <= LATE { burst.max(self.late) } else { burst };
        self.next = self.next.max(now - lag) + self.takes(len);
        self.held = self.next > now;
    }

    /// Must data wait?
    pub(crate) fn is_held(&self) -> bool {
        self.held
    }

    /// Until when, if it must.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.held.then_some(self.next)
    }

    /// Lets go of what has waited for long enough. Returns whether it did.
    pub(crate) fn release(&mut self, now: Instant) -> bool {
        let due = self.held && now >= self.next;
        if due {
            self.held = false;
            (self.released, self.late) = (now, now.since(self.next).min(LATE));
        }
        due
    }
}

#[cfg(test)]
mod tests;
