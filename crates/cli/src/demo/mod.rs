//! `anabranch demo`: everything once, in a network of its own.

mod client;
pub mod host;
pub mod pages;
mod verdict;

use crate::failure::Failure;
use crate::link::{Kind, LINKS};
use crate::progress;
use crate::say::say;
use anabranch::Organization;
use client::Client;
use host::{Family, Host, Wanted};
use indicatif::ProgressBar;
use pages::Pages;
use std::sync::Arc;
use verdict::{Figure, Figures};

const ABOUT: &str = "\
Makes a private network namespace with a TAP device in it, and serves the web over
it in each parallel organization, while the kernel's own TCP fetches a large file,
many small ones, and opens many connections. What arrives is compared by SHA-256.
Then it measures the organizations in memory. No root is needed where the system
allows user namespaces and /dev/net/tun is open to all (see `anabranch doctor`);
where there can be no TAP device, it all runs in memory. It takes about a minute on
two processors, and leaves nothing behind.

Exit code: 0 if all that arrived was right, 1 if not.";

/// How much to do.
#[derive(Debug, clap::Args)]
#[command(after_help = ABOUT)]
pub struct Args {
    /// MiB of the large file
    #[arg(long, value_name = "N", default_value_t = 256,
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub mebibytes: u32,
    /// Small requests, on connections that are kept
    #[arg(long, value_name = "N", default_value_t = 4000,
          value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub requests: u32,
    /// Small requests with a new connection each
    #[arg(long, value_name = "N", default_value_t = 1000,
          value_parser = clap::value_parser!(u32).range(1..=20_000))]
    pub connections: u32,
    /// The family of the addresses; what is measured in memory goes by IPv4
    #[arg(long, value_name = "FAMILY", default_value = "4")]
    pub family: Family,
    /// Length of each of the samples in memory, seconds; 0 takes none
    #[arg(long, value_name = "S", default_value_t = 0.3)]
    pub seconds: f64,
}

/// Shows what there is.
///
/// # Errors
/// [`Failure`] if anything that arrived was wrong, or nothing could be tried.
pub fn run(args: Args) -> Result<(), Failure> {
    if !(0.0..=10.0).contains(&args.seconds) {
        return Err(Failure::refused("--seconds is not 0 to 10: choose one like 0.3"));
    }
    let link = choose_link(&|line| say(line))?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from).min(16);
    let pages = Arc::new(Pages::new(u64::from(args.mebibytes) << 20));
    let bar = bar();
    let mut buffer = vec![1; pages.large_len() as usize];
    let mut figures = Vec::new();
    for organization in Organization::all() {
        let processors = if organization.is_single() { 1 } else { processors };
        bar.set_message(organization.name());
        figures.push(show(&args, link, organization, processors, &pages, &mut buffer, &bar)?);
    }
    drop(buffer);
    bar.set_message("in memory");
    verdict::measure_in_memory(&mut figures, args.seconds)?;
    bar.inc(REPEAT);
    bar.finish_and_clear();
    let way = match args.family {
        Family::V4 => link.way.to_owned(),
        family => format!("{} by {}", link.way, family.name()),
    };
    say(verdict::table(&figures, &way, args.mebibytes));
    say(verdict::sentence(&figures, &way));
    Ok(())
}

/// The first kind of device that can be had; says why not the others.
///
/// # Errors
/// [`Failure`], if there is none.
pub fn choose_link(tell: &dyn Fn(String)) -> Result<&'static Kind, Failure> {
    // Before any thread exists: else there is no user namespace to be had.
    for kind in LINKS {
        match (kind.prepare)() {
            Ok(line) => {
                tell(line.to_owned());
                return Ok(kind);
            }
            Err(why) => tell(format!("No {} here: {why}.", kind.title)),
        }
    }
    Err(Failure::failed("there is no device here: `anabranch doctor` says what mends it"))
}

/// Samples of each figure, and steps of the progress bar for each organization.
const REPEAT: u64 = 3;

fn bar() -> ProgressBar {
    let steps = REPEAT * (Organization::all().len() as u64 + 1);
    progress::ticking(progress::bar(steps, "{bar:30} {elapsed} {msg}"))
}

/// Serves in one organization, and fetches.
fn show(
    args: &Args,
    link: &Kind,
    organization: Organization,
    processors: usize,
    pages: &Arc<Pages>,
    buffer: &mut [u8],
    bar: &ProgressBar,
) -> Result<Figures, Failure> {
    let wrong = |what: &str, e: std::io::Error| {
        Failure::failed(format!("{}: {what}: {e}", organization.name()))
    };
    let plain = Wanted::plain(link, organization.name(), processors);
    let host = Host::start(&Wanted { family: args.family, ..plain }, pages)?;
    let client = Client { host: &host, pages };
    let mut samples = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..REPEAT {
        samples[0].push(client.fetch(buffer).map_err(|e| wrong("the large file", e))?);
        let rate = client.requests(args.requests);
        samples[1].push(rate.map_err(|e| wrong("small requests", e))?);
        let rate = client.connections(args.connections);
        samples[2].push(rate.map_err(|e| wrong("new connections", e))?);
        bar.inc(1);
    }
    let [fetch, requests, connections] = samples.map(|samples| Figure::new(&samples));
    host.stop();
    Ok(Figures {
        organization: organization.name(),
        processors,
        gbit_per_s: fetch,
        requests_per_s: requests,
        connections_per_s: connections,
        memory_gbit_per_s: None,
        memory_transactions_per_s: None,
    })
}
