//! A view into a running server: `anabranch ss` and its like ask it by a control
//! socket, which only its owner may open; programs that gather figures ask for them in
//! the text format of Prometheus.

mod accept;
mod connections;
mod control;
mod metrics;
mod place;

pub use control::Control;
pub use metrics::listen as listen_for_metrics;

use crate::failure::Failure;
use crate::say::say;
use crate::tally::Tally;
use anabranch::Stack;
use device::Counts;
use std::sync::Arc;
use std::time::Instant;

/// What a server shows of itself.
pub struct Viewed {
    /// The stack.
    pub stack: Stack,
    /// Its organization.
    pub organization: String,
    /// Threads that process packets.
    pub processors: usize,
    /// The device's name.
    pub device: String,
    /// What the device has counted.
    pub counts: Arc<Counts>,
    /// Services, their ports, and what they have done.
    pub tallies: Vec<(&'static str, u16, Arc<Tally>)>,
    /// When it was started.
    pub started: Instant,
}

const EXAMPLES: &str = "\
Examples:
  sudo anabranch ss              the connections of the server that runs
  sudo anabranch ss ana8 --json  of the one on device ana8, as JSON

A server shows them to its owner and to root.";

/// Whose connections, and how.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Device of the server [default: the only one that runs]
    pub device: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Prints the connections of a running server.
///
/// # Errors
/// [`Failure`] if there is no such server.
pub fn connections(args: &Args) -> Result<(), Failure> {
    let answer = control::ask(args.device.as_deref(), control::CONNECTIONS)?;
    match args.json {
        true => say(format!("{answer:#}")),
        false => say(connections::table(&answer).trim_end()),
    }
    Ok(())
}
