//! Anabranch: `bench rr` and `bench bulk` under `uniprocessor`, in which one thread polls both ends.

use crate::{BLOCK, Load, MESSAGE, Work};
use lab::{BenchPlan, Workload};

pub fn sample(load: &Load) -> f64 {
    let (workload, bytes) = match load.work {
        Work::Rr => (Workload::Rr, MESSAGE),
        Work::Bulk => (Workload::Bulk, BLOCK),
    };
    let plan = BenchPlan {
        workload,
        bytes: Some(bytes),
        connections: load.connections,
        mtu: load.mtu,
        seconds: load.time.as_secs_f64(),
        warm_up: WARM_UP,
        bound: 0.001,
        repeat: 1,
        ..BenchPlan::default()
    };
    let rows = lab::run(&plan, &mut |_| {}).expect("figures");
    match load.work {
        Work::Rr => rows[0].median / 1e3,
        Work::Bulk => rows[0].median,
    }
}

/// Seconds before each sample of each stack.
pub const WARM_UP: f64 = 0.1;
