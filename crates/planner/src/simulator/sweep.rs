//! [`sweep`]: many scenarios, on all processors.

use super::{Outcome, Scenario, run};
use crate::Error;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs each scenario; the outcomes are in the order of the scenarios, and do not
/// depend on how many threads there are or which one comes to its end first. One
/// that fails does not keep the others from running. `done` hears, from any thread,
/// how many have come to their end.
///
/// The threads are those of rayon's pool: as many as processors, or as
/// `RAYON_NUM_THREADS` says.
pub fn sweep(scenarios: &[Scenario], done: impl Fn(usize) + Sync) -> Vec<Result<Outcome, Error>> {
    let count = AtomicUsize::new(0);
    let one = |scenario: &Scenario| {
        let outcome = run(scenario);
        done(count.fetch_add(1, Ordering::Relaxed) + 1);
        outcome
    };
    // One by one, as some take a hundred times as long as others.
    scenarios.par_iter().with_max_len(1).map(one).collect()
}

#[cfg(test)]
mod tests;
