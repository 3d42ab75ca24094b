//! Segments of one byte: what nobody reads holds no more memory than it may.

use std::sync::Arc;
use tcp::{Config, Isn, Tcb, TransmitOffload};
use wire::tcp::{Flags, Header, Options};
use wire::{Instant, Parts, Seq, Slice};

/// What CI has time for; and all that a connection's buffer may grow to by default.
const BUFFER: u32 = 128 * 1024;
const WHOLE: u32 = 6 << 20;

fn header(flags: Flags, seq: u32, ack: u32) -> Header {
    Header {
        source_port: 0,
        destination_port: 0,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 60_000,
        urgent: 0,
        options: Options {
            mss: flags.syn().then_some(1460),
            window_scale: flags.syn().then_some(7),
            sack_permitted: flags.syn(),
            ..Options::NONE
        },
    }
}

/// A byte in a block for a frame, as a device hands it up.
fn byte() -> Parts {
    let mut block = buffer::Buf::with_capacity(2048);
    block.get_mut().expect("it is ours").fill(7);
    [Slice::new(block, 54, 1)].into_iter().collect()
}

/// A connection that takes `order` of bytes behind the SYN, a segment each, and is never read.
/// Returns the most memory that it held.
fn most_held(buffer: u32, order: impl Iterator<Item = u32>) -> usize {
    let config = Config::default().with_receive_buffer(buffer as usize).with_timestamps(false);
    let now = Instant::from_millis(1000);
    let isn = Isn { seq: Seq(0), timestamp_offset: 0 };
    let syn = header(Flags::SYN, 0, 0);
    let mut tcb = Tcb::accept(&Arc::new(config), isn, 1460, &syn, now);
    let offload = TransmitOffload::default();
    while tcb.poll_transmit(now, offload).is_some() {}
    tcb.input(&header(Flags::ACK, 1, 1), Parts::new(), now);
    let (empty, mut most) = (tcb.memory(), 0);
    for (n, at) in order.enumerate() {
        tcb.input(&header(Flags::ACK, 1 + at, 1), byte(), now);
        while tcb.poll_transmit(now, offload).is_some() {}
        if n % 64 == 0 {
            most = most.max(tcb.memory() - empty);
        }
    }
    most.max(tcb.memory() - empty)
}

/// A whole window of 6 MiB where tests are optimized (`cargo test --release`), for that takes ten seconds.
#[test]
fn bytes_one_by_one_hold_what_the_buffer_allows() {
    let buffer = if cfg!(debug_assertions) { BUFFER } else { WHOLE };
    let bound = 2 * buffer as usize + 64 * 1024;
    // Each other byte first, from the end to the beginning, and all holes but the first.
    let spread = |n: u32| n.wrapping_mul(0x9e37) % buffer;
    for (name, held) in [
        ("in order", most_held(buffer, 0..buffer)),
        ("behind a hole", most_held(buffer, 1..buffer)),
        ("each other one", most_held(buffer, (0..buffer / 2).map(|n| 2 * n + 1))),
        ("backwards", most_held(buffer, (1..buffer).rev())),
        ("spread", most_held(buffer, (0..buffer).map(spread).filter(|at| *at > 0))),
        (
            "holes, then what fills them",
            most_held(buffer, (0..buffer / 2).map(|n| 2 * n + 1).chain(0..buffer)),
        ),
    ] {
        assert!(held <= bound, "{name}: {held} of {bound} bytes");
        assert!(held > 0, "{name}: nothing was kept");
    }
}
