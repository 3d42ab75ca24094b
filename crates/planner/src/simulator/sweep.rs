//! [`sweep`]: many scenarios, on all processors.

use super::{Outcome, Scenario, run};
use crate::Error;
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs all scenarios. The outcomes are in the order of the scenarios, and do not
/// depend on the number of threads or on which scenario ends first. If one fails, the
/// others still run. `done` is called, from any thread, with the number of scenarios
/// that have ended.
///
/// The threads are those of rayon's pool: one for each processor, or as many as
/// `RAYON_NUM_THREADS` says.
pub fn sweep(scenarios: &[Scenario], done: impl Fn(usize) + Sync) -> Vec<Result<Outcome, Error>> {
    let count = AtomicUsize::new(0);
    let one = |scenario: &Scenario| {
        let outcome = run(scenario);
        done(count.fetch_add(1, Ordering::Relaxed) + 1);
        outcome
    };
    // One at a time, as some take a hundred times as long as others.
    scenarios.par_iter().with_max_len(1).map(one).collect()
}

#[cfg(test)]
mod tests;
