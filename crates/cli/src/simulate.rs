//! `anabranch simulate`: processors that are not there, under any organization.

mod costs;
mod interval;
mod numbers;
mod output;

use crate::bench::OfFamily;
use crate::choices::Choices;
use crate::failure::Failure;
use crate::files::{Json, Output, distinct};
use crate::progress;
use anabranch::Organization;
use numbers::Numbers;
use output::Row;
use planner::load::MOST_BYTES;
use planner::simulator::scenario::Steering;
use planner::simulator::{Arrivals, Outcome, Scenario, sweep};
use planner::{Load, Work};
use std::io::Read;
use std::path::{Path, PathBuf};

const MORE: &str = "\
Simulates stacks event by event on processors that need not be there, with what
things cost from a calibration of this machine (`anabranch calibrate`), from a
paper, or from a file. The same seed gives the same figures on every machine, to
the last byte of --json.

Without --rate, loads are closed: every connection has --window operations under
way, and the figure is what the stack can do. With --rate, operations come whether
it can or not, and the figure is how long they take. What finds no room is dropped.

Examples:
  anabranch simulate --processors 1..64 --svg curves.svg
  anabranch simulate --organization group-locks,engines --work udp-rr --rate 400k/s
  anabranch simulate --costs schmidt1996 --processors 1..20 --work tcp-receive";

/// The most scenarios of a run.
const MOST_SCENARIOS: usize = 10_000;
/// The longest time to think, µs.
const MOST_THINK_US: f64 = 1e12;
/// The largest trace that is read, bytes.
const MOST_TRACE_BYTES: u64 = 1 << 30;
/// What of it is looked at before the rest is read, bytes.
const START_OF_TRACE: u64 = 64 << 10;

/// What to simulate.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// Organizations, separated by commas, or `all`
    #[arg(long, value_delimiter = ',', default_value = "all")]
    organization: Vec<String>,
    /// Processors: a list, or ends like 1..64, between which they double; 1..64/1
    /// is each
    #[arg(long, value_name = "LIST", default_value = "1..16")]
    processors: Numbers,
    /// Connections, or flows of UDP: a list or ends, likewise
    #[arg(long, value_name = "LIST", default_value = "256")]
    connections: Numbers,
    /// What they do: tcp-rr, tcp-crr, tcp-send, tcp-receive, udp-rr, udp-send, udp-receive
    #[arg(long, value_name = "NAME", default_value = "tcp-rr", value_parser = work)]
    work: Work,
    /// Bytes of payload of an operation [default: 64, or a full packet of Ethernet
    /// for send and receive]
    #[arg(long, value_name = "N")]
    bytes: Option<usize>,
    /// How many operations come, like 400k/s or 2/ms [default: closed, as fast as
    /// it goes]
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// How they come: poisson, deterministic, bursty:N (N at once), or trace:FILE
    /// (a time in ns a line) [default: poisson]
    #[arg(long, value_name = "PATTERN")]
    arrivals: Option<String>,
    /// Closed loads: operations under way for each connection [default: 1 of rr,
    /// else as many as keep a batch going]
    #[arg(long, value_name = "N", conflicts_with_all = ["rate", "arrivals"])]
    window: Option<usize>,
    /// Closed loads: from an answer until the next operation, µs, on average
    #[arg(long, value_name = "µs", default_value_t = 0.0, conflicts_with_all = ["rate", "arrivals"])]
    think: f64,
    /// Of the connections, how many open anew for each operation
    #[arg(long, value_name = "N", default_value_t = 0)]
    short_lived: usize,
    /// Queues of the device [default: as many as processors]
    #[arg(long, value_name = "N")]
    queues: Option<usize>,
    /// Connections come to queues and units evenly, and not by a hash
    #[arg(long)]
    even: bool,
    #[command(flatten)]
    costs: costs::Given,
    /// The same seed gives the same figures
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Operations that are simulated for each row, a fifth of them to warm up
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    operations: u64,
    /// Write the figures to this file, as a JSON array (`-`: to standard output,
    /// instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write curves against processors to this file, as SVG: operations a second,
    /// or with --rate the 99th percentile of the latency
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    // Last, as its heading is that of all that follows.
    #[command(flatten)]
    choices: Choices,
}

/// Simulates, and prints what came out.
///
/// # Errors
/// [`Failure`]: code 2 for what makes no sense, 1 for what went wrong.
pub fn run(args: &Args) -> Result<(), Failure> {
    let organizations = args.organizations()?;
    args.choices.check(&organizations)?;
    args.choices.check_simulated()?;
    args.check()?;
    args.check_files()?;
    let arrivals = args.arrivals()?;
    let charged = args.scenarios(&organizations, &arrivals)?;
    let scenarios = &charged.scenarios;
    for scenario in scenarios {
        scenario.check().map_err(Failure::refused)?;
    }
    let json = Json::to(args.json.as_deref())?;
    let svg = args.svg.as_deref().map(|path| Output::new("--svg", path)).transpose()?;
    let rows = simulated(&charged)?;
    if let Some(file) = svg {
        file.write(&output::figure(&rows, arrivals.is_some(), &charged.source)?)?;
    }
    let named: Vec<OfFamily<'_, Row>> =
        rows.iter().map(|row| OfFamily::new(charged.family, row)).collect();
    json.report(&named, || output::table(&rows, &charged))
}

/// Simulates all scenarios.
fn simulated(charged: &costs::Charged) -> Result<Vec<Row>, Failure> {
    let scenarios = &charged.scenarios;
    let bar = progress::bar(scenarios.len() as u64, "{bar:30} {pos}/{len} simulated  {elapsed}");
    let outcomes: Result<Vec<Outcome>, planner::Error> =
        sweep(scenarios, |done| bar.set_position(done as u64)).into_iter().collect();
    let outcomes = outcomes.map_err(Failure::failed)?;
    let further = |done: usize, all: usize| {
        bar.set_length((scenarios.len() + all) as u64);
        bar.set_position((scenarios.len() + done) as u64);
    };
    let intervals = charged.doubts.as_ref();
    let intervals =
        intervals.map(|doubts| interval::of(scenarios, &outcomes, doubts, further)).transpose()?;
    bar.finish_and_clear();
    let interval = |row: usize| intervals.as_ref().map(|all| all[row]);
    let rows = scenarios.iter().zip(outcomes).enumerate();
    Ok(rows.map(|(row, (scenario, outcome))| Row::new(scenario, outcome, interval(row))).collect())
}

impl Args {
    fn organizations(&self) -> Result<Vec<String>, Failure> {
        if self.organization.iter().any(|name| name == "all") {
            return Ok(Organization::all().map(|o| o.name().to_owned()).collect());
        }
        for name in &self.organization {
            if name.parse::<Organization>().is_err() {
                let names: Vec<&str> = Organization::all().map(Organization::name).collect();
                return Err(Failure::refused(format!(
                    "there is no organization '{name}': choose from {}, or all",
                    names.join(", ")
                )));
            }
        }
        Ok(self.organization.clone())
    }

    fn bytes(&self) -> usize {
        self.bytes.unwrap_or(Load::default_bytes(self.work))
    }

    /// Arrivals from outside; none: a closed load.
    fn arrivals(&self) -> Result<Option<Arrivals>, Failure> {
        let pattern = self.arrivals.as_deref();
        if let Some(path) = pattern.and_then(|pattern| pattern.strip_prefix("trace:")) {
            if self.rate.is_some() {
                return Err(Failure::refused("a trace has a rate of its own: leave out --rate"));
            }
            return trace(Path::new(path)).map(Some);
        }
        let Some(rate) = &self.rate else {
            return match pattern {
                None => Ok(None),
                Some(pattern) => Err(Failure::refused(format!(
                    "--arrivals {pattern} goes with a rate: add one, like --rate 400k/s"
                ))),
            };
        };
        let rate_per_s = self.rate_per_s(rate)?;
        let arrivals = match pattern.unwrap_or("poisson").split_once(':') {
            None if pattern == Some("deterministic") => Arrivals::Deterministic { rate_per_s },
            None if matches!(pattern, None | Some("poisson")) => Arrivals::Poisson { rate_per_s },
            None if pattern == Some("bursty") => {
                Arrivals::Bursty { rate_per_s, burst: 32.0, gap_ns: 0.0 }
            }
            Some(("bursty", burst)) => {
                let burst = burst.parse().map_err(|_| {
                    Failure::refused(format!(
                        "a burst of '{burst}': write a number, like bursty:32"
                    ))
                })?;
                Arrivals::Bursty { rate_per_s, burst, gap_ns: 0.0 }
            }
            _ => {
                return Err(Failure::refused(format!(
                    "--arrivals {}: choose from poisson, deterministic, bursty:N, trace:FILE",
                    pattern.unwrap_or_default()
                )));
            }
        };
        arrivals.check().map_err(Failure::refused)?;
        Ok(Some(arrivals))
    }

    /// Reads a rate as loads write it.
    fn rate_per_s(&self, rate: &str) -> Result<f64, Failure> {
        let (protocol, what) = self.work.name().split_once('-').unwrap_or_default();
        let per = if rate.contains('/') { "" } else { "/s" };
        let bytes = self.bytes();
        let words = format!("{protocol} {what} {bytes}B, 1 connections, {rate}{per}");
        let load = words.parse::<Load>().ok();
        load.and_then(|load| load.rate_per_s).ok_or_else(|| {
            Failure::refused(format!(
                "--rate {rate}: write one like 400k/s, more than 0 and at most 1e10/s"
            ))
        })
    }

    /// What [`Scenario::check`] takes for something else, or leaves open.
    fn check(&self) -> Result<(), Failure> {
        let bytes = self.bytes();
        if !(1..=MOST_BYTES).contains(&bytes) {
            return Err(Failure::refused(format!(
                "--bytes {bytes}: an operation has 1 to {MOST_BYTES}"
            )));
        }
        if !(0.0..=MOST_THINK_US).contains(&self.think) {
            return Err(Failure::refused(format!(
                "--think {:e}: give 0 to {MOST_THINK_US:e} µs",
                self.think
            )));
        }
        if self.queues == Some(0) {
            return Err(Failure::refused(
                "--queues 0: a device has one at least; leave it out for as many as processors",
            ));
        }
        Ok(())
    }

    /// Is nothing written over that is read, or written twice?
    fn check_files(&self) -> Result<(), Failure> {
        let (option, costs) = self.costs.file();
        let trace = self.arrivals.as_deref().and_then(|pattern| pattern.strip_prefix("trace:"));
        distinct(&[
            (option, costs.as_deref()),
            ("--arrivals", trace.map(Path::new)),
            ("--json", self.json.as_deref()),
            ("--svg", self.svg.as_deref()),
        ])
    }

    /// All of them, organization by organization.
    fn scenarios(
        &self,
        organizations: &[String],
        arrivals: &Option<Arrivals>,
    ) -> Result<costs::Charged, Failure> {
        let mut cases = Vec::new();
        for name in organizations {
            // What runs on one processor stands beside the others.
            let single = name.parse().is_ok_and(Organization::is_single);
            let alone = single && (organizations.len() > 1 || self.processors.0.contains(&1));
            let processors = if alone { &[1][..] } else { &self.processors.0 };
            for connections in &self.connections.0 {
                cases.extend(processors.iter().map(|count| (name, *count, *connections)));
            }
        }
        if cases.len() > MOST_SCENARIOS {
            return Err(Failure::refused(format!(
                "{} rows are too many, {MOST_SCENARIOS} at most: give fewer --processors or --connections",
                cases.len()
            )));
        }
        let scenario = |(name, processors, connections): &(&String, usize, usize)| Scenario {
            options: self.choices.options_on(*processors),
            queues: self.queues.unwrap_or(0),
            burst: self.choices.burst(),
            bytes: self.bytes(),
            arrivals: arrivals.clone().unwrap_or(self.closed(*connections)),
            steering: if self.even { Steering::Even } else { Steering::Hash },
            // As the costs are fitted, which `engines` in particular go by.
            short_lived: match (self.work, self.short_lived) {
                (Work::TcpCrr, 0) => *connections,
                (_, given) => given,
            },
            seed: self.seed,
            operations: self.operations,
            ..Scenario::new(name, *processors, *connections, self.work, Default::default())
        };
        let scenarios: Vec<Scenario> = cases.iter().map(scenario).collect();
        // Before costs are fitted, which takes seconds.
        for scenario in &scenarios {
            scenario.check_asked().map_err(Failure::refused)?;
        }
        self.costs.apply(scenarios)
    }

    fn closed(&self, connections: usize) -> Arrivals {
        let enough = if self.work.is_transactions() { 1 } else { (64 / connections).clamp(1, 32) };
        Arrivals::Closed { window: self.window.unwrap_or(enough), think_ns: self.think * 1e3 }
    }
}

fn work(name: &str) -> Result<Work, String> {
    let found = Work::ALL.into_iter().find(|work| work.name() == name);
    found.ok_or_else(|| format!("choose from {}", Work::ALL.map(Work::name).join(", ")))
}

fn trace(path: &Path) -> Result<Arrivals, Failure> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        Failure::refused(format!("cannot read the trace {shown}: {error}: name a readable file"))
    };
    let refused = |error: &dyn std::fmt::Display| Failure::refused(format!("{shown}: {error}"));
    let parse = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => Arrivals::trace(text).map_err(|error| refused(&error)),
        Err(_) => Err(refused(&"it is no text: a trace has one time in ns a line")),
    };
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(path).map_err(unreadable)?.take(MOST_TRACE_BYTES + 1);
    file.by_ref().take(START_OF_TRACE).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 == START_OF_TRACE {
        // What is no trace is not read to its end, which there may not be.
        let Some(whole) = bytes.iter().rposition(|byte| *byte == b'\n') else {
            return Err(refused(&"its first line does not end: a trace has one time in ns a line"));
        };
        parse(&bytes[..whole])?;
    }
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MOST_TRACE_BYTES {
        return Err(refused(&"the trace is longer than 1 GiB: cut it"));
    }
    parse(&bytes)
}

#[cfg(test)]
mod tests;
