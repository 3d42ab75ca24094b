//! How bulk throughput in memory grows with processors, beside how the bound
//! does: `cargo bench -p anabranch-lab --bench scale`.
#![allow(missing_docs)]

extern crate anabranch_lab as lab;

use lab::{BenchPlan, Direction, Peer, bound};
use std::time::Duration;

/// Rounds, each with a sample of everything.
const ROUNDS: usize = 5;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let most = arguments.first().and_then(|n| n.parse().ok()).unwrap_or(2);
    println!("{:<8} {:>4} {:>8} {:>8} {:>10}", "", "CPUs", "Gbit/s", "times", "per CPU s");
    for direction in [Direction::Send, Direction::Receive] {
        rounds(direction, most);
    }
}

fn rounds(direction: Direction, most: usize) {
    let plan = BenchPlan {
        organizations: vec!["processor-per-connection".to_owned()],
        connections: 16,
        direction,
        peer: Peer::Driver,
        seconds: 0.6,
        repeat: 1,
        bound: 0.01,
        ..BenchPlan::default()
    };
    let mut bounds = vec![Vec::new(); most];
    let mut rates = vec![Vec::new(); most];
    let mut costs = vec![Vec::new(); most];
    for _ in 0..ROUNDS {
        for processors in 1..=most {
            let time = Duration::from_millis(300);
            bounds[processors - 1].push(bound::measure_many(1448, time, processors));
            let row = lab::run(&BenchPlan { processors, ..plan.clone() }, &mut |_| {});
            let row = row.expect("figures").remove(0);
            rates[processors - 1].push(row.median);
            costs[processors - 1].push(8.0 / row.cpu_s_per_gb.unwrap_or(1.0));
        }
    }
    let median = |values: &mut Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let first = [&mut bounds[0], &mut rates[0]].map(median);
    for processors in 1..=most {
        let at = processors - 1;
        let bound = median(&mut bounds[at]);
        let (rate, cost) = (median(&mut rates[at]), median(&mut costs[at]));
        println!("{:<8} {processors:>4} {bound:>8.0} {:>8.2}", "bound", bound / first[0]);
        let name = direction.name();
        println!("{name:<8} {processors:>4} {rate:>8.1} {:>8.2} {cost:>10.1}", rate / first[1]);
    }
}
