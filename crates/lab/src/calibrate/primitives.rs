//! Costs by themselves.

mod devices;
mod locks;
mod memory;
mod threads;

use super::probe::{Probe, SAMPLES};
use crate::Error;
use planner::calibration::{Machine, Primitives};
use std::time::Instant;

/// Measures them all, a sample of each in turn. Calls `progress` after each round
/// with the share that is done.
///
/// # Errors
/// If the system gives no threads or descriptors.
pub(crate) fn measure(
    machine: &Machine,
    progress: &mut dyn FnMut(f64),
) -> Result<Primitives, Error> {
    let mut probes = memory::probes(machine);
    probes.extend(locks::probes());
    probes.extend(threads::probes()?);
    probes.extend(devices::memory());
    let tap = devices::Tap::start();
    probes.extend(tap.iter().flat_map(devices::Tap::probes));
    let mut primitives = Primitives::default();
    // The first round is for caches and for the clock of the processor.
    round(&mut probes)?;
    probes.iter_mut().for_each(Probe::forget);
    for n in 0..SAMPLES {
        round(&mut probes)?;
        progress((n + 1) as f64 / SAMPLES as f64);
    }
    probes.iter().for_each(|probe| probe.put(&mut primitives));
    Ok(primitives)
}

fn round(probes: &mut [Probe]) -> Result<(), Error> {
    probes.iter_mut().try_for_each(Probe::take)
}

/// How long it takes, ns.
fn nanos(f: impl FnOnce()) -> f64 {
    let start = Instant::now();
    f();
    start.elapsed().as_nanos() as f64
}
