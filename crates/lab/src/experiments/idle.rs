//! What an established connection costs that has nothing to do.

use crate::Error;
use crate::measure::single::Pair;
use crate::measure::usage::resident;
use crate::setup::bench_plan::{BenchPlan, Workload};
use std::time::Duration;

/// What idle connections cost.
#[derive(Clone, Copy, Debug)]
pub struct Idle {
    /// Connections.
    pub connections: usize,
    /// Bytes of memory for each, both ends together.
    pub both_ends: f64,
    /// Bytes of memory for each at one end: half of that, since both are alike.
    pub one_end: f64,
}

/// Opens `connections` in memory, lets each carry a message there and back, lets them rest,
/// and measures by how much the process has grown.
///
/// # Errors
/// [`Error`].
pub fn measure(connections: usize) -> Result<Idle, Error> {
    let few = BenchPlan { workload: Workload::Rr, ..BenchPlan::default() };
    // What does not grow with connections is there before.
    let mut pair = Pair::new(&few)?;
    pair.open(&few)?;
    pair.run(Duration::from_millis(100));
    drop(pair);
    let before = resident();
    let plan = BenchPlan { connections, ..few };
    plan.check()?;
    let mut pair = Pair::new(&plan)?;
    pair.rest();
    pair.open(&plan)?;
    // Until the last timer of each has come, after which it rests.
    pair.run(Duration::from_millis(1500));
    let grown = resident().saturating_sub(before) as f64 / connections as f64;
    Ok(Idle { connections, both_ends: grown, one_end: grown / 2.0 })
}
