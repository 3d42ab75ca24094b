//! A connection that lives long: sequence numbers wrap several times each way,
//! and what is remembered of old ones must not decide about new ones.

extern crate anabranch_tcp as tcp;

use buffer::Slice;
use std::sync::Arc;
use std::time::Duration;
use tcp::*;
use wire::{Instant, Seq};

const GIB: u64 = 1 << 30;
const MSS: u32 = 1460;
/// What the device takes at once: 44 segments.
const LIMITS: TransmitOffload = TransmitOffload { segmentation: 64 * 1024, want_sum: false };

struct Pair {
    ends: [Tcb; 2],
    /// Bytes that each end has been given.
    got: [u64; 2],
    now: Instant,
    block: Slice,
}

impl Pair {
    fn new(config: Config) -> Pair {
        let config = Arc::new(config);
        let now = Instant::from_millis(1);
        let isn = |n| Isn { seq: Seq(n), timestamp_offset: n };
        let mut a = Tcb::connect(&config, isn(0xffff_0000), MSS as u16, now);
        let syn = a.poll_transmit(now, LIMITS).expect("a SYN").header;
        let b = Tcb::accept(&config, isn(0x7fff_0000), MSS as u16, &syn, now);
        let block = Slice::copy_of(&vec![7; 44 * MSS as usize]);
        let mut pair = Pair { ends: [a, b], got: [0; 2], now, block };
        pair.settle();
        pair
    }

    /// What `from` has to say, as it would leave.
    fn out(&mut self, from: usize) -> Vec<Outgoing> {
        let end = &mut self.ends[from];
        std::iter::from_fn(|| end.poll_transmit(self.now, LIMITS)).collect()
    }

    /// Half a millisecond later, what `from` said arrives. Returns whether it said
    /// anything.
    fn carry(&mut self, from: usize) -> bool {
        let out = self.out(from);
        self.now += Duration::from_micros(500);
        let any = !out.is_empty();
        for o in out {
            self.ends[1 - from].input(&o.header, o.payload, self.now);
        }
        any
    }

    fn settle(&mut self) {
        while self.carry(0) | self.carry(1) {}
    }

    fn read(&mut self, who: usize) {
        while let Some(slice) = self.ends[who].pop_slice(usize::MAX) {
            self.got[who] += slice.len() as u64;
        }
    }

    /// Moves `bytes` from `from` to the other end, which reads at once.
    fn stream(&mut self, from: usize, bytes: u64) {
        let target = self.got[1 - from] + bytes;
        let mut rounds = 0;
        while self.got[1 - from] < target {
            while self.ends[from].queued() < 16 * self.block.len() {
                self.ends[from].send_slice(self.block.clone(), None).expect("room");
            }
            self.carry(from);
            self.read(1 - from);
            self.carry(1 - from);
            rounds += 1;
            assert!(rounds < 2_000_000, "it stands still at {:?}", self.got);
        }
        while self.ends[from].queued() > 0 {
            self.carry(from);
            self.read(1 - from);
            self.carry(1 - from);
            self.timeouts();
        }
        self.settle();
    }

    fn timeouts(&mut self) {
        for end in &mut self.ends {
            end.on_timeout(self.now);
        }
    }

    /// A reader that pauses closes the window; when it goes on, so does the rest.
    fn pause_and_go_on(&mut self, from: usize) {
        // More than the receive buffer grows to.
        let all = 9 * (1 << 20);
        for _ in 0..all / self.block.len() {
            self.ends[from].send_slice(self.block.clone(), None).expect("room");
        }
        for _ in 0..200 {
            self.settle();
        }
        assert!(self.ends[from].queued() > 1 << 20, "the window closed");
        for _ in 0..200 {
            self.read(1 - from);
            self.settle();
        }
        assert_eq!(self.ends[from].queued(), 0, "the window opened");
    }

    /// Loses one segment of nine; the duplicate acknowledgments repair that.
    fn lose_one(&mut self, from: usize) {
        let before = self.ends[from].info();
        self.ends[from].set_nagle(false);
        let mut all = Vec::new();
        for _ in 0..9 {
            self.ends[from].send(&[1; MSS as usize]).expect("room");
            all.extend(self.out(from));
        }
        assert_eq!(all.len(), 9);
        for o in all.drain(1..) {
            self.ends[1 - from].input(&o.header, o.payload, self.now);
        }
        self.settle();
        let after = self.ends[from].info();
        assert_eq!(after.retransmits, before.retransmits + 1, "{after:?}");
        assert_eq!(self.ends[from].queued(), 0);
        self.read(1 - from);
        self.settle();
        self.ends[from].set_nagle(true);
    }

    /// A small segment goes out at once when nothing is under way.
    fn tail(&mut self, from: usize) {
        self.ends[from].send(b"tail").expect("room");
        let out = self.out(from);
        assert_eq!(out.len(), 1, "after {:?}", self.got);
        for o in out {
            self.ends[1 - from].input(&o.header, o.payload, self.now);
        }
        // Its acknowledgment is delayed.
        self.now += Duration::from_millis(50);
        self.timeouts();
        self.read(1 - from);
        self.settle();
        assert_eq!(self.ends[from].queued(), 0);
    }
}

/// 9 GiB each way, the ways in turn: what stands at one end while the other
/// sends must not grow old.
fn nine_gib_each_way(config: Config) {
    let config = config.with_receive_buffer(1 << 20);
    let mut pair = Pair::new(config);
    for step in 0..4 {
        for from in [0, 1] {
            // More than half of the sequence space each time.
            pair.stream(from, 2 * GIB + GIB / 4);
            pair.tail(from);
            pair.lose_one(from);
            pair.pause_and_go_on(1 - from);
            pair.lose_one(1 - from);
            assert!(pair.got[1 - from] >= (step + 1) * (2 * GIB + GIB / 4));
        }
    }
    assert!(pair.got.iter().all(|n| *n >= 9 * GIB), "{:?}", pair.got);
}

#[test]
fn nine_gib_each_way_without_options() {
    nine_gib_each_way(Config::default().with_timestamps(false).with_sack(false));
}

#[test]
fn nine_gib_each_way_with_all_options() {
    nine_gib_each_way(Config::default());
}
