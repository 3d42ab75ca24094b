//! How fast two TCBs are, without a network between them: nanoseconds per data
//! segment for both ends, on one core. The number of segments can be given, as for
//! `valgrind --tool=callgrind`, which counts instructions.

extern crate anabranch_tcp as tcp;

use buffer::Slice;
use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};
use tcp::*;
use wire::{Instant, Seq};

fn main() {
    let config = Arc::new(Config::default());
    let isn = |n| Isn { seq: Seq(n), timestamp_offset: n };
    let mut now = Instant::from_millis(1);
    let offload = TransmitOffload { segmentation: 0, want_sum: true };
    let mut a = Tcb::connect(&config, isn(100), 1460, now);
    let syn = a.poll_transmit(now, offload).expect("a SYN").header;
    let mut b = Tcb::accept(&config, isn(200), 1460, &syn, now);
    let answer = b.poll_transmit(now, offload).expect("a SYN-ACK").header;
    a.input(&answer, Default::default(), now);
    let ack = a.poll_transmit(now, offload).expect("an ACK").header;
    b.input(&ack, Default::default(), now);

    let given = std::env::args().nth(1).and_then(|n| n.parse().ok());
    let segments: u64 = given.unwrap_or(20_000_000);
    let mut outgoing = Vec::new();
    let (mut done, mut acks) = (0, 0);
    let start = Clock::now();
    while done < segments {
        now += Duration::from_micros(10);
        // What the application writes, without the copy of its bytes.
        while a.send_room() >= 1448 && a.queued() < 64 * 1448 {
            let mut slice = Slice::with_capacity(1448);
            slice.append(&[0; 64]);
            let whole = slice.len();
            let slice = if whole == 64 { grown(slice) } else { slice };
            a.send_slice(slice, Some(0)).expect("room");
        }
        while let Some(out) = a.poll_transmit(now, offload) {
            outgoing.push(out);
        }
        for out in outgoing.drain(..) {
            done += 1;
            b.input(&out.header, out.payload, now);
        }
        while let Some(slice) = b.pop_slice(usize::MAX) {
            black_box(slice);
        }
        while let Some(out) = b.poll_transmit(now, offload) {
            acks += 1;
            a.input(&out.header, out.payload, now);
        }
        b.take_events();
        a.take_events();
    }
    let nanos = start.elapsed().as_nanos() as u64;
    println!("{} ns per data segment, both ends; {acks} ACKs", nanos / done);
}

/// The whole first 1448 bytes of the block of `slice`.
fn grown(mut slice: Slice) -> Slice {
    static ZEROS: [u8; 1448] = [0; 1448];
    slice.append(&ZEROS[slice.len()..]);
    slice
}
