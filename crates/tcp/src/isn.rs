//! Initial sequence numbers (RFC 6528) and timestamp offsets (RFC 7323 7.1).

use siphasher::sip::SipHasher24;
use std::hash::{Hash, Hasher};
use wire::time::Duration;
use wire::{FlowKey, Instant, Seq};

/// What a connection starts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isn {
    /// The initial send sequence number, ISS.
    pub seq: Seq,
    /// What is added to the millisecond clock of the connection's timestamps.
    pub timestamp_offset: u32,
}

/// Chooses the [`Isn`] of each connection.
#[derive(Clone)]
pub struct Generator {
    key: [u8; 16],
    /// Nanoseconds, modulo 2^64.
    epoch: u64,
}

impl Generator {
    /// A generator with a secret random `key`, whose clock reads `epoch` at
    /// [`Instant::ZERO`]: with the time of day there, the numbers go on
    /// increasing over a restart with the same key.
    pub fn new(key: [u8; 16], epoch: Duration) -> Generator {
        // RFC 9293 MUST-9
        Generator { key, epoch: epoch.as_nanos() as u64 }
    }

    /// ISN = M + F(flow, key), where M ticks every 4 µs and F is SipHash-2-4
    /// (RFC 6528 3).
    pub fn isn(&self, flow: &FlowKey, now: Instant) -> Isn {
        // RFC 9293 MUST-8, SHLD-1
        // RFC 7323 7.1/1
        let mut hasher = SipHasher24::new_with_key(&self.key);
        flow.hash(&mut hasher);
        let f = hasher.finish();
        let ticks = self.epoch.wrapping_add(now.as_nanos()) / 4000;
        Isn { seq: Seq(f as u32) + ticks as u32, timestamp_offset: (f >> 32) as u32 }
    }
}

impl std::fmt::Debug for Generator {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generator").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
