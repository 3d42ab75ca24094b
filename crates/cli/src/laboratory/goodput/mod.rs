//! `anabranch lab goodput`: our TCP and the kernel's through the same box.

mod cell;
mod middle;

use crate::failure::Failure;
use crate::files::Json;
use crate::progress;
use crate::table::{render_left, short};
use cell::{Outcome, Path, Sender, run};
use lab::median;
use serde::Serialize;
use std::path::PathBuf;

const MORE: &str = "\
A box in user space stands between the sender and the kernel of a private namespace, which
receives. The sender is our stack or the kernel of another namespace, with CUBIC, in turns
and with the same seed of the box. `again` counts segments sent again, `spurious` those of
them that had arrived already, as the receiver's D-SACKs say. Needs root.

Examples:
  anabranch lab goodput --rate 100 --loss 1 --rtt 50 --reorder 0
  anabranch lab goodput --seconds 10 --repeat 3 --json goodput.json";

/// Which paths, and for how long.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// Part of the frames that is lost, percent
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "0.1,1,3")]
    loss: Vec<f64>,
    /// Round-trip time without queues, milliseconds
    #[arg(long, value_name = "MS", value_delimiter = ',', default_value = "10,50,100,250")]
    rtt: Vec<f64>,
    /// Part of the frames that is held up, by up to a quarter of a round trip, percent
    #[arg(long, value_name = "PERCENT", value_delimiter = ',', default_value = "0,3")]
    reorder: Vec<f64>,
    /// Rate of the path, Mbit/s
    #[arg(long, value_name = "MBIT", value_delimiter = ',', default_value = "100,1000")]
    rate: Vec<f64>,
    /// Time that each sender has, seconds
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// How often each does it; medians count
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Seed of the box
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures to this file, as JSON (`-`: to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What one path gave.
#[derive(Debug, Serialize)]
struct Row {
    #[serde(flatten)]
    path: Path,
    /// Ours as a part of the kernel's: the median over the repetitions.
    ratio: f64,
    ours: Vec<Outcome>,
    linux: Vec<Outcome>,
}

impl Args {
    /// Sends over each path, and prints what came of it.
    ///
    /// # Errors
    /// [`Failure`]: code 2 for what makes no sense or is not allowed, 1 if a connection fails.
    pub fn run(&self) -> Result<(), Failure> {
        self.check()?;
        let json = Json::to(self.json.as_deref())?;
        let bar = progress::spinner();
        let mut rows = Vec::new();
        for path in self.paths() {
            bar.set_message(format!("{path:?}"));
            rows.push(self.row(path)?);
        }
        bar.finish_and_clear();
        json.report(&rows, || table(&rows))
    }

    fn check(&self) -> Result<(), Failure> {
        let parts = self.loss.iter().chain(&self.reorder);
        if let Some(part) = parts.into_iter().find(|part| !(0.0..100.0).contains(*part)) {
            return Err(Failure::refused(format!(
                "{part} is no part: give 0 to below 100 percent"
            )));
        }
        if let Some(rtt) = self.rtt.iter().find(|rtt| !(0.0..=10_000.0).contains(*rtt)) {
            let what = format!("a round trip of {rtt} ms is not possible: give 0 to 10000");
            return Err(Failure::refused(what));
        }
        if let Some(rate) = self.rate.iter().find(|rate| !(0.1..=100_000.0).contains(*rate)) {
            let what = format!("a rate of {rate} Mbit/s is not possible: give 0.1 to 100000");
            return Err(Failure::refused(what));
        }
        match (0.1..=3600.0).contains(&self.seconds) {
            true => Ok(()),
            false => Err(Failure::refused("--seconds must be from 0.1 to 3600")),
        }
    }

    fn paths(&self) -> Vec<Path> {
        let mut paths = Vec::new();
        for &rate in &self.rate {
            for &reorder in &self.reorder {
                for &loss in &self.loss {
                    let rate = (rate * 1e6) as u64;
                    paths.extend(self.rtt.iter().map(|&rtt| Path { loss, rtt, reorder, rate }));
                }
            }
        }
        paths
    }

    /// Both senders in turns: who begins changes.
    fn row(&self, path: Path) -> Result<Row, Failure> {
        let mut row = Row { path, ratio: 0.0, ours: Vec::new(), linux: Vec::new() };
        let mut ratios = Vec::new();
        for n in 0..self.repeat {
            let seed = self.seed.wrapping_add(n.into());
            let one = |sender| run(sender, path, self.seconds, seed);
            let (ours, linux) = match n % 2 {
                0 => (one(Sender::Ours)?, one(Sender::Linux)?),
                _ => {
                    let linux = one(Sender::Linux)?;
                    (one(Sender::Ours)?, linux)
                }
            };
            ratios.push(ours.goodput / linux.goodput.max(1.0));
            row.ours.push(ours);
            row.linux.push(linux);
        }
        row.ratio = median(&ratios);
        Ok(row)
    }
}

fn table(rows: &[Row]) -> String {
    let header = [
        "Mbit/s",
        "RTT\nms",
        "loss\n%",
        "reordered\n%",
        "ours\nMbit/s",
        "Linux\nMbit/s",
        "ratio",
        "ours\nagain",
        "Linux\nagain",
        "ours\nspurious",
        "Linux\nspurious",
    ];
    let of = |outcomes: &[Outcome], figure: fn(&Outcome) -> f64| {
        median(&outcomes.iter().map(figure).collect::<Vec<_>>())
    };
    let cells = |row: &Row| {
        let Row { path, ratio, ours, linux } = row;
        let whole = |figure: f64| format!("{figure:.0}");
        vec![
            whole(path.rate as f64 / 1e6),
            short(path.rtt),
            format!("{}", path.loss),
            format!("{}", path.reorder),
            short(of(ours, |o| o.goodput / 1e6)),
            short(of(linux, |o| o.goodput / 1e6)),
            short(*ratio),
            whole(of(ours, |o| o.retransmits as f64)),
            whole(of(linux, |o| o.retransmits as f64)),
            whole(of(ours, |o| o.spurious as f64)),
            whole(of(linux, |o| o.spurious as f64)),
        ]
    };
    let body: Vec<Vec<String>> = rows.iter().map(cells).collect();
    let least = |ratio| rows.iter().filter(|row| row.ratio >= ratio).count();
    let (good, fair) = (least(0.9), least(0.7));
    format!(
        "{}\n{good} of {} paths at 0.9 of the kernel's or more, {} under 0.7\n",
        render_left(0, &header, &body),
        rows.len(),
        rows.len() - fair,
    )
}
