//! Time and steps of the scheduler's operations, from 10 to 100,000 sockets:
//! medians, with the least and the greatest of the repetitions.
//!
//! `choose` is a decision of [`GroupRatio`] and the return of the socket to its
//! group; it takes one step whatever the number. What grows with the number is
//! the time that memory takes: sockets are visited in an order that no cache
//! foresees. The same order over a plain round robin is beside it for that.
//! `reweigh` moves a random socket to a random weight, as the arrival of a packet
//! does; it takes as many steps as there are groups.

extern crate anabranch_scheduler as scheduler;

use scheduler::{Class, Discipline, GroupRatio, Key, RoundRobin, Serves};
use std::hint::black_box;
use std::time::Instant;

const SOCKETS: [u32; 5] = [10, 100, 1_000, 10_000, 100_000];
const REPETITIONS: usize = 9;
/// Operations of one repetition.
const OPERATIONS: u32 = 400_000;

/// A fixed sequence of numbers without a pattern.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % u64::from(end)) as u32
    }

    /// Of sixteen orders, each as often.
    fn weight(&mut self) -> u32 {
        let order = self.below(16);
        (1 << order) + self.below(1 << order)
    }
}

/// Nanoseconds an operation.
fn time(mut operation: impl FnMut()) -> f64 {
    let start = Instant::now();
    (0..OPERATIONS).for_each(|_| operation());
    start.elapsed().as_nanos() as f64 / f64::from(OPERATIONS)
}

fn column(mut samples: Vec<f64>) -> String {
    samples.sort_by(f64::total_cmp);
    let (least, most) = (samples[0], samples[samples.len() - 1]);
    format!("{:.1} ({least:.1} to {most:.1})", samples[samples.len() / 2])
}

fn choose(all: &mut GroupRatio) {
    if let Some(key) = all.choose() {
        all.requeue(black_box(key));
    }
}

fn main() {
    println!(
        "{:>8} {:>7}  {:>24} {:>6}  {:>24} {:>6}  {:>24}   ns an operation",
        "sockets", "groups", "choose", "steps", "reweigh", "steps", "round robin"
    );
    for sockets in SOCKETS {
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        let (mut all, mut plain) = (GroupRatio::new(), RoundRobin::new());
        for _ in 0..sockets {
            // Inserted in no order, so that lists are not the table's.
            let key = numbers.below(sockets);
            all.insert(key, numbers.weight());
            plain.enqueue(key, Class::Ready, 1);
        }
        for key in 0..sockets {
            all.insert(key, numbers.weight());
            plain.enqueue(key, Class::Ready, 1);
        }
        let mut samples = [const { Vec::new() }; 3];
        let before = all.steps();
        for _ in 0..REPETITIONS {
            samples[0].push(time(|| choose(&mut all)));
            samples[1].push(time(|| all.reweigh(numbers.below(sockets), numbers.weight())));
            samples[2].push(time(|| {
                if let Some((key, _)) = plain.choose(Serves::All) {
                    plain.requeue(black_box::<Key>(key));
                }
            }));
        }
        let operations = f64::from(OPERATIONS) * REPETITIONS as f64;
        let steps = all.steps();
        let [choose, reweigh, plain] = samples.map(column);
        println!(
            "{sockets:>8} {:>7}  {choose:>24} {:>6.2}  {reweigh:>24} {:>6.2}  {plain:>24}",
            all.groups(),
            (steps.choose - before.choose) as f64 / operations,
            (steps.change - before.change) as f64 / operations,
        );
    }
}
