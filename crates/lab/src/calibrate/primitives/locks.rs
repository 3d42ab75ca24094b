//! Locks of each type: alone, and between two threads.

use super::nanos;
use crate::calibrate::probe::Probe;
use crate::setup::affinity;
use organizations::runtime::worker::pin;
use planner::calibration::{LockCosts, Primitives};
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sync::{LockKind, RawLock, with_lock};

/// Uses in a sample of a lock that nobody else wants.
const USES: u32 = 50_000;
/// How long two threads want a lock.
const CONTENTION: Duration = Duration::from_millis(3);

/// Two for each type; contention only where there are two processors.
pub(crate) fn probes() -> Vec<Probe> {
    let two = affinity::processors() > 1;
    let mut probes = Vec::new();
    for kind in LockKind::ALL {
        let alone = move || Ok(with_lock!(kind, L => alone::<L>()));
        probes.push(Probe::one(alone, move |p| &mut costs(p, kind).alone_ns));
        if two {
            let contended = move || Ok(with_lock!(kind, L => contended::<L>()));
            probes.push(Probe::one(contended, move |p| &mut costs(p, kind).contended_ns));
        }
    }
    probes
}

fn costs(primitives: &mut Primitives, kind: LockKind) -> &mut LockCosts {
    primitives.locks.entry(kind.name().to_owned()).or_default()
}

/// A use with nobody else there, ns.
fn alone<L: RawLock>() -> f64 {
    let lock = L::default();
    let nanos = nanos(|| {
        for n in 0..USES {
            lock.with(|| black_box(n));
        }
    });
    nanos / f64::from(USES)
}

/// A use when two threads on two processors want it all the time, ns.
fn contended<L: RawLock>() -> f64 {
    let (lock, barrier, over) = (L::default(), Barrier::new(2), AtomicBool::new(false));
    let work = |mut is_over: Box<dyn FnMut() -> bool + '_>| {
        barrier.wait();
        let start = Instant::now();
        let mut uses = 0u64;
        while !is_over() {
            for _ in 0..16 {
                lock.with(|| black_box(()));
            }
            uses += 16;
        }
        uses as f64 / start.elapsed().as_nanos() as f64
    };
    let rate: f64 = std::thread::scope(|scope| {
        let first = scope.spawn(|| {
            pin(0);
            let start = Instant::now();
            let rate = work(Box::new(|| start.elapsed() >= CONTENTION));
            over.store(true, Ordering::Relaxed);
            rate
        });
        let second = scope.spawn(|| {
            pin(1);
            work(Box::new(|| over.load(Ordering::Relaxed)))
        });
        [first, second].into_iter().filter_map(|thread| thread.join().ok()).sum()
    });
    1.0 / rate.max(1e-9)
}
