//! `anabranch bench`: measures the stack in memory.

use crate::failure::Failure;
use clap::ValueEnum;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use lab::{Direction, Error, Peer, Plan, Progress, Row, Workload};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

const MORE: &str = "\
Two hosts stand back to back in memory. With `uniprocessor` and `--peer stack`
both are polled by one thread; else each has as many threads as `--processors`.
Each sample has connections of its own and comes just after a measurement of the
bound: what one core copies and checksums both ways of the same payload, and
nothing else. CPU seconds are those of both ends. `crr` runs with a TIME-WAIT of
20 ms, and all runs with ephemeral ports from 1024 on, lest ports run out.

Examples:
  anabranch bench bulk --mtu 4352
  anabranch bench rr --connections 16 --organization uniprocessor,group-locks
  anabranch bench bulk --organization all --processors 2 --connections 64 --json rows.json";

/// What to measure.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// What the connections do: data without end; echoes of one message each;
    /// connect, echo, close; datagrams without end
    #[arg(value_enum)]
    workload: WorkloadArg,
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
    /// Bytes of a write and read (bulk), a message (rr, crr), or a datagram's
    /// payload (udp) [default: 65536, 64, or what fits the MTU]
    #[arg(long)]
    bytes: Option<usize>,
    /// Bytes of the link's largest IP datagram
    #[arg(long, default_value_t = 1500)]
    mtu: usize,
    /// Which way bulk and udp go, as the stack under test sees it
    #[arg(long, value_enum, default_value_t = DirectionArg::Send)]
    direction: DirectionArg,
    /// What stands at the other end: another stack, or a driver that simulates
    /// one at next to no cost
    #[arg(long, value_enum, default_value_t = PeerArg::Stack)]
    peer: PeerArg,
    /// Length of a sample, seconds
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Samples of each organization
    #[arg(long, default_value_t = 5)]
    repeat: usize,
    /// Groups of connections, for organizations that group them
    #[arg(long, default_value_t = 128)]
    groups: u16,
    /// Wire threads to processors, where the organization leaves it open
    #[arg(long)]
    pin: bool,
    /// Write the figures to this file, as a JSON array (`-`: to standard output,
    /// instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum WorkloadArg {
    Bulk,
    Rr,
    Crr,
    Udp,
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

impl Args {
    fn plan(&self) -> Plan {
        let all = self.organization.iter().any(|name| name == "all");
        let fitting = organizations_for(self.processors);
        Plan {
            workload: match self.workload {
                WorkloadArg::Bulk => Workload::Bulk,
                WorkloadArg::Rr => Workload::Rr,
                WorkloadArg::Crr => Workload::Crr,
                WorkloadArg::Udp => Workload::Udp,
            },
            organizations: if all { fitting } else { self.organization.clone() },
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
                PeerArg::Stack => Peer::Stack,
                PeerArg::Driver => Peer::Driver,
            },
            seconds: self.seconds,
            repeat: self.repeat,
            options: self.options(),
            ..Plan::default()
        }
    }

    fn options(&self) -> anabranch::Options {
        anabranch::Options { groups: self.groups, pin: self.pin, ..Default::default() }
    }

    fn to_stdout(&self) -> bool {
        self.json.as_deref() == Some(Path::new("-"))
    }
}

/// The names of all organizations that run on so many processors.
fn organizations_for(processors: usize) -> Vec<String> {
    let fits = |entry: &&anabranch::organizations::Entry| processors == 1 || !entry.single;
    let catalog = anabranch::organizations::CATALOG.iter().filter(fits);
    catalog.map(|entry| entry.name.to_owned()).collect()
}

/// Measures, and prints what it found.
///
/// # Errors
/// [`Failure`]: code 2 for a plan that makes no sense, 1 for a load that failed.
pub fn run(args: Args) -> Result<(), Failure> {
    let plan = args.plan();
    plan.check().map_err(Failure::refused)?;
    // A file that cannot be written is better known before than after.
    let file = match args.json.as_deref().filter(|_| !args.to_stdout()) {
        Some(path) => Some(create(path)?),
        None => None,
    };
    let bar = progress_bar();
    let rows = lab::run(&plan, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let rows = rows.map_err(|error| match error {
        Error::Plan(_) | Error::Start(_) => Failure::refused(error),
        Error::Load { .. } | Error::System(_) => Failure::failed(error),
    })?;
    if args.to_stdout() {
        write_json(std::io::stdout().lock(), &rows)
    } else {
        println!("{}", table(&rows));
        file.map_or(Ok(()), |file| write_json(file, &rows))
    }
}

fn create(path: &Path) -> Result<std::fs::File, Failure> {
    std::fs::File::create(path).map_err(|error| {
        Failure::refused(format!(
            "cannot write {}: {error}: choose another --json file",
            path.display()
        ))
    })
}

fn write_json(mut to: impl Write, rows: &[Row]) -> Result<(), Failure> {
    serde_json::to_writer_pretty(&mut to, rows).map_err(Failure::failed)?;
    writeln!(to).map_err(Failure::failed)
}

fn progress_bar() -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos}/{len} samples  {msg}");
    let bar = ProgressBar::new(0);
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn show(bar: &ProgressBar, progress: Progress<'_>) {
    bar.set_length(progress.total as u64);
    bar.set_position(progress.done as u64);
    bar.set_message(progress.organization.to_owned());
}

/// The rows as a table, for people.
pub fn table(rows: &[Row]) -> Table {
    let Some(first) = rows.first() else { return Table::new() };
    let cost = if first.cpu_s_per_gb.is_some() { "CPU s/GB" } else { "CPU s/100k" };
    let mut table = Table::new();
    table.load_style(presets::UTF8_FULL_CONDENSED).set_header([
        "workload",
        "organization",
        "CPUs",
        "conns",
        "bytes",
        "MTU",
        "direction",
        first.unit,
        "min",
        "max",
        cost,
        "switches/s",
        "bound Gbit/s",
        "of bound",
        "a core",
    ]);
    for row in rows {
        let number = |value: f64| if value >= 1000.0 { thousands(value) } else { short(value) };
        let cost = row.cpu_s_per_gb.or(row.cpu_s_per_100k).unwrap_or(0.0);
        let connections = match row.active {
            active if active == row.connections => row.connections.to_string(),
            active => format!("{active} of {}", row.connections),
        };
        table.add_row([
            row.workload.to_owned(),
            row.organization.clone(),
            row.processors.to_string(),
            connections,
            row.payload_bytes.to_string(),
            row.mtu.to_string(),
            row.direction.to_owned(),
            number(row.median),
            number(row.min),
            number(row.max),
            format!("{cost:.3}"),
            thousands(row.context_switches_per_s),
            short(row.bound_gbit_per_s),
            format!("{:.1} %", 100.0 * row.ratio_to_bound),
            format!("{:.1} %", 100.0 * row.ratio_to_bound_per_core),
        ]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

/// Three digits that count.
fn short(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v => format!("{v:.2}"),
    }
}

/// Whole, with a comma between thousands.
fn thousands(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn args(words: &[&str]) -> Args {
        Command::try_parse_from(["bench"].iter().chain(words)).expect("good").args
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(thousands(1_234_567.8), "1,234,568");
        assert_eq!(thousands(999.0), "999");
        assert_eq!([short(123.4), short(12.34), short(1.234)], ["123", "12.3", "1.23"]);
    }

    #[test]
    fn all_means_those_that_fit() {
        let plan = args(&["bulk", "--organization", "all", "--processors", "2"]).plan();
        assert!(plan.organizations.len() > 1);
        assert!(!plan.organizations.contains(&"uniprocessor".to_owned()));
        let two = args(&["rr", "--organization", "global-lock,group-locks"]).plan();
        assert_eq!(two.organizations, ["global-lock", "group-locks"]);
    }

    #[test]
    fn a_short_run_gives_a_table() {
        let mut plan = args(&["bulk", "--seconds", "0.05", "--repeat", "1"]).plan();
        (plan.warm_up, plan.bound) = (0.01, 0.002);
        let rows = lab::run(&plan, &mut |_| {}).expect("figures");
        let text = table(&rows).to_string();
        assert!(text.contains("uniprocessor") && text.contains("Gbit/s"), "{text}");
    }

    #[test]
    fn a_plan_that_makes_no_sense_is_refused() {
        for words in [&["bulk", "--organization", "nobody"][..], &["rr", "--connections", "0"]] {
            let failure = run(args(words)).expect_err("bad");
            assert!(!failure.to_string().contains('\n'));
        }
    }
}
