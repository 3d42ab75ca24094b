//! What the worst acknowledgments cost: 6 MiB in flight in segments of 36 bytes of
//! payload (a peer that announces an MSS of 48, with time stamps), and a peer that
//! SACKs every second segment, in any order, three at a time. Microseconds an
//! acknowledgment, with what is sent in answer: the median, and the worst.

extern crate anabranch_tcp as tcp;

use std::sync::Arc;
use std::time::{Duration, Instant as Clock};
use tcp::*;
use wire::tcp::{Flags, Header, Options, SackBlocks};
use wire::{Instant, Seq};

const FLIGHT: u32 = 6 << 20;
const SEGMENT: u32 = 36;

fn header(seq: u32, ack: Seq, flags: Flags) -> Header {
    Header {
        source_port: 1,
        destination_port: 2,
        seq: Seq(seq),
        ack,
        flags,
        window: u16::MAX,
        urgent: 0,
        options: Options { timestamps: Some((1, 1)), ..Options::NONE },
    }
}

/// A sender with all of it in flight, and its first sequence number.
fn sender(segmentation: usize, now: Instant) -> (Tcb, Seq) {
    let config = Config::default()
        .with_send_buffer(8 << 20)
        .with_receive_buffer(8 << 20)
        .with_initial_window(FLIGHT / SEGMENT)
        .with_checksum(false)
        .with_chunk(32 * 1024);
    let config = Arc::new(config);
    let offload = TransmitOffload { segmentation, want_sum: false };
    let isn = Isn { seq: Seq(0xffc0_0000), timestamp_offset: 0 };
    let mut tcb = Tcb::connect(&config, isn, 1460, now);
    tcb.poll_transmit(now, offload).expect("a SYN");
    let mut syn = header(0, isn.seq + 1, Flags::SYN.with(Flags::ACK));
    syn.options.mss = Some(48);
    syn.options.window_scale = Some(14);
    syn.options.sack_permitted = true;
    tcb.input(&syn, Default::default(), now);
    tcb.input(&header(1, isn.seq + 1, Flags::ACK), Default::default(), now);
    tcb.send(&vec![7; FLIGHT as usize]).expect("room");
    while tcb.poll_transmit(now, offload).is_some() {}
    assert!(tcb.in_flight() as u32 > FLIGHT - 100, "{:?}", tcb.info());
    (tcb, isn.seq + 1)
}

fn main() {
    for segmentation in [0, 64 * 1024] {
        let mut now = Instant::from_millis(1000);
        let (mut tcb, first) = sender(segmentation, now);
        let offload = TransmitOffload { segmentation, want_sum: false };
        let mut order: Vec<u32> = (1..FLIGHT / SEGMENT).step_by(2).collect();
        order.sort_by_key(|i| i.wrapping_mul(0x9e37_79b1));
        let mut times = Vec::new();
        now += Duration::from_millis(50);
        for three in order.chunks(3) {
            let mut ack = header(1, first, Flags::ACK);
            let mut blocks = SackBlocks::NONE;
            for i in three {
                blocks.push(first + i * SEGMENT, first + (i + 1) * SEGMENT);
            }
            ack.options.sack = blocks;
            now += Duration::from_nanos(500);
            let start = Clock::now();
            tcb.input(&ack, Default::default(), now);
            while tcb.poll_transmit(now, offload).is_some() {}
            times.push(start.elapsed());
        }
        times.sort();
        let micros = |t: &Duration| t.as_nanos() as f64 / 1000.0;
        println!(
            "{:>9}: median {:6.2} us, 99.9 % {:6.2} us, worst {:8.2} us of {} acknowledgments",
            if segmentation > 0 { "with TSO" } else { "no TSO" },
            micros(&times[times.len() / 2]),
            micros(&times[times.len() - times.len() / 1000 - 1]),
            micros(&times[times.len() - 1]),
            times.len(),
        );
    }
}
