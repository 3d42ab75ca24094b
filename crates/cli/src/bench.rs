//! `anabranch bench`: measures the stack in memory, and its web server over TAP.

mod drivers;
mod experiments;
mod http;
mod idle;
pub mod table;

use crate::choices::{Choices, warn_of_processors};
use crate::failure::Failure;
use crate::files::Json;
use crate::progress;
use crate::quiet::Watch;
use clap::{Subcommand, ValueEnum};
use drivers::Drivers;
use experiments::{BlocksArgs, HogArgs, SoakArgs, failure};
use lab::{BenchPlan, Direction, Family, Peer, Workload};
use std::path::PathBuf;
use table::table;

/// The most processors that are tried, on as many as there are.
const MOST_PROCESSORS: usize = 1024;

const MORE: &str = "\
Two hosts stand back to back in memory. With `uniprocessor` and `--peer stack`
both are polled by one thread; else each has as many threads as `--processors`.
Each sample has connections of its own and comes just after a measurement of the
bound: what one core copies and checksums both ways of the same payload, and
nothing else. Connections carry nothing until all are open. CPU seconds are those of
both ends. `crr` runs with a TIME-WAIT of
20 ms, and all runs with ephemeral ports from 1024 on, so that ports do not run out.

Examples:
  anabranch bench bulk --mtu 4352
  anabranch bench rr --connections 16 --organization uniprocessor,group-locks
  anabranch bench rr --family 6
  anabranch bench bulk --organization all --processors 2 --connections 64 --json rows.json";

/// `anabranch bench`.
#[derive(Debug, clap::Args)]
pub struct Bench {
    #[command(subcommand)]
    experiment: Experiment,
}

/// What is done.
#[derive(Debug, Subcommand)]
enum Experiment {
    /// TCP: data without end
    Bulk(Box<Args>),
    /// TCP: messages and their echoes, one outstanding on each connection
    Rr(Box<Args>),
    /// TCP: connect, one message and its echo, close, and again
    Crr(Box<Args>),
    /// UDP: datagrams without end
    Udp(Box<Args>),
    /// UDP: datagrams of a driver and their echoes, one outstanding on each flow
    UdpRr(Box<Args>),
    /// TCP: blocks from memory, beside short-lived connections
    Blocks(Box<BlocksArgs>),
    /// What well-behaved sockets keep beside one that is flooded
    Hog(Box<HogArgs>),
    /// Everything at once over a bad link, looking at every byte
    Soak(Box<SoakArgs>),
    /// What connections cost in memory that rest, up to a million of them
    Idle(idle::IdleArgs),
    /// The web server over TAP, beside the same one on the kernel's sockets
    Http(Box<http::Args>),
}

/// What to measure.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// Organizations, separated by commas, or `all`; their samples are
    /// interleaved
    #[arg(long, value_delimiter = ',', default_value = "uniprocessor")]
    organization: Vec<String>,
    /// Processors of the stack under test (a peer stack has as many)
    #[arg(long, default_value_t = 1)]
    processors: usize,
    /// Connections, or flows of udp
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// How many of them carry anything [default: all]
    #[arg(long)]
    active: Option<usize>,
    /// Bytes of a write and read (bulk), a message (rr, crr, udp-rr), or a
    /// datagram's payload (udp) [default: 65536, 64, or what fits the MTU]
    #[arg(long)]
    bytes: Option<usize>,
    /// Bytes of the link's largest IP datagram
    #[arg(long, default_value_t = 1500)]
    mtu: usize,
    /// Which way bulk and udp go, as the stack under test sees it
    #[arg(long, value_enum, default_value_t = DirectionArg::Send)]
    direction: DirectionArg,
    /// What stands at the other end: another stack, or a driver that simulates
    /// one at next to no cost [default: stack; of udp-rr, driver]
    #[arg(long, value_enum)]
    peer: Option<PeerArg>,
    /// The family of the addresses
    #[arg(long, value_enum, default_value_t = FamilyArg::V4)]
    family: FamilyArg,
    /// Readers wait with their buffers, so that data is verified as it is copied there
    /// (bulk)
    #[arg(long)]
    posted: bool,
    /// Let all segments go through the layers, at both ends: none takes the express way
    #[arg(long)]
    no_express: bool,
    /// Confine all threads to the first processors, as many as --processors says
    #[arg(long)]
    confine: bool,
    /// Length of a sample, seconds
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Samples of each organization
    #[arg(long, default_value_t = 5)]
    repeat: usize,
    /// Measure without instruments, which cost transactions up to 2 %
    #[arg(long)]
    no_instruments: bool,
    /// Write the figures to this file, as a JSON array (`-`: to standard output,
    /// instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    congestion: crate::congestion::Congestion,
    #[command(flatten)]
    choices: Choices,
    #[command(flatten)]
    drivers: Drivers,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum DirectionArg {
    Send,
    Receive,
    Both,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PeerArg {
    Stack,
    Driver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FamilyArg {
    #[value(name = "4")]
    V4,
    #[value(name = "6")]
    V6,
}

/// What is said of addresses of a family, in JSON.
#[derive(Debug, serde::Serialize)]
pub struct OfFamily<'a, T> {
    /// `4` or `6`; none, if it is of neither.
    family: Option<&'static str>,
    #[serde(flatten)]
    said: &'a T,
}

impl<'a, T> OfFamily<'a, T> {
    /// Of this family, or of none.
    pub fn new(family: Option<FamilyArg>, said: &'a T) -> OfFamily<'a, T> {
        OfFamily { family: family.map(|family| Family::from(family).name()), said }
    }
}

impl From<FamilyArg> for Family {
    fn from(family: FamilyArg) -> Family {
        match family {
            FamilyArg::V4 => Family::V4,
            FamilyArg::V6 => Family::V6,
        }
    }
}

impl Args {
    fn plan(&self, workload: Workload) -> BenchPlan {
        let all = self.organization.iter().any(|name| name == "all");
        let names = || anabranch::Organization::all().map(|o| o.name().to_owned());
        let plan = BenchPlan {
            workload,
            organizations: if all { names().collect() } else { self.organization.clone() },
            processors: self.processors,
            connections: self.connections,
            active: self.active,
            bytes: self.bytes,
            mtu: self.mtu,
            direction: match self.direction {
                DirectionArg::Send => Direction::Send,
                DirectionArg::Receive => Direction::Receive,
                DirectionArg::Both => Direction::Both,
            },
            peer: match self.peer {
                Some(PeerArg::Driver) => Peer::Driver,
                None if workload == Workload::UdpRr => Peer::Driver,
                Some(PeerArg::Stack) | None => Peer::Stack,
            },
            family: self.family.into(),
            posted: self.posted,
            express: !self.no_express,
            confine: self.confine,
            seconds: self.seconds,
            repeat: self.repeat,
            congestion: self.congestion.algorithm(),
            options: self.choices.options(),
            burst: self.choices.burst(),
            instruments: !self.no_instruments,
            reference: all,
            ..BenchPlan::default()
        };
        self.drivers.apply(plan)
    }
}

/// Does the experiment, and prints what it found.
///
/// # Errors
/// [`Failure`]: code 2 for a plan that makes no sense, 1 for a load that failed.
pub fn run(bench: Bench) -> Result<(), Failure> {
    match bench.experiment {
        Experiment::Bulk(args) => measure(&args, Workload::Bulk),
        Experiment::Rr(args) => measure(&args, Workload::Rr),
        Experiment::Crr(args) => measure(&args, Workload::Crr),
        Experiment::Udp(args) => measure(&args, Workload::Udp),
        Experiment::UdpRr(args) => measure(&args, Workload::UdpRr),
        Experiment::Blocks(args) => args.run(),
        Experiment::Hog(args) => args.run(),
        Experiment::Soak(args) => args.run(),
        Experiment::Idle(args) => args.run(),
        Experiment::Http(args) => args.run(),
    }
}

/// Can so many processors be tried?
fn check_processors(plan: &BenchPlan) -> Result<(), Failure> {
    if plan.processors > MOST_PROCESSORS {
        return Err(Failure::refused(format!("processors must be from 1 to {MOST_PROCESSORS}")));
    }
    let is_single = |name: &&String| name.parse().is_ok_and(anabranch::Organization::is_single);
    match plan.organizations.iter().find(is_single) {
        Some(name) if plan.processors > 1 && !plan.reference => Err(Failure::refused(format!(
            "{name} runs on one processor, not on {}: change --processors or --organization",
            plan.processors
        ))),
        _ => Ok(()),
    }
}

/// Measures a workload.
fn measure(args: &Args, workload: Workload) -> Result<(), Failure> {
    let plan = args.plan(workload);
    plan.check().map_err(Failure::refused)?;
    check_processors(&plan)?;
    args.choices.check(&plan.organizations)?;
    warn_of_processors(plan.processors);
    let json = Json::to(args.json.as_deref())?;
    let watch = Watch::start();
    let bar = progress::samples();
    let rows = lab::run(&plan, &mut |progress| progress::show(&bar, progress));
    bar.finish_and_clear();
    watch.end();
    let rows = rows.map_err(failure)?;
    json.report(&rows, || table(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        bench: Bench,
    }

    fn bench(words: &[&str]) -> Bench {
        Command::try_parse_from(["bench"].iter().chain(words)).expect("good").bench
    }

    fn plan(words: &[&str]) -> BenchPlan {
        match bench(words).experiment {
            Experiment::Bulk(args) => args.plan(Workload::Bulk),
            Experiment::Rr(args) => args.plan(Workload::Rr),
            Experiment::Crr(args) => args.plan(Workload::Crr),
            Experiment::Udp(args) => args.plan(Workload::Udp),
            Experiment::UdpRr(args) => args.plan(Workload::UdpRr),
            other => panic!("{other:?} has no plan"),
        }
    }

    #[test]
    fn presets_and_choices() {
        let plan = plan(&["bulk", "--preset", "yates", "--engines", "1-2", "--lock", "mcs"]);
        assert_eq!((plan.mtu, plan.bytes, plan.peer), (4352, Some(4096), Peer::Driver));
        assert_eq!((plan.options.engines, plan.options.lock.name()), ((1, 2), "mcs"));
        let both = Command::try_parse_from(["bench", "bulk", "--preset", "yates", "--mtu", "1500"]);
        assert!(both.is_err());
    }

    #[test]
    fn all_means_all() {
        let all = plan(&["bulk", "--organization", "all", "--processors", "2"]);
        assert_eq!(all.organizations.len(), anabranch::Organization::all().len());
        assert!(all.reference);
        let two = plan(&["rr", "--organization", "global-lock,group-locks"]);
        assert_eq!(two.organizations, ["global-lock", "group-locks"]);
    }

    #[test]
    fn a_short_run_gives_a_table() {
        let mut plan = plan(&["bulk", "--seconds", "0.05", "--repeat", "1"]);
        (plan.warm_up, plan.bound) = (0.01, 0.002);
        let rows = lab::run(&plan, &mut |_| {}).expect("figures");
        let text = table(&rows);
        assert!(text.contains("uniprocessor") && text.contains("Gbit/s"), "{text}");
        assert!(text.contains("lock ms/s") && text.contains("Jain"), "{text}");
        plan.instruments = false;
        let text = table(&lab::run(&plan, &mut |_| {}).expect("figures"));
        assert!(!text.contains("Jain"), "{text}");
    }

    #[test]
    fn each_load_runs_over_ipv6() {
        for load in ["bulk", "rr", "crr", "udp"] {
            let words = [load, "--family", "6", "--seconds", "0.05", "--repeat", "1"];
            let mut plan = plan(&words);
            (plan.warm_up, plan.bound) = (0.01, 0.002);
            plan.organizations = vec!["uniprocessor".to_owned(), "layer-parallel".to_owned()];
            let rows = lab::run(&plan, &mut |_| {}).expect("figures");
            assert!(rows.iter().all(|row| row.family == "6" && row.median > 0.0), "{load}");
            assert!(table(&rows).contains("IPv6"), "{load}");
        }
    }

    #[test]
    fn what_runs_on_one_processor_stands_beside_the_others() {
        let mut plan = plan(&["bulk", "--seconds", "0.05", "--repeat", "1", "--processors", "2"]);
        (plan.warm_up, plan.bound, plan.reference) = (0.01, 0.002, true);
        plan.organizations = vec!["uniprocessor".to_owned(), "group-locks".to_owned()];
        let rows = lab::run(&plan, &mut |_| {}).expect("figures");
        assert_eq!(rows.iter().map(|row| row.processors).collect::<Vec<_>>(), [1, 2]);
        assert!(table(&rows).contains("uniprocessor*"));
    }

    #[test]
    fn a_plan_that_makes_no_sense_is_refused() {
        for words in [
            &["bulk", "--organization", "nobody"][..],
            &["rr", "--connections", "0"],
            &["bulk", "--family", "6", "--mtu", "1200"],
        ] {
            let failure = run(bench(words)).expect_err("bad");
            assert!(!failure.to_string().contains('\n'));
        }
    }
}
