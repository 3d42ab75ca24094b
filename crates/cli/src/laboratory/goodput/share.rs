//! `anabranch lab fairness`: our TCP beside itself and beside the kernel's, on one path.

use super::cell::{Path, Sender};
use super::flows::{Times, share};
use crate::failure::Failure;
use crate::files::Json;
use crate::progress;
use crate::table::{render_left, short};
use serde::Serialize;
use simulator::jain;
use std::path::PathBuf;

const MORE: &str = "\
The connections go through one box in user space with one queue, of what the path holds in a
round trip, to the kernel of a private namespace. They begin one after another; what arrives
after --warm-up counts. Index is Jain's: 1 if all have the same, 0.5 if one of two has all.
CUBIC needs some 8 s from one loss to the next at 100 ms and 50 Mbit/s (K of RFC 9438 4.2),
and several of these to give half to who came second, so it takes three minutes. Needs root.

Examples:
  anabranch lab fairness
  anabranch lab fairness --rtt 20 --rate 20 --seconds 60 --json fairness.json";

/// Which paths, and for how long.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// Round-trip time without queues, milliseconds
    #[arg(long, value_name = "MS", value_delimiter = ',', default_value = "10,100")]
    rtt: Vec<f64>,
    /// Rate of the path, Mbit/s
    #[arg(long, value_name = "MBIT", default_value_t = 50.0)]
    rate: f64,
    /// Time that counts, seconds
    #[arg(long, default_value_t = 150.0)]
    seconds: f64,
    /// Time before it, seconds
    #[arg(long, default_value_t = 30.0)]
    warm_up: f64,
    /// Seed of the box
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures to this file, as JSON (`-`: to standard output, instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What each connection had.
#[derive(Debug, Serialize)]
struct Row {
    rtt: f64,
    rate: u64,
    senders: [Sender; 2],
    /// Bits a second.
    goodput: Vec<f64>,
    index: f64,
}

impl Args {
    /// Measures each pair on each path, all of them at the same time, and prints the shares.
    ///
    /// # Errors
    /// [`Failure`]: code 2 for what makes no sense or is not allowed, 1 if a connection fails.
    pub fn run(&self) -> Result<(), Failure> {
        self.check()?;
        let json = Json::to(self.json.as_deref())?;
        let bar = progress::spinner();
        bar.set_message(format!("{} s", self.warm_up + self.seconds));
        let rows = std::thread::scope(|scope| {
            let pairs = [[Sender::Ours; 2], [Sender::Ours, Sender::Linux]];
            let cases = self.rtt.iter().flat_map(|rtt| pairs.map(|pair| (*rtt, pair)));
            let runs: Vec<_> =
                cases.map(|(rtt, pair)| scope.spawn(move || self.row(rtt, pair))).collect();
            let joined = runs.into_iter().map(|run| run.join());
            joined
                .map(|row| row.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect::<Result<Vec<Row>, Failure>>()
        });
        bar.finish_and_clear();
        let rows = rows?;
        json.report(&rows, || table(&rows))
    }

    fn check(&self) -> Result<(), Failure> {
        if let Some(rtt) = self.rtt.iter().find(|rtt| !(0.0..=10_000.0).contains(*rtt)) {
            let what = format!("a round trip of {rtt} ms is not possible: give 0 to 10000");
            return Err(Failure::refused(what));
        }
        if !(0.1..=100_000.0).contains(&self.rate) {
            let what = format!("a rate of {} Mbit/s is not possible", self.rate);
            return Err(Failure::refused(format!("{what}: give 0.1 to 100000")));
        }
        match (0.1..=3600.0).contains(&self.seconds) && (0.0..=3600.0).contains(&self.warm_up) {
            true => Ok(()),
            false => Err(Failure::refused("--seconds must be from 0.1 to 3600, --warm-up from 0")),
        }
    }

    fn row(&self, rtt: f64, senders: [Sender; 2]) -> Result<Row, Failure> {
        let rate = (self.rate * 1e6) as u64;
        let path = Path { loss: 0.0, rtt, reorder: 0.0, rate };
        let times = Times::new(self.warm_up, self.seconds);
        let goodput = share(&senders, path, times, self.seed)?;
        let index = jain(&goodput);
        Ok(Row { rtt, rate, senders, goodput, index })
    }
}

fn table(rows: &[Row]) -> String {
    let header =
        ["Mbit/s", "RTT\nms", "first", "second", "first\nMbit/s", "second\nMbit/s", "index"];
    let name = |sender| match sender {
        Sender::Ours => "ours".into(),
        Sender::Linux => "Linux".into(),
    };
    let cells = |row: &Row| {
        let [first, second] = row.senders.map(name);
        let had = |n: usize| short(row.goodput.get(n).copied().unwrap_or(0.0) / 1e6);
        let rate = short(row.rate as f64 / 1e6);
        let index = format!("{:.3}", row.index);
        vec![rate, short(row.rtt), first, second, had(0), had(1), index]
    };
    let body: Vec<Vec<String>> = rows.iter().map(cells).collect();
    format!("{}\n", render_left(0, &header, &body))
}
