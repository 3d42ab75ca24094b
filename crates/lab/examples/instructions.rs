//! One load of so much work, to be counted by `scripts/instructions`.
//!
//! `instructions LOAD WORK [FAMILY]`: prints how much was done, in transactions or in full
//! segments.

use anabranch_lab::{BenchPlan, Family, Workload, counted};

/// Payload of a full segment at an MTU of 1500 bytes, with timestamps.
const SEGMENT: u64 = 1448;
/// The same over IPv6.
const SEGMENT_V6: u64 = 1428;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (load, work, family) = match args.as_slice() {
        [load, work] => (load, work, Family::V4),
        [load, work, family] if family == "6" => (load, work, Family::V6),
        _ => return Err("usage: instructions rr|crr|bulk|udp WORK [6]".into()),
    };
    let loads = [Workload::Rr, Workload::Crr, Workload::Bulk, Workload::Udp];
    let workload = loads.into_iter().find(|w| w.name() == load).ok_or("no such load")?;
    let segment = if family == Family::V6 { SEGMENT_V6 } else { SEGMENT };
    let unit = if workload.is_transactions() { 1 } else { segment };
    let plan = BenchPlan { workload, family, connections: 16, ..BenchPlan::default() };
    let done = counted(&plan, work.parse::<u64>()? * unit)?;
    println!("{}", done / unit);
    Ok(())
}
