//! The marks that the stack is to reach in memory on one core with both ends in
//! one thread. Arguments: words that a case's name has to contain; a number is
//! the seconds of a sample, `x` and a number the samples.

extern crate anabranch_lab as lab;

use lab::{BenchPlan, Row, Workload};

fn cases() -> Vec<(&'static str, BenchPlan)> {
    let plan = BenchPlan { repeat: 3, ..BenchPlan::default() };
    let bulk = |mtu, connections, active| BenchPlan { mtu, connections, active, ..plan.clone() };
    let rr = |workload, connections| BenchPlan { workload, connections, ..plan.clone() };
    vec![
        ("bulk-1500-1", bulk(1500, 1, None)),
        ("bulk-1500-16", bulk(1500, 16, None)),
        ("bulk-1500-3072", bulk(1500, 3072, None)),
        ("bulk-1500-1of3072", bulk(1500, 3072, Some(1))),
        ("bulk-4352-1", bulk(4352, 1, None)),
        ("bulk-4352-16", bulk(4352, 16, None)),
        ("bulk-4352-3072", bulk(4352, 3072, None)),
        ("rr-1", rr(Workload::Rr, 1)),
        ("rr-16", rr(Workload::Rr, 16)),
        ("rr-256", rr(Workload::Rr, 256)),
        ("rr-3072", rr(Workload::Rr, 3072)),
        ("crr-16", rr(Workload::Crr, 16)),
        ("udp-1500-16", rr(Workload::Udp, 16)),
    ]
}

fn main() {
    let mut words = Vec::new();
    let (mut seconds, mut repeat) = (1.0, 3);
    for word in std::env::args().skip(1).filter(|a| !a.starts_with('-')) {
        if let Ok(number) = word.parse() {
            seconds = number;
        } else if let Some(number) = word.strip_prefix('x').and_then(|n| n.parse().ok()) {
            repeat = number;
        } else {
            words.push(word);
        }
    }
    let wanted = |name: &str| words.is_empty() || words.iter().any(|w| name.contains(w.as_str()));
    for (name, plan) in cases().into_iter().filter(|(name, _)| wanted(name)) {
        let plan = BenchPlan { seconds, repeat, ..plan };
        match lab::run(&plan, &mut |_| {}) {
            Ok(rows) => rows.iter().for_each(|row| show(name, row)),
            Err(error) => {
                eprintln!("{name}: {error}");
                std::process::exit(1);
            }
        }
    }
}

fn show(name: &str, row: &Row) {
    let scale = if row.unit == "Gbit/s" { 1.0 } else { 1e6 };
    let unit = if row.unit == "Gbit/s" { "Gbit/s" } else { "M/s" };
    println!(
        "{name:18} {:8.3} {unit:6} ({:.3} to {:.3})  {:4.1} % of {:.0} Gbit/s, {:4.1} % a core",
        row.median / scale,
        row.min / scale,
        row.max / scale,
        100.0 * row.ratio_to_bound,
        row.bound_gbit_per_s,
        100.0 * row.ratio_to_bound_per_core,
    );
}
