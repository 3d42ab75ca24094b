//! What the worst acknowledgments cost: 6 MiB in flight in segments of 36 bytes of
//! payload (a peer that announces an MSS of 48, with time stamps), and a peer that
//! SACKs every second segment, in any order, three at a time. Microseconds an
//! acknowledgment, with what is sent in answer: the median, and the worst.

extern crate anabranch_tcp as tcp;

mod flight;

use flight::{FLIGHT, SEGMENT, header, sender};
use std::time::{Duration, Instant as Clock};
use tcp::*;
use wire::Instant;
use wire::tcp::{Flags, SackBlocks};

fn main() {
    for segmentation in [0, 64 * 1024] {
        let mut now = Instant::from_millis(1000);
        let offload = TransmitOffload { segmentation, want_sum: false };
        let (mut tcb, first) = sender(&mut now, offload, Duration::ZERO);
        let mut order: Vec<u32> = (1..FLIGHT / SEGMENT).step_by(2).collect();
        order.sort_by_key(|i| i.wrapping_mul(0x9e37_79b1));
        let mut times = Vec::new();
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
