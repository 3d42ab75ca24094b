//! `anabranch lab goodput`: our TCP and the kernel's through the same box.

mod cell;
mod flows;
mod middle;
pub mod share;

use crate::failure::Failure;
use crate::files::Json;
use crate::progress;
use crate::table::{render_left, short};
use cell::{Outcome, Path, Sender, run};
use lab::median;
use serde::Serialize;
use std::path::PathBuf;
use std::sync::Mutex;

const MORE: &str = "\
A box in user space stands between the sender and the kernel of a private namespace, which
receives. The sender is our stack or the kernel of another namespace, with CUBIC, in turns
and with the same seed of the box. `again` counts segments sent again, `spurious` those of
them that had arrived already, as the receiver's D-SACKs say. Losses keep most of these
paths far from their rates, so several are measured at the same time. Needs root.

Examples:
  anabranch lab goodput --rate 100 --loss 1 --rtt 50 --reorder 0
  anabranch lab goodput --seconds 20 --repeat 3 --json goodput.json";

/// How long each sends if nobody says: seconds, and round trips.
const LEAST: f64 = 10.0;
const ROUND_TRIPS: f64 = 100.0;

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
    /// Time that each sender has, seconds [default: 10, or 100 round trips where that is longer]
    #[arg(long)]
    seconds: Option<f64>,
    /// How often each does it; medians count
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    repeat: u32,
    /// Paths that are measured at the same time; fewer where they carry all of 1 Gbit/s
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: u8,
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
    /// Ours as a part of the kernel's: of the medians over the repetitions.
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
        let rows = self.rows(&self.paths())?;
        json.report(&rows, || table(&rows))
    }

    /// Several paths at a time, each by a thread. After a failure none begins.
    fn rows(&self, paths: &[Path]) -> Result<Vec<Row>, Failure> {
        let bar = progress::spinner();
        let next = Mutex::new(paths.iter().enumerate());
        let (rows, failed) = (Mutex::new(Vec::new()), Mutex::new(None));
        let work = || {
            while lock(&failed).is_none() {
                // Not in the condition: the lock would be held for all of the row.
                let Some((n, path)) = lock(&next).next() else { return };
                bar.set_message(format!("{} of {}: {path:?}", n + 1, paths.len()));
                match self.row(n, *path) {
                    Ok(row) => lock(&rows).push((n, row)),
                    Err(failure) => *lock(&failed) = Some(failure),
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..usize::from(self.jobs).min(paths.len()) {
                scope.spawn(work);
            }
        });
        bar.finish_and_clear();
        if let Some(failure) = lock(&failed).take() {
            return Err(failure);
        }
        let mut rows = std::mem::take(&mut *lock(&rows));
        rows.sort_by_key(|(n, _)| *n);
        Ok(rows.into_iter().map(|(_, row)| row).collect())
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
        match self.seconds.is_none_or(|seconds| (0.1..=3600.0).contains(&seconds)) {
            true => Ok(()),
            false => Err(Failure::refused("--seconds must be from 0.1 to 3600")),
        }
    }

    /// How long each sends over a path, seconds: else a run over a long path is little but its slow
    /// start, whose end chance decides.
    fn seconds(&self, path: Path) -> f64 {
        self.seconds.unwrap_or_else(|| (ROUND_TRIPS * path.rtt / 1e3).max(LEAST))
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

    /// Both senders in turns: who begins changes. Each path has chances of its own: else the same
    /// frames would be late or lost in all of them, and all would be one sample.
    fn row(&self, number: usize, path: Path) -> Result<Row, Failure> {
        let mut row = Row { path, ratio: 0.0, ours: Vec::new(), linux: Vec::new() };
        for n in 0..self.repeat {
            let seed = self.seed.wrapping_add(u64::from(n) + 1000 * number as u64);
            let one = |sender| run(sender, path, self.seconds(path), seed);
            let (ours, linux) = match n % 2 {
                0 => (one(Sender::Ours)?, one(Sender::Linux)?),
                _ => {
                    let linux = one(Sender::Linux)?;
                    (one(Sender::Ours)?, linux)
                }
            };
            row.ours.push(ours);
            row.linux.push(linux);
        }
        let goodput = |outcomes: &[Outcome]| of(outcomes, |o| o.goodput);
        row.ratio = goodput(&row.ours) / goodput(&row.linux).max(1.0);
        Ok(row)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The median of a figure.
fn of(outcomes: &[Outcome], figure: fn(&Outcome) -> f64) -> f64 {
    median(&outcomes.iter().map(figure).collect::<Vec<_>>())
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
    format!("{}\n{}\n", render_left(0, &header, &body), verdict(rows))
}

/// How many paths are good, and what all of them together sent for nothing.
fn verdict(rows: &[Row]) -> String {
    let least = |ratio| rows.iter().filter(|row| row.ratio >= ratio).count();
    let (good, fair) = (least(0.9), least(0.7));
    let all = |of: fn(&Row) -> &[Outcome]| -> (u64, u64) {
        let sum = |(n, again), o: &Outcome| (n + o.spurious, again + o.retransmits);
        rows.iter().flat_map(of).fold((0, 0), sum)
    };
    let (ours, linux) = (all(|row| &row.ours), all(|row| &row.linux));
    format!(
        "{good} of {} paths at 0.9 of the kernel's or more, {} under 0.7\n\
        sent again for nothing: ours {} of {}, Linux {} of {}, ratio {:.2}",
        rows.len(),
        rows.len() - fair,
        ours.0,
        ours.1,
        linux.0,
        linux.1,
        ours.0 as f64 / linux.0.max(1) as f64,
    )
}

#[cfg(test)]
mod tests;
