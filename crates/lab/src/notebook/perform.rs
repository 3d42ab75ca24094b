//! What one run yields: measured on the stack, predicted, simulated, or computed.

use super::case::{Case, Load};
use super::experiment::Effort;
use super::level::Level;
use super::web::{Web, WebServers};
use crate::Error;
use crate::blocks::Blocks;
use crate::http;
use crate::measure::cacheline_latency::CachelineLatency;
use crate::measure::detail::Detail;
use crate::measure::row::Row;
use crate::measure::run;
use crate::measure::sample::Sample;
use crate::measure::speed::Paces;
use crate::setup::bench_plan::{BenchPlan, Direction, Workload};
use catalog::Simulated;
use instrument::ThreadReport;
use planner::predict::Steering;
use planner::simulator::{Arrivals, Costs, Outcome, Scenario};
use planner::thekkath1992::{self, Change, MIXED, Machine, SMALL};
use planner::{Predictor, Work};
use std::collections::BTreeMap;

/// Figures by metric.
pub type Figures = BTreeMap<String, f64>;

/// What a run yielded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Yield {
    /// Figures by metric; none that is not finite.
    pub figures: Figures,
    /// How far the processors were apart.
    pub cacheline: Option<CachelineLatency>,
    /// How fast they were, before and after.
    pub paces: Option<Paces>,
    /// What the second half of the run carried, of what the first did.
    pub drift: Option<f64>,
    /// The factor by which a prediction may be off, either way; none: it is no prediction.
    pub factor: Option<f64>,
}

fn put(figures: &mut Figures, name: &str, value: Option<f64>) {
    if let Some(value) = value.filter(|value| value.is_finite()) {
        figures.insert(name.to_owned(), value);
    }
}

/// Runs a case on the stack; web servers are those of `servers`.
///
/// # Errors
/// A line that says what went wrong.
pub fn measure(case: &Case, effort: &Effort, servers: &dyn WebServers) -> Result<Yield, String> {
    let line = |error: Error| error.to_string();
    match case.load(effort) {
        Load::Bench(plan) => bench(&plan, case.organization()).map_err(line),
        Load::Blocks(blocks) => transfers(&blocks).map_err(line),
        Load::Http(web) => requests(&web, servers),
    }
}

fn bench(plan: &BenchPlan, organization: &str) -> Result<Yield, Error> {
    plan.check()?;
    let sample = run::one(plan, organization)?;
    let row = Row::new(plan, organization, std::slice::from_ref(&sample));
    let mut figures = Figures::new();
    let rate = if plan.workload.is_transactions() { "transactions_per_s" } else { "gbit_per_s" };
    put(&mut figures, rate, Some(row.median));
    put(&mut figures, "cpu_s_per_gb", row.cpu_s_per_gb);
    put(&mut figures, "cpu_s_per_100k", row.cpu_s_per_100k);
    put(&mut figures, "switches_per_s", Some(row.context_switches_per_s));
    put(&mut figures, "bound_gbit_per_s", Some(row.bound_gbit_per_s));
    if !plan.workload.is_transactions() {
        put(&mut figures, "of_bound", Some(row.ratio_to_bound));
    }
    if let Some(detail) = &row.detail {
        let gigabytes = sample.bytes as f64 / sample.seconds / 1e9;
        details(&mut figures, detail, gigabytes);
    }
    let Sample { cacheline, paces, drift, .. } = sample;
    Ok(Yield { figures, cacheline, paces, drift, factor: None })
}

/// What instruments say. `gigabytes`: carried a second, in units of 10^9 bytes.
fn details(figures: &mut Figures, detail: &Detail, gigabytes: f64) {
    let each = |per_s: f64| (gigabytes > 0.0).then_some(per_s / gigabytes);
    put(figures, "voluntary_switches_per_gb", each(detail.voluntary_switches_per_s));
    put(figures, "handoffs_per_gb", each(detail.handoffs_per_s));
    put(figures, "lock_wait_us_per_gb", detail.lock_wait_us_per_gb);
    put(figures, "lock_wait_share", Some(detail.lock_wait_share));
    put(figures, "lock_contended_share", Some(detail.lock_contended_share));
    put(figures, "queue_residence_us", detail.queue_residence_us);
    put(figures, "latency_p50_us", Some(detail.latency.p50_us));
    put(figures, "latency_p99_us", Some(detail.latency.p99_us));
    put(figures, "jain", Some(detail.jain));
    let of = &detail.per_connection;
    put(figures, "connection_spread", (of.count > 1).then_some(of.max / of.min));
    threads(figures, detail.samples.iter().flat_map(|sample| &sample.report.threads));
}

/// What differs between threads. A thread has one packet at a time, so by Little's law the mean time
/// that a packet spends in it is its time of the processor outside the kernel, divided by its
/// packets (Yates et al. 1996, section 3).
fn threads<'a>(figures: &mut Figures, all: impl Iterator<Item = &'a ThreadReport>) {
    let packets = |thread: &ThreadReport| thread.packets_in + thread.packets_out;
    // Threads that carried packets; others only manage.
    let busy: Vec<&ThreadReport> = all.filter(|thread| packets(thread) > 0).collect();
    let spread = |of: &dyn Fn(&ThreadReport) -> f64| {
        let values = || busy.iter().map(|thread| of(thread));
        let least = values().fold(f64::INFINITY, f64::min);
        (busy.len() > 1).then_some(values().fold(0.0, f64::max) / least)
    };
    let latency_us = |thread: &ThreadReport| thread.user_s * 1e6 / packets(thread) as f64;
    put(figures, "thread_time_spread", spread(&|thread| thread.user_s + thread.system_s));
    put(figures, "thread_latency_spread", spread(&latency_us));
    let slowest = busy.iter().min_by_key(|thread| packets(thread));
    put(figures, "thread_latency_slowest_us", slowest.map(|thread| latency_us(thread)));
}

fn transfers(blocks: &Blocks) -> Result<Yield, Error> {
    let rows = blocks.run(&mut |_| {})?;
    let Some(row) = rows.first() else { return Ok(Yield::default()) };
    let mut figures = Figures::new();
    put(&mut figures, "gbit_per_s", Some(row.median));
    put(&mut figures, "cpu_s_per_gb", Some(row.cpu_s_per_gb));
    put(&mut figures, "begun_per_s", Some(row.begun_per_s));
    put(&mut figures, "completed_per_s", Some(row.completed_per_s));
    let (cacheline, paces) = (row.cacheline_ns.first().copied(), row.piece_ns.first().copied());
    Ok(Yield { figures, cacheline, paces, ..Yield::default() })
}

/// Loads a web server, once.
fn requests(web: &Web, servers: &dyn WebServers) -> Result<Yield, String> {
    let mut outcome = Err("the server was not used".to_owned());
    servers.serve(web, &mut |connect| {
        outcome = http::run(&web.load, connect).map_err(|error| error.to_string());
    })?;
    let outcome = outcome?;
    let mut figures = Figures::new();
    let answered_per_s = outcome.answered_per_s;
    put(&mut figures, "offered_requests_per_s", Some(outcome.offered_per_s));
    put(&mut figures, "completed_requests_per_s", Some(answered_per_s));
    let share = outcome.completed as f64 / outcome.offered as f64;
    put(&mut figures, "completed_share", Some(share));
    put(&mut figures, "gbit_per_s", Some(answered_per_s * web.page as f64 * 8.0 / 1e9));
    put(&mut figures, "latency_p50_us", Some(outcome.latency.p50_us));
    put(&mut figures, "latency_p99_us", Some(outcome.latency.p99_us));
    Ok(Yield { figures, ..Yield::default() })
}

/// The work of a case, as the planner names it; none if it has no name for it.
pub(super) fn work(case: &Case) -> Option<Work> {
    if case.is_of_web() {
        return None;
    }
    match (case.workload(), case.direction()) {
        (Workload::Rr, _) => Some(Work::TcpRr),
        (Workload::UdpRr, _) => Some(Work::UdpRr),
        (Workload::Crr, _) => Some(Work::TcpCrr),
        (_, Direction::Both) => None,
        (Workload::Bulk, Direction::Send) => Some(Work::TcpSend),
        (Workload::Bulk, Direction::Receive) => Some(Work::TcpReceive),
        (Workload::Udp, Direction::Send) => Some(Work::UdpSend),
        (Workload::Udp, Direction::Receive) => Some(Work::UdpReceive),
    }
}

/// Figures of a rate of operations with so many bytes of payload each.
fn rates(work: Work, operations_per_s: f64, bytes: usize) -> Figures {
    let mut figures = Figures::new();
    put(&mut figures, "operations_per_s", Some(operations_per_s));
    match work.is_transactions() {
        true => put(&mut figures, "transactions_per_s", Some(operations_per_s)),
        false => {
            put(&mut figures, "gbit_per_s", Some(operations_per_s * bytes as f64 * 8.0 / 1e9));
        }
    }
    figures
}

/// What the planner predicts for a case on this machine, with as many processors as the
/// case has.
///
/// # Errors
/// A line that says why nothing can be predicted.
pub fn predict(case: &Case, predictor: &Predictor) -> Result<Yield, String> {
    let unknown = ["preset", "presentation", "mtu", "burst", "checksum", "active", "order"];
    let unknown = unknown.iter().chain(&["loss", "reorder", "duplicate", "delay_us"]);
    if let Some(name) = unknown.into_iter().find(|name| case.0.contains_key(**name)) {
        return Err(format!("the planner predicts nothing for another {name}"));
    }
    let Some(work) = work(case) else {
        return Err("the planner predicts data that goes one way, and transactions".to_owned());
    };
    let asked = asked(case, work, predictor);
    let bytes = asked.bytes;
    let prediction = predictor.predict(&asked).map_err(|error| error.to_string())?;
    let factor = (prediction.high / prediction.low).sqrt();
    Ok(Yield {
        figures: rates(work, prediction.operations_per_s, bytes),
        factor: Some(factor),
        ..Yield::default()
    })
}

/// A case in the planner's words, with the payload that it was calibrated with.
pub(super) fn asked(case: &Case, work: Work, predictor: &Predictor) -> planner::Case {
    let organization = case.organization();
    let single = catalog::find(organization).is_some_and(|entry| entry.single);
    planner::Case {
        organization: organization.to_owned(),
        options: case.options(),
        work,
        bytes: predictor.bytes(organization, work).unwrap_or(1448),
        processors: if single { 1 } else { case.processors() },
        connections: case.count("connections").unwrap_or(16),
        steering: Steering::Even,
    }
}

/// Operations of a simulated run, of which a fifth warm it up.
const OPERATIONS: u64 = 20_000;

/// Simulates a case on the machine of a paper.
///
/// # Errors
/// A line that says why it cannot be simulated.
pub fn simulate(case: &Case, costs: &str, seed: u64) -> Result<Yield, String> {
    let machine = planner::simulator::machines::find(costs)
        .ok_or_else(|| format!("there are no costs of {costs}"))?;
    let costs = machine.costs().map_err(|error| error.to_string())?;
    let Some(work) = work(case) else {
        return Err("the simulator goes one way, or has transactions".to_owned());
    };
    let scenario = scenario(case, work, costs, seed);
    let outcome = planner::simulator::run(&scenario).map_err(|error| error.to_string())?;
    Ok(Yield { figures: figures_of(&scenario, &outcome), ..Yield::default() })
}

/// How a case is simulated with these costs.
pub(super) fn scenario(case: &Case, work: Work, costs: Costs, seed: u64) -> Scenario {
    let connections = case.count("connections").unwrap_or(16);
    let single = catalog::find(case.organization()).is_some_and(|entry| entry.single);
    let processors = if single { 1 } else { case.processors() };
    let window = case.count("window").unwrap_or((64 / connections).clamp(1, 32));
    Scenario {
        options: case.options(),
        burst: case.count("burst").unwrap_or(32),
        bytes: case.count("bytes").unwrap_or(4096),
        arrivals: Arrivals::Closed { window, think_ns: 0.0 },
        // Any thread takes any packet where packets are the unit: connections are bound to
        // no queue there.
        steering: match catalog::find(case.organization()).map(|entry| entry.simulated) {
            Some(Simulated::MessageParallel) => Steering::Hash,
            _ => Steering::Even,
        },
        seed,
        operations: OPERATIONS,
        short_lived: if work == Work::TcpCrr { connections } else { 0 },
        ..Scenario::new(case.organization(), processors, connections, work, costs)
    }
}

/// What a simulated run yields.
pub(super) fn figures_of(scenario: &Scenario, outcome: &Outcome) -> Figures {
    let mut figures = rates(scenario.work, outcome.operations_per_s, scenario.bytes);
    put(&mut figures, "latency_p50_us", Some(outcome.latency.p50_ns / 1e3));
    put(&mut figures, "latency_p99_us", Some(outcome.latency.p99_ns / 1e3));
    let spread = outcome.most_of_a_connection as f64 / outcome.least_of_a_connection as f64;
    put(&mut figures, "connection_spread", (scenario.connections > 1).then_some(spread));
    let of = &outcome.per_operation;
    let all = of.work_ns + of.lock_ns + of.hand_off_ns + of.cache_ns + of.scheduling_ns;
    let all = all + of.overhead_ns + of.idle_ns;
    put(&mut figures, "lock_wait_share", Some(of.lock_ns / all));
    figures
}

/// Computes a case by the model of Thekkath et al. 1992.
///
/// # Errors
/// A line that says what is wrong with the case.
pub fn compute(case: &Case) -> Result<Yield, String> {
    let word = |name: &str| case.0.get(name).map(Level::to_string).unwrap_or_default();
    let machine = if word("machine") == "sequent" { Machine::Sequent } else { Machine::Firefly };
    let change = match word("change").as_str() {
        "half-software" => Change::HalfSoftware,
        "fast-bus" => Change::FastBus,
        "two-queues" => Change::TwoQueues,
        _ => Change::Nothing,
    };
    let mix = if word("mix") == "mixed" { MIXED } else { SMALL };
    let class = ["74", "150", "650", "1514"].iter().position(|bytes| *bytes == word("bytes"));
    let class = class.unwrap_or(0);
    let load = case.0.get("load").and_then(Level::number).unwrap_or(0.0);
    let line = |error: planner::Error| error.to_string();
    let mut figures = Figures::new();
    let residence = thekkath1992::residence_us(machine, change, mix, load).map_err(line)?;
    put(&mut figures, "residence_us", residence.get(class).copied());
    let capacity_per_s = thekkath1992::capacity_per_s(machine, mix).map_err(line)?;
    put(&mut figures, "capacity_us", Some(1e6 / capacity_per_s));
    let network = thekkath1992::network(machine, change, mix).map_err(line)?;
    for (metric, station) in
        [("software_us", "software"), ("lock_us", "controller lock"), ("bus_us", "I/O bus")]
    {
        let station = network.stations().iter().find(|one| one.name == station);
        put(&mut figures, metric, station.map(|one| one.visits[class] * one.service_us[class]));
    }
    Ok(Yield { figures, ..Yield::default() })
}

#[cfg(test)]
mod tests;
