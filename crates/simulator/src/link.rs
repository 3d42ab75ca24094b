//! A link in one direction: a queue, a rate, a delay, and mishaps.

use platform::SplitMix64;
use std::time::Duration;
use wire::{Instant, Packet, checksum, ipv4};

/// What a link does with the frames it is given. The default does nothing but pass on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkConfig {
    /// Bits a second; 0: any number.
    pub rate: u64,
    /// Bytes that wait for their turn. What does not fit is dropped. 0: any number.
    pub queue: usize,
    /// Mark what may be marked, once more bytes than these wait (RFC 3168 5); 0: never.
    pub mark_above: usize,
    /// From the end of transmission to arrival.
    pub delay: Duration,
    /// Part of the frames that are lost, beside what the queue drops.
    pub loss: f64,
    /// Part of the frames that arrive twice.
    pub duplicate: f64,
    /// Part of the frames that take longer, and so arrive behind others.
    pub reorder: f64,
    /// Up to how much longer, evenly.
    pub jitter: Duration,
}

/// What a link has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames that it was given.
    pub offered: u64,
    /// Bytes that it has passed on, copies not counted.
    pub bytes: u64,
    /// Frames lost by chance.
    pub lost: u64,
    /// Frames that the queue had no room for.
    pub dropped: u64,
    /// Frames marked.
    pub marked: u64,
    /// Frames that arrived twice.
    pub duplicated: u64,
    /// Frames held up.
    pub delayed: u64,
}

/// A link in one direction.
#[derive(Debug)]
pub struct Link {
    config: LinkConfig,
    counts: Counts,
    /// When all that waits has been transmitted. Since the queue is first in, first out, it
    /// says how long the queue is.
    idle_at: Instant,
}

/// The bits of an IPv4 header's second byte that say ECT(0), ECT(1) or CE, and CE.
const ECN: u8 = ipv4::ECN;

impl Link {
    /// An idle link.
    pub fn new(config: LinkConfig) -> Link {
        Link { config, counts: Counts::default(), idle_at: Instant::ZERO }
    }

    /// What it has done.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// What it does from now on. What is on its way already arrives as it would have.
    pub fn set(&mut self, config: LinkConfig) {
        self.config = config;
    }

    /// Bytes that wait at `now`.
    pub fn waiting(&self, now: Instant) -> usize {
        let nanos = self.idle_at.since(now).as_nanos();
        (nanos * u128::from(self.config.rate) / 8_000_000_000) as usize
    }

    /// Takes a frame at `now`, which is never earlier than the last time. `arrives` is told
    /// what arrives when.
    pub fn offer(
        &mut self,
        mut frame: Packet,
        now: Instant,
        random: &mut SplitMix64,
        mut arrives: impl FnMut(Instant, Packet),
    ) {
        let LinkConfig { rate, queue, mark_above, delay, .. } = self.config;
        self.counts.offered += 1;
        let waiting = self.waiting(now);
        if queue > 0 && waiting + frame.len() > queue {
            self.counts.dropped += 1;
            return;
        }
        if mark_above > 0 && waiting > mark_above && mark(&mut frame) {
            self.counts.marked += 1;
        }
        if rate > 0 {
            let bits = frame.len() as u64 * 8;
            let time = Duration::from_nanos((bits * 1_000_000_000).div_ceil(rate));
            self.idle_at = self.idle_at.max(now) + time;
        }
        if chance(random, self.config.loss) {
            self.counts.lost += 1;
            return;
        }
        self.counts.bytes += frame.len() as u64;
        let at = self.idle_at.max(now) + delay;
        if chance(random, self.config.duplicate) {
            self.counts.duplicated += 1;
            arrives(at + self.held_up(random), frame.clone());
        }
        arrives(at + self.held_up(random), frame);
    }

    /// How much longer a frame takes.
    fn held_up(&mut self, random: &mut SplitMix64) -> Duration {
        if !chance(random, self.config.reorder) {
            return Duration::ZERO;
        }
        self.counts.delayed += 1;
        self.config.jitter.mul_f64(random.fraction())
    }
}

/// Does what happens in this part of cases happen now? Asks for no chance where there is none.
fn chance(random: &mut SplitMix64, part: f64) -> bool {
    part > 0.0 && random.fraction() < part
}

/// Marks a datagram of IPv4 whose sender listens to marks; `false` if it does not.
fn mark(frame: &mut Packet) -> bool {
    let head = frame.head_mut();
    let len = head.first().map_or(0, |first| usize::from(first & 0x0f) * 4);
    if head.len() < len || len < ipv4::LEN || head[0] >> 4 != 4 || head[1] & ECN == 0 {
        return false;
    }
    head[1] |= ipv4::CE;
    head[10..12].fill(0);
    let sum = !checksum::sum(&head[..len]);
    head[10..12].copy_from_slice(&sum.to_be_bytes());
    true
}
