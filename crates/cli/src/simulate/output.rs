//! What was simulated, as a table, as JSON, and as curves.

use super::costs::Charged;
use super::interval::Interval;
use crate::failure::Failure;
use crate::table::render;
use anabranch::Organization;
use planner::Work;
use planner::figure::{Figure, Series};
use planner::predict::SURE;
use planner::simulator::{Outcome, Scenario};
use serde::Serialize;

/// A simulated scenario.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    organization: String,
    processors: usize,
    connections: usize,
    work: Work,
    bytes: usize,
    /// Operations that were to come, a second; none: a closed load.
    rate_per_s: Option<f64>,
    seed: u64,
    operations: u64,
    outcome: Outcome,
    /// None with the costs of a paper or a file.
    interval: Option<Interval>,
}

impl Row {
    /// What came out of a scenario.
    pub fn new(scenario: &Scenario, outcome: Outcome, interval: Option<Interval>) -> Row {
        Row {
            organization: scenario.organization.clone(),
            processors: scenario.processors,
            connections: scenario.connections,
            work: scenario.work,
            bytes: scenario.bytes,
            rate_per_s: scenario.arrivals.rate_per_s(),
            seed: scenario.seed,
            operations: scenario.operations,
            outcome,
            interval,
        }
    }

    /// Its place in the figure.
    fn point(&self, open: bool) -> (f64, f64) {
        let y = match open {
            true => self.outcome.latency.p99_ns / 1e3,
            false => self.outcome.operations_per_s,
        };
        (self.processors as f64, y)
    }

    /// The interval round it.
    fn bar(&self, open: bool) -> Option<(f64, f64, f64)> {
        let interval = self.interval?;
        let [low, high] = match open {
            true => interval.p99_ns.map(|ns| ns / 1e3),
            false => interval.operations_per_s,
        };
        Some((self.processors as f64, low, high))
    }

    fn busy(&self) -> f64 {
        let processors = &self.outcome.processors;
        let busy: f64 = processors.iter().map(|processor| 1.0 - processor.idle).sum();
        busy / processors.len().max(1) as f64
    }

    fn busiest(&self) -> String {
        let stations = self.outcome.stations.iter().filter(|station| station.utilization > 0.0);
        let busiest = stations.max_by(|a, b| a.utilization.total_cmp(&b.utilization));
        busiest.map_or(String::new(), |station| {
            format!("{} {:.0} %", station.name, station.utilization * 100.0)
        })
    }
}

/// For people.
pub fn table(rows: &[Row], charged: &Charged) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let ends: &[&str] = if charged.doubts.is_some() { &["low", "high"] } else { &[] };
    let (closed, open) = match first.rate_per_s {
        None => (ends, [].as_slice()),
        Some(_) => ([].as_slice(), ends),
    };
    let rest = [
        "busy",
        "work",
        "locks",
        "hand-off",
        "caches",
        "sched",
        "rounds",
        "dropped",
        "Jain",
        "busiest lock",
    ];
    let header =
        [&["organization", "CPUs", "conns", "ops/s"], closed, &["p50 µs", "p99 µs"], open, &rest]
            .concat();
    let table = render(&header, &rows.iter().map(cells).collect::<Vec<_>>());
    let low = match (&charged.doubts, first.rate_per_s) {
        (None, _) => "Without intervals, which take a calibration".to_owned(),
        (Some(_), rate) => format!(
            "low, high: {:.0} % interval of {}, as far as predictions from this calibration miss",
            100.0 * SURE,
            if rate.is_some() { "p99" } else { "ops/s" }
        ),
    };
    let load = match first.rate_per_s {
        Some(rate_per_s) => format!("{} operations/s come", count(rate_per_s)),
        None => "closed loads".to_owned(),
    };
    let beyond: Vec<usize> = rows.iter().map(|row| row.processors).collect();
    let beyond = match (charged.measured, beyond.iter().max()) {
        (Some(measured), Some(most)) if *most > measured => format!(
            "More than {measured} processors are extrapolated: nothing was measured on them, and no \
             memory bus or device limits them here.\n"
        ),
        _ => String::new(),
    };
    format!(
        "simulated: {}, {} bytes, {load}, {} operations each, seed {}\n{table}\
         {low}.\n\
         work to rounds: ns of an operation over all processors; what is not work is lost.\n\
         {beyond}Costs: {}.",
        first.work, first.bytes, first.operations, first.seed, charged.source
    )
}

fn cells(row: &Row) -> Vec<String> {
    let of = &row.outcome.per_operation;
    let latency = &row.outcome.latency;
    let lost =
        [of.work_ns, of.lock_ns, of.hand_off_ns, of.cache_ns, of.scheduling_ns, of.overhead_ns];
    let ends = |of: fn(&Interval) -> [f64; 2], shown: fn(f64) -> String| match &row.interval {
        Some(interval) => of(interval).map(shown).to_vec(),
        None => Vec::new(),
    };
    let mut cells = vec![
        row.organization.clone(),
        row.processors.to_string(),
        row.connections.to_string(),
        count(row.outcome.operations_per_s),
    ];
    if row.rate_per_s.is_none() {
        cells.extend(ends(|interval| interval.operations_per_s, count));
    }
    cells.extend([us(latency.p50_ns), us(latency.p99_ns)]);
    if row.rate_per_s.is_some() {
        cells.extend(ends(|interval| interval.p99_ns, us));
    }
    cells.push(format!("{:.0} %", row.busy() * 100.0));
    cells.extend(lost.iter().map(|ns| if *ns < 1e4 { format!("{ns:.0}") } else { count(*ns) }));
    cells.push(row.outcome.dropped.to_string());
    cells.push(format!("{:.2}", row.outcome.jain));
    cells.push(row.busiest());
    cells
}

/// A number with about three digits.
fn count(value: f64) -> String {
    match value {
        _ if value >= 1e7 => format!("{:.1}M", value / 1e6),
        _ if value >= 1e6 => format!("{:.2}M", value / 1e6),
        _ if value >= 1e4 => format!("{:.0}k", value / 1e3),
        _ if value >= 1e3 => format!("{:.2}k", value / 1e3),
        _ => format!("{value:.1}"),
    }
}

fn us(ns: f64) -> String {
    let us = ns / 1e3;
    if us >= 100.0 { format!("{us:.0}") } else { format!("{us:.2}") }
}

/// Axes are logarithmic where the most processors are this factor above the fewest.
const WIDE: f64 = 8.0;

/// Curves against processors, one for each organization and number of connections:
/// of latency if the load is open, else of throughput. `source` says where costs are from.
pub fn figure(rows: &[Row], open: bool, source: &str) -> Result<String, Failure> {
    let Some(first) = rows.first() else { return Ok(String::new()) };
    let mut connections: Vec<usize> = rows.iter().map(|row| row.connections).collect();
    connections.sort_unstable();
    connections.dedup();
    let several = connections.len() > 1;
    let mut series: Vec<Series> = Vec::new();
    for row in rows {
        let name = match several {
            true => format!("{}, {}", row.organization, row.connections),
            false => row.organization.clone(),
        };
        if !series.iter().any(|one| one.name == name) {
            // The same colour and mark in every figure.
            let known = Organization::all().position(|o| o.name() == row.organization);
            let dash = connections.iter().position(|count| *count == row.connections);
            let of = rows.iter().filter(|other| {
                other.organization == row.organization && other.connections == row.connections
            });
            let points = of.clone().map(|row| row.point(open)).collect();
            let one =
                Series::new(name, points).intervals(of.filter_map(|row| row.bar(open)).collect());
            series.push(one.styled(known.unwrap_or(0), dash.unwrap_or(0)));
        }
    }
    let label = if open { "99th percentile of latency, µs" } else { "operations a second" };
    let load = if several { String::new() } else { format!(", {} connections", first.connections) };
    let rate = first.rate_per_s.map_or(String::new(), |rate| format!(", {}/s come", count(rate)));
    let title = format!("Simulated: {}, {} bytes{load}{rate}", first.work, first.bytes);
    let counts = || rows.iter().map(|row| row.processors as f64);
    let (least, most) = (counts().fold(f64::INFINITY, f64::min), counts().fold(0.0, f64::max));
    let mut figure = Figure::new(&title, "processors", label)
        .note(format!("{source}; {} operations each, seed {}", first.operations, first.seed));
    if !open && most > least {
        series.extend(ideal(rows, least, most));
    }
    if most >= WIDE * least {
        figure = figure.log_x().log_y();
    }
    figure.draw(&series).map_err(Failure::failed)
}

/// A straight line from the best on the fewest processors.
fn ideal(rows: &[Row], least: f64, most: f64) -> Option<Series> {
    let few = rows.iter().filter(|row| row.processors as f64 == least);
    let best = few.map(|row| row.outcome.operations_per_s).reduce(f64::max)?;
    Some(Series::new("ideal", vec![(least, best), (most, best * most / least)]).guide())
}
