//! What is known of a window that is larger than the initial one (RFC 7661 4.2, 4.5.1).

use super::Pacer;
use wire::Instant;
use wire::time::Duration;

/// pipeACK before there is a measurement.
const UNDEFINED: u32 = u32::MAX;

/// The state of congestion window validation.
#[derive(Debug)]
pub(crate) struct Validation {
    /// The most that a round trip has carried, in this half of the sampling period and in the
    /// one before, bytes.
    most: [u32; 2],
    /// When this half is over.
    until: Instant,
    /// When the window was last found valid, or reduced because it was not.
    pub at: Instant,
    /// What was in use when the loss was found that is being repaired, if the window was not
    /// valid then; else 0.
    pub used: u32,
    /// After a pause: the rate at which the window leaves, and until when.
    pub pacer: Pacer,
    /// See `pacer`.
    pub paced_until: Instant,
}

impl Validation {
    pub(crate) fn new(now: Instant) -> Box<Validation> {
        // RFC 7661 4.2/1
        Box::new(Validation {
            most: [UNDEFINED, 0],
            until: now,
            at: now,
            used: 0,
            pacer: Pacer::OFF,
            paced_until: now,
        })
    }

    /// pipeACK, bytes; more than any window before there is a measurement.
    pub(crate) fn pipe_ack(&self) -> u32 {
        self.most[0].max(self.most[1])
    }

    /// Nothing is known any more.
    pub(crate) fn forget(&mut self) {
        self.most = [UNDEFINED, 0];
    }

    /// What was measured longer ago than two `half` periods does not count.
    pub(crate) fn pass(&mut self, half: Duration, now: Instant) {
        if now >= self.until && self.most[0] != UNDEFINED {
            let before = if now < self.until + half { self.most[0] } else { 0 };
            (self.most, self.until) = ([0, before], now + half);
        }
    }

    /// A round trip has carried so much.
    pub(crate) fn sample(&mut self, delivered: u32, half: Duration, now: Instant) {
        // RFC 7661 4.5.1/1
        if self.most[0] == UNDEFINED {
            (self.most, self.until) = ([0; 2], now + half);
        }
        self.pass(half, now);
        self.most[0] = self.most[0].max(delivered);
    }
}
