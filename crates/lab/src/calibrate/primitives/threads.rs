//! What passes between threads: cache lines, items of a ring, wake-ups, the
//! processor.

use crate::Error;
use crate::calibrate::probe::Probe;
use crate::measure::cacheline_latency::{line, two};
use crate::setup::affinity;
use organizations::Clock;
use organizations::runtime::sleeper::Sleeper;
use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use sync::spsc;

/// Times that a cache line goes there and back in a sample.
const ROUNDS: u64 = 2_000;
/// Items through a ring in a sample.
const ITEMS: u64 = 8_192;
/// Items of a batch.
const BATCH: u64 = 32;
/// Wake-ups in a sample.
const WAKES: u32 = 20;
/// How long a thread that has announced its sleep is given to fall asleep.
const ASLEEP: Duration = Duration::from_micros(40);
/// Switches there and back in a sample.
const SWITCHES: u64 = 500;

/// The probes; of those that need two processors none if there is one.
pub(crate) fn probes() -> Result<Vec<Probe>, Error> {
    let mut probes = vec![Probe::one(switch, |p| &mut p.context_switch_ns)];
    if affinity::processors() > 1 {
        probes.push(Probe::one(|| Ok(line(1, ROUNDS)), |p| &mut p.line_transfer_ns));
        probes.push(Probe::one(|| Ok(ring(1)), |p| &mut p.ring_item_ns));
        probes.push(Probe::one(|| Ok(ring(BATCH)), |p| &mut p.ring_batched_item_ns));
        let put = |p: &mut planner::calibration::Primitives, e: &[_]| {
            if let [call, up] = e {
                (p.wake_call_ns, p.wake_up_ns) = (*call, *up);
            }
        };
        probes.push(Probe::several(wake, put));
    }
    Ok(probes)
}

/// An item from one processor to the other, put in `batch` at a time, when the
/// ring is empty again before the next batch, ns.
fn ring(batch: u64) -> f64 {
    let (mut producer, mut consumer) = spsc::ring(BATCH as usize);
    let put = move || {
        let start = Instant::now();
        for item in 0..ITEMS / batch {
            while !producer.is_empty() {
                spin_loop();
            }
            for n in 0..batch {
                // There is room for a batch.
                let _ = producer.push(item + n);
            }
        }
        while !producer.is_empty() {
            spin_loop();
        }
        start.elapsed().as_nanos() as f64 / ITEMS as f64
    };
    let take = move || {
        let mut left = ITEMS / batch * batch;
        while left > 0 {
            while consumer.pop().is_some() {
                left -= 1;
            }
            spin_loop();
        }
    };
    two(1, put, take)
}

/// To wake a thread that sleeps as a worker does: the waker's time, and the time
/// until the other runs, ns.
fn wake() -> Result<Vec<f64>, Error> {
    let sleeper = Arc::new(Sleeper::new()?);
    let clock = Clock::start();
    let (asks, woken) = (AtomicBool::new(false), AtomicU64::new(0));
    let (calls, ups) = two(
        1,
        || {
            let (mut calls, mut ups) = (0, 0);
            for _ in 0..WAKES {
                let before = Instant::now();
                while before.elapsed() < ASLEEP {
                    spin_loop();
                }
                woken.store(0, Ordering::Relaxed);
                let start = clock.now();
                asks.store(true, Ordering::Release);
                sleeper.notify();
                calls += clock.now().since(start).as_nanos();
                let at = loop {
                    match woken.load(Ordering::Acquire) {
                        0 => spin_loop(),
                        at => break at,
                    }
                };
                ups += u128::from(at.saturating_sub(start.as_nanos()));
            }
            (calls as f64, ups as f64)
        },
        || {
            for _ in 0..WAKES {
                while !asks.load(Ordering::Acquire) {
                    sleeper.sleep(&mut [], &clock, || (asks.load(Ordering::Acquire), None));
                }
                asks.store(false, Ordering::Relaxed);
                woken.store(clock.now().as_nanos().max(1), Ordering::Release);
            }
        },
    );
    Ok(vec![calls / f64::from(WAKES), ups / f64::from(WAKES)])
}

/// From one thread to another on the same processor, which it wakes before it
/// sleeps itself: half of the way there and back, ns.
fn switch() -> Result<f64, Error> {
    let (ours, theirs) = (Arc::new(Sleeper::new()?), Arc::new(Sleeper::new()?));
    let clock = Clock::start();
    let turn = AtomicU64::new(0);
    let play = |mine: u64, me: &Sleeper, other: &Sleeper| {
        let start = Instant::now();
        for round in 0..SWITCHES {
            let due = 2 * round + mine;
            let is_due = || turn.load(Ordering::Acquire) == due;
            while !is_due() {
                me.sleep(&mut [], &clock, || (is_due(), None));
            }
            turn.store(due + 1, Ordering::Release);
            other.notify();
        }
        start.elapsed().as_nanos() as f64 / (2 * SWITCHES) as f64
    };
    Ok(two(0, || play(0, &ours, &theirs), || play(1, &theirs, &ours)))
}
