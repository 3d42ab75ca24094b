//! The experiments that are not one workload: blocks, hog and soak.

use super::FamilyArg;
use super::table::{cacheline, pace};
use crate::choices::{Choices, warn_of_processors};
use crate::failure::Failure;
use crate::files::Json;
use crate::progress;
use crate::quiet::Watch;
use crate::table::{render, short, thousands};
use clap::ValueEnum;
use lab::blocks::{Blocks, BlocksRow};
use lab::cacheline_latency::CachelineLatency;
use lab::hog::{Hog, HogRow, Protocol};
use lab::soak::{Leg, Soak};
use lab::speed::Paces;
use lab::{Error, Progress};
use serde::Serialize;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

const MORE_BLOCKS: &str = "\
The stack under test is a server. On each connection it sends 8 KB from memory
without a copy, and again when the client, which lives in the device, has
acknowledged them with a small message. Beside these transfers come short-lived
connections, each closed by its client as soon as it is established (Bohra 2007, 5
and figure 10).

Example:
  anabranch bench blocks --organization all --short-lived 0,1000,5000,20000";

const MORE_HOG: &str = "\
Well-behaved sockets get what they can take, at a steady rate; first alone, then
beside a socket that is sent 1000 times its share and reads no more than that. The
traffic comes from a thread of its own, straight into the device, so leave it a
processor. Latency is from the sender's stamp to delivery (tcp: to the echo).

Example:
  anabranch bench hog --organization all
  anabranch bench hog --protocol tcp --organization engines-sched,uniprocessor";

const MORE_SOAK: &str = "\
Two stacks over a bad link carry bulk transfers, requests and responses, short-lived
connections and datagrams, all at once and chosen at random. Every byte is looked at.
It ends with an error as soon as a connection or a byte is lost, or nothing happens
in a connection for 20 seconds.

Example:
  anabranch bench soak --minutes 60 --threads 2-16";

/// Which organizations, and where figures go.
#[derive(Debug, clap::Args)]
struct Common {
    /// Organizations, separated by commas, or `all`
    #[arg(long, value_delimiter = ',', default_value = "all")]
    organization: Vec<String>,
    /// Write the figures to this file, as a JSON array (`-`: to standard output,
    /// instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    #[command(flatten)]
    choices: Choices,
}

impl Common {
    fn organizations(&self) -> Vec<String> {
        if self.organization.iter().any(|name| name == "all") {
            return anabranch::Organization::all().map(|o| o.name().to_owned()).collect();
        }
        self.organization.clone()
    }

    /// Runs `experiment`, and prints its rows as `table` has them.
    fn report<T: Serialize>(
        &self,
        experiment: impl FnOnce(&mut dyn FnMut(Progress<'_>)) -> Result<Vec<T>, Error>,
        table: impl FnOnce(&[T]) -> String,
    ) -> Result<(), Failure> {
        self.choices.check(&self.organizations())?;
        let json = Json::to(self.json.as_deref())?;
        let watch = Watch::start();
        let bar = progress::samples();
        let rows = experiment(&mut |progress| progress::show(&bar, progress));
        bar.finish_and_clear();
        watch.end();
        let rows = rows.map_err(failure)?;
        json.report(&rows, || table(&rows))
    }
}

/// What kind of failure an error is.
pub fn failure(error: Error) -> Failure {
    match error {
        Error::Plan(_) | Error::Start(_) => Failure::refused(error),
        Error::Load { .. } | Error::System(_) => Failure::failed(error),
    }
}

/// `anabranch bench blocks`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE_BLOCKS)]
pub struct BlocksArgs {
    /// Processors of the server
    #[arg(long, default_value_t = 1)]
    processors: usize,
    /// Established transfers
    #[arg(long, default_value_t = 8)]
    connections: usize,
    /// Short-lived connections a second beside them; several, separated by
    /// commas, for a row each
    #[arg(long, value_delimiter = ',', default_value = "0", value_name = "RATE")]
    short_lived: Vec<f64>,
    /// Bytes of the link's largest IP datagram
    #[arg(long, default_value_t = 1500)]
    mtu: usize,
    /// Length of a sample, seconds
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Samples of each organization and rate
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    #[command(flatten)]
    common: Common,
}

impl BlocksArgs {
    pub fn run(&self) -> Result<(), Failure> {
        let blocks = Blocks {
            organizations: self.common.organizations(),
            processors: self.processors,
            connections: self.connections,
            short_lived: self.short_lived.clone(),
            mtu: self.mtu,
            seconds: self.seconds,
            repeat: self.repeat,
            options: self.common.choices.options(),
            burst: self.common.choices.burst(),
            ..Blocks::default()
        };
        blocks.check().map_err(failure)?;
        warn_of_processors(self.processors);
        self.common.report(|progress| blocks.run(progress), blocks_table)
    }
}

fn blocks_table(rows: &[BlocksRow]) -> String {
    let header = [
        "organization",
        "CPUs",
        "transfers",
        "short-lived\nasked /s",
        "begun\n/s",
        "completed\n/s",
        "Gbit/s",
        "min",
        "max",
        "of first",
        "CPU s/GB",
    ];
    let cells = |row: &BlocksRow| {
        vec![
            row.organization.clone(),
            row.processors.to_string(),
            row.connections.to_string(),
            thousands(row.short_lived_per_s),
            thousands(row.begun_per_s),
            thousands(row.completed_per_s),
            short(row.median),
            short(row.min),
            short(row.max),
            percent(row.of_first),
            format!("{:.3}", row.cpu_s_per_gb),
        ]
    };
    let table = render(&header, &rows.iter().map(cells).collect::<Vec<_>>());
    let paces = rows.iter().flat_map(|row| &row.piece_ns);
    with_state(table, rows.iter().flat_map(|row| &row.cacheline_ns), paces)
}

/// The table, how far processors were apart, if they are several, and that they changed their pace,
/// if they did.
fn with_state<'a>(
    table: String,
    ways: impl Iterator<Item = &'a CachelineLatency>,
    paces: impl Iterator<Item = &'a Paces>,
) -> String {
    let lines = cacheline(ways).into_iter().chain(pace(paces));
    lines.fold(table, |table, line| format!("{table}{line}\n"))
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ProtocolArg {
    Udp,
    Tcp,
}

/// `anabranch bench hog`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE_HOG)]
pub struct HogArgs {
    /// What the well-behaved speak: datagrams one way, or messages and their
    /// echoes. The hog speaks UDP
    #[arg(long, value_enum, default_value_t = ProtocolArg::Udp)]
    protocol: ProtocolArg,
    /// Processors of the stack under test; the traffic takes another
    #[arg(long, default_value_t = 1)]
    processors: usize,
    /// Well-behaved sockets or connections
    #[arg(long, default_value_t = 8)]
    sockets: usize,
    /// Datagrams or messages a second of each
    #[arg(long, default_value_t = 2000.0)]
    rate: f64,
    /// How many times that the hog sends
    #[arg(long, default_value_t = 1000.0)]
    factor: f64,
    /// Bytes of a datagram's payload
    #[arg(long, default_value_t = 64)]
    bytes: usize,
    /// Packets that a ring of the device holds
    #[arg(long, default_value_t = 4096)]
    ring: usize,
    /// Length of each half of a sample, alone and beside the hog, seconds
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Samples of each organization
    #[arg(long, default_value_t = 3)]
    repeat: usize,
    #[command(flatten)]
    common: Common,
}

impl HogArgs {
    pub fn run(&self) -> Result<(), Failure> {
        let hog = Hog {
            organizations: self.common.organizations(),
            processors: self.processors,
            protocol: match self.protocol {
                ProtocolArg::Udp => Protocol::Udp,
                ProtocolArg::Tcp => Protocol::Tcp,
            },
            sockets: self.sockets,
            rate: self.rate,
            factor: self.factor,
            bytes: self.bytes,
            ring: self.ring,
            seconds: self.seconds,
            repeat: self.repeat,
            options: self.common.choices.options(),
            burst: self.common.choices.burst(),
            ..Hog::default()
        };
        hog.check().map_err(failure)?;
        warn_of_processors(self.processors);
        self.common.report(|progress| hog.run(progress), hog_table)
    }
}

fn hog_table(rows: &[HogRow]) -> String {
    let header = [
        "organization",
        "CPUs",
        "sockets",
        "each\n/s",
        "hog\n/s",
        "ring\nlost of hog",
        "goodput\nalone",
        "with hog",
        "of alone",
        "ring\nlost",
        "p50 µs\nalone",
        "with hog",
        "p99 µs\nalone",
        "with hog",
        "times",
    ];
    let cells = |row: &HogRow| {
        vec![
            row.organization.clone(),
            row.processors.to_string(),
            format!("{} {}", row.sockets, row.protocol),
            thousands(row.rate_per_s),
            thousands(row.hog_per_s),
            percent(row.hog_lost_in_ring),
            percent(row.goodput_alone),
            percent(row.goodput_with_hog),
            percent(row.goodput_ratio),
            percent(row.lost_in_ring),
            short(row.p50_alone_us),
            short(row.p50_with_hog_us),
            short(row.p99_alone_us),
            short(row.p99_with_hog_us),
            short(row.p99_ratio),
        ]
    };
    let ring = rows.first().map_or(0, |row| row.ring);
    let table = render(&header, &rows.iter().map(cells).collect::<Vec<_>>());
    let table =
        format!("{table}Each of the device's rings holds {} packets.\n", thousands(ring as f64));
    let paces = rows.iter().flat_map(|row| &row.piece_ns);
    with_state(table, rows.iter().flat_map(|row| &row.cacheline_ns), paces)
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// `anabranch bench soak`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE_SOAK)]
pub struct SoakArgs {
    /// How long in all, minutes; each organization has a leg at least
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// Threads of each stack, a number or the least and the most of them
    #[arg(long, default_value = "2-16", value_name = "N|MIN-MAX", value_parser = threads)]
    threads: RangeInclusive<usize>,
    /// Connections at once, at most
    #[arg(long, default_value_t = 64)]
    connections: usize,
    /// How long one pair of stacks lives, seconds
    #[arg(long, default_value_t = 10.0)]
    leg: f64,
    /// What the link does to packets
    #[arg(
        long,
        default_value = "loss=1%,reorder=2%,duplicate=0.5%,delay=200us,jitter=100us",
        value_name = "SPEC"
    )]
    fault: device::fault::Spec,
    /// The family of the addresses
    #[arg(long, value_enum, default_value_t = FamilyArg::V4)]
    family: FamilyArg,
    /// The seed of what is chosen
    #[arg(long, default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    common: Common,
}

/// `4` or `2-16`.
fn threads(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (least, most) = text.split_once(['-', ':']).unwrap_or((text, text));
    let most = most.trim_start_matches('.');
    match (least.trim().parse(), most.trim().parse()) {
        (Ok(least), Ok(most)) if 1 <= least && least <= most && most <= 256 => Ok(least..=most),
        _ => {
            Err("write a number like 2, or the least and the most like 2-16, 256 at most"
                .to_owned())
        }
    }
}

impl SoakArgs {
    pub fn run(&self) -> Result<(), Failure> {
        let time = |seconds: f64, what| {
            let time = Duration::try_from_secs_f64(seconds).ok();
            time.filter(|time| time.as_secs() <= 7 * 86_400).ok_or_else(|| {
                Failure::refused(format!("--{what} must be a time of at most a week"))
            })
        };
        let soak = Soak {
            organizations: self.common.organizations(),
            threads: self.threads.clone(),
            connections: self.connections,
            time: time(self.minutes * 60.0, "minutes")?,
            leg: time(self.leg, "leg")?,
            faults: self.fault.clone(),
            family: self.family.into(),
            seed: self.seed,
            options: self.common.choices.options(),
        };
        soak.check().map_err(failure)?;
        let mut legs = 0;
        self.common.report(
            |progress| {
                soak.run(&mut |leg| {
                    legs += 1;
                    progress(Progress { done: legs, total: 0, organization: &leg.organization });
                })
            },
            soak_table,
        )
    }
}

fn soak_table(legs: &[Leg]) -> String {
    let header =
        ["organization", "legs", "threads", "conversations", "MB of TCP", "datagrams", "lost"];
    let mut names: Vec<&str> = Vec::new();
    for leg in legs.iter().filter(|leg| leg.conversations > 0) {
        if !names.contains(&leg.organization.as_str()) {
            names.push(&leg.organization);
        }
    }
    let rows = names.iter().map(|name| {
        let of: Vec<&Leg> = legs.iter().filter(|leg| leg.organization == *name).collect();
        let sum = |f: fn(&Leg) -> u64| of.iter().map(|leg| f(leg)).sum::<u64>() as f64;
        let least = of.iter().map(|leg| leg.threads).min().unwrap_or(0);
        let most = of.iter().map(|leg| leg.threads).max().unwrap_or(0);
        vec![
            (*name).to_owned(),
            of.len().to_string(),
            if least == most { least.to_string() } else { format!("{least} to {most}") },
            thousands(sum(|leg| leg.conversations)),
            thousands(sum(|leg| leg.bytes) / 1e6),
            thousands(sum(|leg| leg.datagrams)),
            "nothing".to_owned(),
        ]
    });
    render(&header, &rows.collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::threads;

    #[test]
    fn threads_have_bounds() {
        for text in ["2-16", "2..16", "2:16"] {
            let range = threads(&text.replace("..", "-")).expect("a range");
            assert_eq!(range, 2..=16);
        }
        assert_eq!(threads("3"), Ok(3..=3));
        for bad in ["", "0", "4-2", "x", "1-1000"] {
            assert!(threads(bad).is_err(), "{bad}");
        }
    }
}
