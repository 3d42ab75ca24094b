//! [`PeerCounts`]: what simulated peers have done, and what they may do.

use platform::atomic::{AtomicU8, AtomicU64, Ordering};

/// What peers did, over all queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets with data from the stack; one that stands for several segments
    /// counts as so many.
    pub packets_received: u64,
    /// Bytes of payload from the stack, in order.
    pub bytes_received: u64,
    /// Packets with data to the stack, repeated ones included.
    pub packets_sent: u64,
    /// Bytes of payload to the stack, repeated ones included.
    pub bytes_sent: u64,
    /// Bytes of them that the stack has acknowledged.
    pub bytes_acked: u64,
    /// Segments without data to the stack that only acknowledge.
    pub acks_sent: u64,
    /// Connections established, opened by either side.
    pub established: u64,
    /// Connections closed in order.
    pub closed: u64,
    /// Connections that the stack has reset, or refused.
    pub reset: u64,
    /// Frames that made no sense to the peers.
    pub ignored: u64,
    /// Short-lived connections that were begun.
    pub short_opened: u64,
    /// Short-lived connections that both sides have closed.
    pub short_closed: u64,
    /// Messages that the stack has sent back whole.
    pub transactions: u64,
}

/// How many counters there are.
const COUNTERS: usize = 13;

impl Totals {
    fn fields(&mut self) -> [&mut u64; COUNTERS] {
        [
            &mut self.packets_received,
            &mut self.bytes_received,
            &mut self.packets_sent,
            &mut self.bytes_sent,
            &mut self.bytes_acked,
            &mut self.acks_sent,
            &mut self.established,
            &mut self.closed,
            &mut self.reset,
            &mut self.ignored,
            &mut self.short_opened,
            &mut self.short_closed,
            &mut self.transactions,
        ]
    }
}

/// The counters of one queue's peer, on cache lines of their own.
#[repr(align(128))]
#[derive(Debug, Default)]
struct Shard([AtomicU64; COUNTERS]);

/// What peers have done so far; brought up to date once a batch.
#[derive(Debug)]
pub struct PeerCounts {
    shards: Box<[Shard]>,
    phase: AtomicU8,
}

/// Peers that are held ([`Config::held`](crate::Config::held)) begin nothing.
pub(crate) const HELD: u8 = 0;
/// They open connections.
pub(crate) const OPENING: u8 = 1;
/// They do all.
pub(crate) const GOING: u8 = 2;

impl PeerCounts {
    /// Counters at 0, of peers that are held or not.
    pub(crate) fn new(queues: usize, held: bool) -> PeerCounts {
        PeerCounts {
            shards: (0..queues).map(|_| Shard::default()).collect(),
            phase: AtomicU8::new(if held { HELD } else { GOING }),
        }
    }

    /// The sums over all queues.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for Shard(counters) in &self.shards {
            for (total, counter) in totals.fields().into_iter().zip(counters) {
                *total += counter.load(Ordering::Relaxed);
            }
        }
        totals
    }

    /// Lets peers that were held ([`Config::held`](crate::Config::held)) open connections.
    pub fn begin(&self) {
        self.phase.fetch_max(OPENING, Ordering::Release);
    }

    /// Lets peers that were held do all that they do.
    pub fn go(&self) {
        self.phase.store(GOING, Ordering::Release);
    }

    /// What peers may do now.
    pub(crate) fn phase(&self) -> u8 {
        self.phase.load(Ordering::Acquire)
    }

    /// Adds `batch` to a queue's counters, and zeroes it.
    pub(crate) fn add(&self, queue: usize, batch: &mut Totals) {
        for (value, counter) in batch.fields().into_iter().zip(&self.shards[queue].0) {
            if *value != 0 {
                counter.fetch_add(std::mem::take(value), Ordering::Relaxed);
            }
        }
    }
}
