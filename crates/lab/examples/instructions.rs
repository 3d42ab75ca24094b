//! One load of so much work, to be counted by `scripts/instructions`.
//!
//! `instructions LOAD WORK [CONNECTIONS]`: prints how much was done, in transactions or in full
//! segments, over 16 connections if nothing else is said. A load whose name ends in 6 is over
//! IPv6; in `posted`, a bulk, the reader waits with its buffer.

use anabranch_lab::{BenchPlan, Family, Workload, counted};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (load, work, connections) = match args.as_slice() {
        [load, work] => (load, work, 16),
        [load, work, connections] => (load, work, connections.parse()?),
        _ => return Err("usage: instructions rr|crr|bulk|posted|udp[6] WORK [CONNECTIONS]".into()),
    };
    let (name, family) = match load.strip_suffix('6') {
        Some(name) => (name, Family::V6),
        None => (load.as_str(), Family::V4),
    };
    let posted = name == "posted";
    let name = if posted { "bulk" } else { name };
    let loads = [Workload::Rr, Workload::Crr, Workload::Bulk, Workload::Udp];
    let workload = loads.into_iter().find(|w| w.name() == name).ok_or("no such load")?;
    let plan = BenchPlan { workload, family, posted, connections, ..BenchPlan::default() };
    let unit = if workload.is_transactions() { 1 } else { plan.payload_in_packet() as u64 };
    let done = counted(&plan, work.parse::<u64>()? * unit)?;
    println!("{}", done / unit);
    Ok(())
}
