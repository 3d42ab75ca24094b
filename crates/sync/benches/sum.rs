//! Speed of the byte kernels in Gbit/s: medians of interleaved repetitions, so
//! that a disturbance hits all of them. Data lies in a ring of packets in L1 or
//! L2. `both` copies into a packet and out again, as a byte of payload is on
//! its way through the stack, and counts the byte once.

use std::hint::black_box;
use std::time::Instant;
use sync::bytes::sum::{self, Implementation, copy_sum_with, sum_with};

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
}

const WAYS: [&str; 3] = ["sum", "copy_sum", "both"];

/// One sample; `kernel` `None` is memcpy.
fn sample(ring: &mut Ring, kernel: Option<Implementation>, way: &str) -> f64 {
    match (kernel, way) {
        (Some(k), "sum") => ring.run(|app, _| {
            black_box(sum_with(k, app));
        }),
        (Some(k), "copy_sum") => ring.run(|app, packet| {
            black_box(copy_sum_with(k, packet, app));
        }),
        (Some(k), _) => ring.run(|app, packet| {
            black_box(copy_sum_with(k, packet, app));
            black_box(copy_sum_with(k, app, packet));
        }),
        (None, "both") => ring.run(|app, packet| {
            black_box(&mut *packet).copy_from_slice(app);
            black_box(app).copy_from_slice(packet);
        }),
        (None, _) => ring.run(|app, packet| black_box(packet).copy_from_slice(app)),
    }
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

fn main() {
    println!("chosen here: {}", sum::implementation());
    let mut kernels: Vec<Option<Implementation>> =
        Implementation::ALL.into_iter().filter(|k| k.available()).map(Some).collect();
    kernels.push(None);
    print!("{:>6} {:>3} {:<9}", "bytes", "in", "way");
    kernels.iter().for_each(|k| print!(" {:>9}", k.map_or("memcpy", |k| k.name())));
    println!("   Gbit/s");
    for size in SIZES {
        for (place, footprint) in FOOTPRINTS {
            let mut ring = Ring::new(size, footprint);
            for way in WAYS {
                let mut samples = vec![Vec::new(); kernels.len()];
                for _ in 0..REPETITIONS {
                    for (kernel, samples) in kernels.iter().zip(&mut samples) {
                        samples.push(sample(&mut ring, *kernel, way));
                    }
                }
                print!("{size:>6} {place:>3} {way:<9}");
                samples.into_iter().for_each(|s| print!(" {:>9.0}", median(s)));
                println!();
            }
        }
    }
}
