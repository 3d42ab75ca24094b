//! `anabranch model`: a queueing network, solved.

mod paper;
mod report;

use crate::failure::Failure;
use crate::files::{Json, Output, distinct};
use clap::ValueEnum;
use planner::bounds::{Bounds, bounds};
use planner::figure::{Series, lines};
use planner::{Network, Solution};
use serde::Serialize;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

const MORE: &str = "\
The file names classes of customers (of packets, say) and the stations that they
visit, with the service of a visit in microseconds:

  name = \"a stack under one lock\"
  rate_per_s = 50_000                      # of all classes with a share

  [[class]]
  name = \"small\"
  share = 0.8                              # or rate_per_s, or population and think_us
  [[class]]
  name = \"large\"
  share = 0.2

  [[station]]
  name = \"protocol\"
  kind = \"delay\"                           # delay, queue, multi-server, split, lock
  service_us = { small = 10, large = 18 }  # a number: the same for all classes
  [[station]]
  name = \"stack\"
  kind = \"lock\"
  visits = 2
  service_us = 4
  acquire_us = 0.1                         # and release_us, transfer_us

multi-server takes `servers`; split takes `queues`, or `shares` for each queue.
docs/planner.md has the formulas and what is approximate about them.

Examples:
  anabranch model stack.toml
  anabranch model stack.toml --rate 80000
  anabranch model stack.toml --sweep 10000..110000 --svg stack.svg
  anabranch model users.toml --sweep 1..64 --json -
  anabranch model --paper thekkath1992 --svg figures

Exit code: 0 solved, 1 the figures could not be written, 2 the file or the arguments
make no sense, or a station saturates.";

/// The greatest length of a file, bytes.
const LONGEST_FILE: u64 = 16 << 20;

/// The greatest number of figures, by class and station, that are kept at once.
const MOST_FIGURES: usize = 1_000_000;

/// The arguments of `model`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// The queueing network, TOML
    #[arg(required_unless_present = "paper")]
    file: Option<PathBuf>,
    /// Customers a second, of all classes in the file's mix
    #[arg(long, value_name = "PER_S", conflicts_with = "paper")]
    rate: Option<f64>,
    /// Customers in the one class of a closed network
    #[arg(long, value_name = "CUSTOMERS", conflicts_with_all = ["paper", "rate"])]
    population: Option<u32>,
    /// Solve for each of several rates (or populations, if the network is closed)
    #[arg(long, value_name = "FROM..TO", conflicts_with_all = ["paper", "rate", "population"])]
    sweep: Option<Sweep>,
    /// Of a sweep: how many
    #[arg(long, default_value = "20", requires = "sweep",
          value_parser = clap::value_parser!(u32).range(2..=10_000))]
    steps: u32,
    /// Write the figures to this file, as a JSON array (`-`: to standard output,
    /// instead of the table)
    #[arg(long, value_name = "FILE", conflicts_with = "paper")]
    json: Option<PathBuf>,
    /// Draw residence times over the sweep, or over 10 to 90 % of what the network
    /// can do; with --paper: figures 2 to 8, into this directory
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Compute a paper again, instead of a file
    #[arg(long, conflicts_with = "file")]
    paper: Option<Paper>,
}

/// A paper whose tables come with the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Paper {
    /// Thekkath, Eager, Lazowska and Levy: A Performance Analysis of Network I/O in
    /// Shared-Memory Multiprocessors
    Thekkath1992,
}

/// From the first to the last of several rates or populations.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Sweep {
    from: f64,
    to: f64,
}

impl FromStr for Sweep {
    type Err = String;

    fn from_str(text: &str) -> Result<Sweep, String> {
        let ends = text.split_once("..").ok_or("write it like 1000..50000")?;
        let end = |text: &str| text.replace('_', "").parse::<f64>();
        match (end(ends.0), end(ends.1)) {
            (Ok(from), Ok(to)) if from >= 0.0 && from < to && to <= planner::network::LARGEST => {
                Ok(Sweep { from, to })
            }
            _ => Err("write it like 1000..50000, from less to more, at most 1e12".into()),
        }
    }
}

/// A network, solved, as JSON.
#[derive(Debug, Serialize)]
struct Solved {
    /// The total rate of open classes, customers a second; none: the network is closed.
    rate_per_s: Option<f64>,
    /// The population of each closed class.
    populations: Vec<u32>,
    bounds: Bounds,
    solution: Solution,
}

/// Solves what it was given and reports.
pub fn run(args: &Args) -> Result<(), Failure> {
    let Some(file) = &args.file else { return paper::run(args.svg.as_deref()) };
    let (json, svg) = (args.json.as_deref(), args.svg.as_deref());
    distinct(&[("FILE", Some(file)), ("--json", json), ("--svg", svg)])?;
    let json = Json::to(args.json.as_deref())?;
    let mut network = read(file, args.given_rate())?;
    if let Some(rate_per_s) = args.rate {
        network = network.with_rate(rate_per_s).map_err(Failure::refused)?;
    }
    if let Some(population) = args.population {
        network = network.with_population(population).map_err(Failure::refused)?;
    }
    let solved = match args.sweep {
        None => vec![solve(&network)?],
        Some(sweep) => over(&network, &sweep.values(&network, args.steps))?,
    };
    // Files first: one that cannot be written is no figure.
    if let Some(path) = &args.svg {
        let drawn = match args.sweep {
            None => over(&network, &default_sweep(&network)?)?,
            Some(_) => Vec::new(),
        };
        let figure = draw(&network, if drawn.is_empty() { &solved } else { &drawn })?;
        Output::new("--svg", path)?.write(&figure)?;
    }
    let words = || match (args.sweep, solved.first()) {
        (None, Some(one)) => report::one(&network, one),
        _ => report::sweep(&network, &solved),
    };
    json.report(&solved, words)
}

impl Args {
    /// The rate that replaces the file's.
    fn given_rate(&self) -> Option<f64> {
        self.rate.or(self.sweep.map(|sweep| sweep.from))
    }
}

/// The network in a file, which need not say its rate if `rate_per_s` is given.
fn read(path: &Path, rate_per_s: Option<f64>) -> Result<Network, Failure> {
    let refused =
        |error: &dyn std::fmt::Display| Failure::refused(format!("{}: {error}", path.display()));
    let mut text = String::new();
    let file = std::fs::File::open(path);
    file.and_then(|file| file.take(LONGEST_FILE + 1).read_to_string(&mut text)).map_err(
        |error| {
            refused(&format!("{error}: name a readable file of text, `--help` shows what is in it"))
        },
    )?;
    if text.len() as u64 > LONGEST_FILE {
        return Err(refused(&"it is longer than 16 MiB: name a file with a queueing network"));
    }
    Network::from_toml_at(&text, rate_per_s).map_err(|error| refused(&error))
}

fn solve(network: &Network) -> Result<Solved, Failure> {
    Ok(Solved {
        rate_per_s: network.is_open().then(|| network.rate_per_s()),
        populations: network.populations(),
        bounds: bounds(network),
        solution: network.solve().map_err(Failure::refused)?,
    })
}

/// The network at each of these rates or populations.
fn over(network: &Network, values: &[f64]) -> Result<Vec<Solved>, Failure> {
    let figures = values.len() * network.stations().len() * network.classes().len();
    if figures > MOST_FIGURES {
        return Err(Failure::refused(format!(
            "{} solutions of this network have {figures} figures, more than {MOST_FIGURES}: ask \
             for fewer --steps",
            values.len()
        )));
    }
    let at = |value: &f64| {
        let network = match network.is_open() {
            true => network.with_rate(*value),
            false => network.with_population(*value as u32),
        };
        solve(&network.map_err(Failure::refused)?)
    };
    values.iter().map(at).collect()
}

impl Sweep {
    /// As far apart from each other; populations are whole, and each once.
    fn values(self, network: &Network, steps: u32) -> Vec<f64> {
        let width = (self.to - self.from) / f64::from(steps - 1);
        let values = (0..steps).map(|step| self.from + width * f64::from(step));
        if network.is_open() {
            return values.collect();
        }
        let mut values: Vec<f64> = values.map(|value| value.round().max(1.0)).collect();
        values.dedup();
        values
    }
}

/// 10 to 90 % of what an open network can do; up to twice the population of a
/// closed one.
fn default_sweep(network: &Network) -> Result<Vec<f64>, Failure> {
    let sweep = match bounds(network) {
        Bounds::Open(open) => match open.saturates_at_per_s {
            Some(limit) => Sweep { from: 0.1 * limit, to: 0.9 * limit },
            None => Sweep { from: 0.0, to: 2.0 * network.rate_per_s().max(1.0) },
        },
        Bounds::Closed(_) => match network.populations()[..] {
            [population] => Sweep { from: 1.0, to: 2.0 * f64::from(population) },
            _ => {
                return Err(Failure::refused(
                    "a closed network of several classes has no one population to draw over: \
                     leave out --svg",
                ));
            }
        },
    };
    Ok(sweep.values(network, 33))
}

/// Residence by class over rates, or throughput and residence over populations.
fn draw(network: &Network, solved: &[Solved]) -> Result<String, Failure> {
    let x = |one: &Solved| match one.rate_per_s {
        Some(rate) => rate,
        None => one.populations.iter().map(|n| f64::from(*n)).sum(),
    };
    let series: Vec<Series> = network
        .classes()
        .iter()
        .enumerate()
        .map(|(class, named)| {
            let y = |one: &Solved| one.solution.classes[class].residence_us;
            Series::new(&named.name, solved.iter().map(|one| (x(one), y(one))).collect())
        })
        .collect();
    let label = match network.is_open() {
        true => "arrival rate, customers/s",
        false => "customers",
    };
    let name = match network.name() {
        "" => "residence time by class",
        name => name,
    };
    lines(name, label, "residence time, µs", &series).map_err(Failure::refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network(load: &str) -> Network {
        let station = "station = [{ name = \"x\", kind = \"queue\", service_us = 10 }]";
        Network::from_toml(&format!("class = [{{ name = \"a\", {load} }}]\n{station}"))
            .expect("good")
    }

    #[test]
    fn sweeps() {
        let open = network("rate_per_s = 5");
        let sweep: Sweep = "1_000..5000".parse().expect("good");
        assert_eq!(sweep.values(&open, 5), [1000.0, 2000.0, 3000.0, 4000.0, 5000.0]);
        let closed = network("population = 5");
        let sweep: Sweep = "0..4".parse().expect("good");
        assert_eq!(sweep.values(&closed, 20), [1.0, 2.0, 3.0, 4.0]);
        for bad in ["", "5", "5..", "..5", "5..5", "9..5", "-1..5", "nan..5", "1..inf", "1..1e13"] {
            assert!(bad.parse::<Sweep>().is_err(), "{bad}");
        }
        assert_eq!(default_sweep(&closed).expect("one class").last(), Some(&10.0));
        let drawn = default_sweep(&open).expect("open");
        assert!((drawn[0] - 10_000.0).abs() < 1e-6, "{}", drawn[0]);
        assert_eq!(drawn.len(), 33);
    }

    /// It has customers, and their throughput follows: a rate of 0 would deny that.
    #[test]
    fn a_closed_network_has_no_rate() {
        let solved = solve(&network("population = 5")).expect("solved");
        let json = serde_json::to_value(&solved).expect("values");
        assert!(json["rate_per_s"].is_null(), "{json}");
        assert!(json["solution"]["throughput_per_s"].as_f64() > Some(0.0), "{json}");
    }

    #[test]
    fn json_has_all_figures() {
        let solved = solve(&network("rate_per_s = 50_000")).expect("stable");
        let json = serde_json::to_value(&solved).expect("values");
        assert_eq!(json["rate_per_s"], 50_000.0);
        assert_eq!(json["bounds"]["open"]["station"], "x");
        assert_eq!(json["solution"]["method"], "open");
        assert_eq!(json["solution"]["stations"][0]["kind"], "queue");
        assert_eq!(json["solution"]["stations"][0]["utilization"], 0.5);
        assert_eq!(json["solution"]["classes"][0]["residence_us"], 20.0);
    }
}
