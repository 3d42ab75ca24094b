//! Speed of the byte kernels in Gbit/s: medians of interleaved repetitions, so
//! that a disturbance hits all of them. Data lies in a ring of packets in L1 or
//! L2. `both` copies into a packet and out again, as a byte of payload is on
//! its way through the stack, and counts the byte once.

extern crate anabranch_buffer as buffer;

use buffer::sum::{Implementation, copy_sum, copy_sum_with, implementation, sum, sum_with};
use std::hint::black_box;
use std::time::Instant;

const SIZES: [usize; 5] = [64, 256, 1448, 4096, 16384];
const FOOTPRINTS: [(&str, usize); 2] = [("L1", 12 << 10), ("L2", 256 << 10)];
const REPETITIONS: usize = 15;
/// Payload bytes of one sample.
const SAMPLE: usize = 64 << 20;

/// Application data of `size` bytes a piece, and packets on cache lines.
struct Ring {
    size: usize,
    stride: usize,
    count: usize,
    app: Vec<u8>,
    packets: Vec<u8>,
}

impl Ring {
    fn new(size: usize, footprint: usize) -> Ring {
        let stride = size.next_multiple_of(64);
        let count = (footprint / stride).max(1);
        Ring {
            size,
            stride,
            count,
            app: vec![0xa5; size * count],
            packets: vec![0; stride * count],
        }
    }

    /// Gbit/s of `body`, called with each packet in turn.
    fn run(&mut self, mut body: impl FnMut(&mut [u8], &mut [u8])) -> f64 {
        let rounds = (SAMPLE / (self.size * self.count)).max(1);
        let start = Instant::now();
        for _ in 0..rounds {
            for i in 0..self.count {
                let app = &mut self.app[i * self.size..][..self.size];
                body(app, &mut self.packets[i * self.stride..][..self.size]);
            }
        }
        (rounds * self.count * self.size * 8) as f64 / start.elapsed().as_nanos() as f64
    }

    fn ways(
        &mut self,
        way: &str,
        sum: impl Fn(&[u8]) -> u16,
        copy: impl Fn(&mut [u8], &[u8]) -> u16,
    ) -> f64 {
        match way {
            "sum" => self.run(|app, _| {
                black_box(sum(app));
            }),
            "copy_sum" => self.run(|app, packet| {
                black_box(copy(packet, app));
            }),
            _ => self.run(|app, packet| {
                black_box(copy(packet, app));
                black_box(copy(app, packet));
            }),
        }
    }
}

const WAYS: [&str; 3] = ["sum", "copy_sum", "both"];

/// What to measure.
#[derive(Clone, Copy)]
enum Case {
    Kernel(Implementation),
    /// What the stack calls: short inputs inline, then the best kernel.
    Chosen,
    Memcpy,
}

impl Case {
    fn name(self) -> &'static str {
        match self {
            Case::Kernel(kernel) => kernel.name(),
            Case::Chosen => "chosen",
            Case::Memcpy => "memcpy",
        }
    }
}

fn sample(ring: &mut Ring, case: Case, way: &str) -> f64 {
    match case {
        Case::Kernel(k) => {
            ring.ways(way, |data| sum_with(k, data), |to, from| copy_sum_with(k, to, from))
        }
        Case::Chosen => ring.ways(way, sum, copy_sum),
        Case::Memcpy => {
            let copy = |to: &mut [u8], from: &[u8]| {
                black_box(to).copy_from_slice(from);
                0
            };
            ring.ways(way, |_| 0, copy)
        }
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn main() {
    println!("chosen here: {}", implementation());
    let mut cases: Vec<Case> =
        Implementation::ALL.into_iter().filter(|k| k.available()).map(Case::Kernel).collect();
    cases.extend([Case::Chosen, Case::Memcpy]);
    print!("{:>6} {:>3} {:<9}", "bytes", "in", "way");
    cases.iter().for_each(|case| print!(" {:>9}", case.name()));
    println!("   Gbit/s");
    for size in SIZES {
        for (place, footprint) in FOOTPRINTS {
            let mut ring = Ring::new(size, footprint);
            for way in WAYS {
                let mut samples = vec![Vec::new(); cases.len()];
                for _ in 0..REPETITIONS {
                    for (case, samples) in cases.iter().zip(&mut samples) {
                        samples.push(sample(&mut ring, *case, way));
                    }
                }
                print!("{size:>6} {place:>3} {way:<9}");
                for (case, samples) in cases.iter().zip(samples) {
                    match (case, way) {
                        (Case::Memcpy, "sum") => print!(" {:>9}", "-"),
                        _ => print!(" {:>9.0}", median(samples)),
                    }
                }
                println!();
            }
        }
    }
}
