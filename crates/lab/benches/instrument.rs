//! What instruments cost: samples with and without them, in turn, and the median
//! of the pairs' ratios. Arguments: words that a case's name has to contain; a
//! number is the seconds of a sample, `x` and a number the pairs.
//!
//! What is compared is the processor time for the same work, which a busy
//! machine disturbs less than the time on the clock.

extern crate anabranch_lab as lab;

use lab::{BenchPlan, Row, Workload};

fn cases() -> Vec<(String, BenchPlan)> {
    let mut cases = Vec::new();
    for (workload, connections) in [(Workload::Bulk, 16), (Workload::Rr, 16), (Workload::Rr, 256)] {
        for (organization, processors) in [
            ("uniprocessor", 1),
            ("processor-per-connection", 2),
            ("global-lock", 2),
            ("group-locks", 2),
            ("message-parallel", 2),
        ] {
            if organizations::find(organization).is_none() {
                continue;
            }
            let name = format!("{}-{connections}-{organization}", workload.name());
            let plan = BenchPlan {
                workload,
                connections,
                processors,
                organizations: vec![organization.to_owned()],
                warm_up: 0.1,
                bound: 0.001,
                repeat: 1,
                ..BenchPlan::default()
            };
            cases.push((name, plan));
        }
    }
    cases
}

fn main() {
    let mut words = Vec::new();
    let (mut seconds, mut pairs) = (0.2, 15);
    for word in std::env::args().skip(1).filter(|a| !a.starts_with('-')) {
        if let Ok(number) = word.parse() {
            seconds = number;
        } else if let Some(number) = word.strip_prefix('x').and_then(|n| n.parse().ok()) {
            pairs = number;
        } else {
            words.push(word);
        }
    }
    let wanted = |name: &str| words.is_empty() || words.iter().any(|w| name.contains(w.as_str()));
    println!(
        "processor time with instruments, of that without: median (quartiles) of {pairs} pairs"
    );
    for (name, plan) in cases().into_iter().filter(|(name, _)| wanted(name)) {
        let plan = BenchPlan { seconds, ..plan };
        let mut ratios: Vec<f64> = (0..pairs).map(|pair| ratio(&plan, pair)).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |part: f64| ratios[(part * (ratios.len() - 1) as f64).round() as usize];
        println!("{name:36} {:.3} ({:.3} to {:.3})", at(0.5), at(0.25), at(0.75));
    }
}

/// Of one pair, with and without in changing order.
fn ratio(plan: &BenchPlan, pair: usize) -> f64 {
    let cost = |instruments| {
        let plan = BenchPlan { instruments, ..plan.clone() };
        match lab::run(&plan, &mut |_| {}).as_deref() {
            Ok([row]) => cost(row),
            Ok(_) => f64::NAN,
            Err(error) => {
                eprintln!("{error}");
                std::process::exit(1);
            }
        }
    };
    if pair.is_multiple_of(2) {
        let without = cost(false);
        cost(true) / without
    } else {
        cost(true) / cost(false)
    }
}

fn cost(row: &Row) -> f64 {
    row.cpu_s_per_gb.or(row.cpu_s_per_100k).unwrap_or(f64::NAN)
}
