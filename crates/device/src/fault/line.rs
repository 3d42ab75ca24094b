//! [`Line`]: one direction of a bad link.

use super::{FaultCounts, Spec};
use crate::{Batch, Medium, segment};
use platform::atomic::{AtomicU64, Ordering};
use platform::{Instant, SplitMix64};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use wire::packet::ChecksumState;
use wire::{Packet, ethernet};

/// Packets that a line holds unless [`Spec::limit`] says it.
const LIMIT: u32 = 1000;
/// A packet is held back behind at most so many later ones.
const MOST_BEHIND: u64 = 8;
/// It is held back no longer than this.
const HOLD: Duration = Duration::from_millis(1);

struct Held {
    packet: Packet,
    /// How many more packets go first.
    behind: u64,
    until: Instant,
    /// Numbers for its way through the line.
    fraction: f64,
}

/// One direction of one queue.
pub(super) struct Line {
    spec: Spec,
    medium: Medium,
    random: SplitMix64,
    /// On the way, in order of the times at which they come out.
    flying: VecDeque<(Instant, Packet)>,
    held: Vec<Held>,
    /// When the bounded rate lets the next packet start.
    free_at: Option<Instant>,
    pub(super) faults: Arc<FaultCounts>,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

impl Line {
    pub(super) fn new(spec: &Spec, medium: Medium, seed: u64, faults: &Arc<FaultCounts>) -> Line {
        Line {
            spec: spec.clone(),
            medium,
            random: SplitMix64::new(seed),
            flying: VecDeque::new(),
            held: Vec::new(),
            free_at: None,
            faults: faults.clone(),
        }
    }

    /// A packet enters.
    pub(super) fn offer(&mut self, mut packet: Packet, now: Instant) {
        // Every packet has a sequence of its own, so that what one fault draws does
        // not change what happens to the packets behind.
        let mut random = SplitMix64::new(self.random.next_u64());
        let mut happens = |probability: f64| random.fraction() < probability;
        let lost = happens(self.spec.loss);
        let duplicated = happens(self.spec.duplicate);
        let corrupted = happens(self.spec.corrupt);
        let reordered = happens(self.spec.reorder);
        if lost {
            return count(&self.faults.lost);
        }
        let copy = duplicated.then(|| packet.clone());
        if corrupted && corrupt(&mut packet, self.medium, &mut random) {
            count(&self.faults.corrupted);
        }
        let fraction = random.fraction();
        if reordered {
            if self.is_full() {
                return;
            }
            count(&self.faults.reordered);
            let behind = 1 + random.below(MOST_BEHIND);
            // It starts to be passed by what comes from now on.
            self.held.push(Held { packet, behind: behind + 1, until: now + HOLD, fraction });
        } else {
            self.launch(packet, now, fraction);
        }
        self.let_pass(now);
        if let Some(copy) = copy {
            count(&self.faults.duplicated);
            self.launch(copy, now, random.fraction());
        }
    }

    fn is_full(&self) -> bool {
        let limit = self.spec.limit.unwrap_or(LIMIT) as usize;
        let full = self.flying.len() + self.held.len() >= limit;
        if full {
            count(&self.faults.overflowed);
        }
        full
    }

    /// One packet has passed those that are held back.
    fn let_pass(&mut self, now: Instant) {
        let mut index = 0;
        while let Some(held) = self.held.get_mut(index) {
            held.behind -= 1;
            if held.behind == 0 {
                let held = self.held.remove(index);
                self.launch(held.packet, now, held.fraction);
            } else {
                index += 1;
            }
        }
    }

    /// A packet starts on its way. `fraction` of 0 to 1 sets its jitter.
    fn launch(&mut self, packet: Packet, now: Instant, fraction: f64) {
        if self.is_full() {
            return;
        }
        let mut leaves = now;
        if let Some(rate) = self.spec.rate {
            leaves = self.free_at.map_or(now, |free_at| free_at.max(now));
            let bits = packet.len() as u64 * 8;
            leaves += Duration::from_nanos(bits.saturating_mul(1_000_000_000) / rate.max(1));
            self.free_at = Some(leaves);
        }
        let jitter = self.spec.jitter.mul_f64(2.0 * fraction);
        let arrives = leaves + (self.spec.delay + jitter).saturating_sub(self.spec.jitter);
        // Jitter alone does not reorder: that has a fault of its own.
        let arrives = self.flying.back().map_or(arrives, |(last, _)| arrives.max(*last));
        self.flying.push_back((arrives, packet));
    }

    /// Moves out what has arrived by `now`.
    pub(super) fn due(&mut self, now: Instant, into: &mut Batch) {
        while let Some(index) = self.held.iter().position(|held| held.until <= now) {
            let held = self.held.remove(index);
            self.launch(held.packet, now, held.fraction);
        }
        let mut passed = 0;
        while self.flying.front().is_some_and(|(at, _)| *at <= now) {
            into.extend(self.flying.pop_front().map(|(_, packet)| packet));
            passed += 1;
        }
        if passed > 0 {
            self.faults.passed.fetch_add(passed, Ordering::Relaxed);
        }
    }

    /// When [`Line::due`] will have something to do.
    pub(super) fn next(&self) -> Option<Instant> {
        let held = self.held.iter().map(|held| held.until);
        held.chain(self.flying.front().map(|(at, _)| *at)).min()
    }
}

/// Changes 1 to 8 bits of one byte of an IP datagram, on a copy, since others
/// may share the bytes. One byte's change never leaves an Internet checksum
/// right, so that receivers can see it. Other frames, and link headers, are left
/// alone: what the link's own check sum catches is a loss.
fn corrupt(packet: &mut Packet, medium: Medium, random: &mut SplitMix64) -> bool {
    let start = match (medium, ethernet::Header::parse(packet.front())) {
        (Medium::Ip, _) => 0,
        (_, Ok((header, len))) if header.ethertype == ethernet::ethertype::IPV4 => len,
        (_, Ok((header, len))) if header.ethertype == ethernet::ethertype::IPV6 => len,
        _ => return false,
    };
    // No sum covers all of the fixed header of IPv6.
    let is_v6 = packet.front().get(start).is_some_and(|first| first >> 4 == 6);
    let start = if is_v6 { start + wire::ipv6::LEN } else { start };
    if packet.len() <= start || segment::complete_checksum(packet).is_err() {
        return false;
    }
    let mut bytes = packet.to_vec();
    let at = start + random.below((bytes.len() - start) as u64) as usize;
    bytes[at] ^= 1 + random.below(255) as u8;
    let mut meta = *packet.meta();
    meta.checksum = ChecksumState::Complete;
    *packet = Packet::copy_of(&bytes);
    *packet.meta_mut() = meta;
    true
}
