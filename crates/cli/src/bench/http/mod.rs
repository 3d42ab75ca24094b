//! `anabranch bench http`: the web server of `serve` on this stack and on the kernel's, under
//! the same load, side by side.

mod load;
mod servers;

use crate::failure::Failure;
use crate::files::Json;
use crate::progress;
use crate::quiet::Watch;
use crate::serve::organization_names;
use crate::table::{render_left, short, thousands};
use clap::ValueEnum;
use load::{Figures, Generator, Task};
use serde::Serialize;
use servers::{Servers, Which};
use std::path::PathBuf;

const MORE: &str = "\
Everything happens in a private network, as root or where users may have one. Each server
is a process of its own, `anabranch serve`, with a file of --bytes: on this stack over TAP
with its tasks on the stack's own threads (own) or on a pool's (pool), and on the kernel's
sockets (kernel), over veth where there is the command `ip`, else over loopback. The client
is the kernel's in all cases. All servers stand there all the time; in each round they have
the load in turn, so that what else the machine does falls on all alike.

The load is that of wrk, if it is installed, else our own: connections with a request
outstanding on each. Ours takes more of the processors than wrk does, so compare figures
with those beside them only.

Examples:
  sudo anabranch bench http
  sudo anabranch bench http --servers own,kernel --connections 1 --bytes 64
  sudo anabranch bench http --organization uniprocessor --json http.json";

/// What to measure.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// Which servers, separated by commas; figures stand beside those of the kernel if that
    /// is among them
    #[arg(long, value_enum, value_delimiter = ',', default_value = "own,pool,kernel")]
    servers: Vec<Which>,
    /// Parallel organization of this stack
    #[arg(long, value_name = "NAME", default_value = "processor-per-connection",
          value_parser = organization_names())]
    organization: String,
    /// Processors of this stack [default: the machine's]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=64))]
    processors: Option<u16>,
    /// Connections, each with one request outstanding
    #[arg(long, default_value_t = 64, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=2048))]
    connections: u16,
    /// Bytes of the file that is asked for
    #[arg(long, default_value_t = 32 * 1024, value_name = "N",
          value_parser = clap::value_parser!(u32).range(..=1 << 30))]
    bytes: u32,
    /// Length of a sample, whole seconds
    #[arg(long, default_value_t = 3, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=3600))]
    seconds: u16,
    /// Rounds: samples of each server
    #[arg(long, default_value_t = 3, value_name = "N",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    repeat: u16,
    /// Where the load comes from
    #[arg(long, value_enum, default_value_t = Generator::Best)]
    load: Generator,
    /// Write the figures to this file, as a JSON array (`-`: to standard output,
    /// instead of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// What came of one server.
#[derive(Debug, Serialize)]
struct Row {
    server: &'static str,
    /// Which way it went.
    over: &'static str,
    /// Where the load came from.
    load: &'static str,
    connections: u16,
    bytes: u32,
    /// Requests a second: the median of the samples, the least and the greatest.
    per_s: f64,
    min_per_s: f64,
    max_per_s: f64,
    /// Medians of the samples' latencies, µs.
    p50_us: f64,
    p99_us: f64,
    /// Processor time of the server for a request, µs.
    server_us: f64,
    /// The median of the ratios to the kernel in the same round.
    to_kernel: Option<f64>,
    failed: u64,
}

impl Args {
    /// Measures, and prints what came of it.
    ///
    /// # Errors
    /// [`Failure`]: code 2 if there can be no such network or server, 1 if a load failed.
    pub fn run(&self) -> Result<(), Failure> {
        let json = Json::to(self.json.as_deref())?;
        let generator = self.load.found()?;
        // First of all: a process with threads may make no network of its own.
        device::namespace::enter_private().map_err(Failure::refused)?;
        let servers = Servers::start(self)?;
        let watch = Watch::start();
        let bar = progress::bar(
            u64::from(self.repeat) * servers.len() as u64,
            "{bar:30} {pos}/{len} samples  {elapsed}  {msg}",
        );
        let mut samples: Vec<Vec<Figures>> = servers.iter().map(|_| Vec::new()).collect();
        for round in 0..usize::from(self.repeat) {
            for turn in 0..servers.len() {
                // Nobody is always the first.
                let index = (turn + round) % servers.len();
                let server = &servers[index];
                bar.set_message(server.which.name());
                let task = Task {
                    address: server.address,
                    connections: self.connections.into(),
                    seconds: self.seconds,
                    bytes: self.bytes,
                };
                let before = server.cpu_seconds();
                let mut figures = task.run(generator)?;
                figures.server_s = server.cpu_seconds() - before;
                samples[index].push(figures);
                bar.inc(1);
            }
        }
        bar.finish_and_clear();
        watch.end();
        let rows = self.rows(&servers, &samples, generator);
        drop(servers);
        json.report(&rows, || table(&rows))
    }

    fn rows(&self, servers: &Servers, samples: &[Vec<Figures>], generator: Generator) -> Vec<Row> {
        let kernel = servers.iter().position(|server| server.which == Which::Kernel);
        let kernel = kernel.map(|index| &samples[index]);
        let median = |values: Vec<f64>| lab::median(&values);
        let rows = servers.iter().zip(samples).map(|(server, samples)| {
            let of = |f: fn(&Figures) -> f64| samples.iter().map(f).collect::<Vec<_>>();
            let per_s = of(|figures| figures.per_s);
            let ratios = kernel.map(|kernel| {
                let pairs = samples.iter().zip(kernel);
                median(pairs.map(|(ours, theirs)| ours.per_s / theirs.per_s).collect())
            });
            Row {
                server: server.which.name(),
                over: server.over,
                load: generator.name(),
                connections: self.connections,
                bytes: self.bytes,
                min_per_s: per_s.iter().copied().fold(f64::INFINITY, f64::min),
                max_per_s: per_s.iter().copied().fold(0.0, f64::max),
                per_s: median(per_s),
                p50_us: median(of(|figures| figures.p50_us)),
                p99_us: median(of(|figures| figures.p99_us)),
                server_us: median(of(|f| 1e6 * f.server_s / (f.requests as f64).max(1.0))),
                to_kernel: ratios,
                failed: samples.iter().map(|figures| figures.failed).sum(),
            }
        });
        rows.collect()
    }
}

/// The rows, under what they have in common.
fn table(rows: &[Row]) -> String {
    let Some(first) = rows.first() else { return String::new() };
    let header = [
        "server",
        "over",
        "requests/s",
        "min",
        "max",
        "p50\nus",
        "p99\nus",
        "server us\na request",
        "failed",
        "of the\nkernel",
    ];
    let cells = |row: &Row| {
        vec![
            row.server.to_owned(),
            row.over.to_owned(),
            thousands(row.per_s),
            thousands(row.min_per_s),
            thousands(row.max_per_s),
            short(row.p50_us),
            short(row.p99_us),
            short(row.server_us),
            row.failed.to_string(),
            row.to_kernel.map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
        ]
    };
    let cells: Vec<_> = rows.iter().map(cells).collect();
    format!(
        "http, {} connections, {} bytes, load by {}\n{}",
        first.connections,
        first.bytes,
        first.load,
        render_left(2, &header, &cells).trim_end()
    )
}

/// For `--help` and messages: the name of a value.
fn name_of<T: ValueEnum>(value: &T) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

#[cfg(test)]
mod tests;
