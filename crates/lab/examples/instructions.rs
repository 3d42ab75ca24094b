//! One load of so much work, to be counted by `scripts/instructions`.
//!
//! `instructions LOAD WORK`: prints how much was done, in transactions or in full
//! segments.

use anabranch_lab::{BenchPlan, Workload, counted};

/// Payload of a full segment at an MTU of 1500 bytes, with timestamps.
const SEGMENT: u64 = 1448;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [load, work] = args.as_slice() else {
        return Err("usage: instructions rr|crr|bulk|udp WORK".into());
    };
    let loads = [Workload::Rr, Workload::Crr, Workload::Bulk, Workload::Udp];
    let workload = loads.into_iter().find(|w| w.name() == load).ok_or("no such load")?;
    let unit = if workload.is_transactions() { 1 } else { SEGMENT };
    let plan = BenchPlan { workload, connections: 16, ..BenchPlan::default() };
    let done = counted(&plan, work.parse::<u64>()? * unit)?;
    println!("{}", done / unit);
    Ok(())
}
