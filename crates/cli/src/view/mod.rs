//! A view into a running server: `anabranch ss`, `top` and `capture` ask it by its control
//! socket, which only its owner may open; programs that gather figures ask for them in the
//! text format of Prometheus.

mod accept;
mod capture;
mod connections;
mod metrics;
mod top;

pub use capture::{Args as CaptureArgs, run as capture};
pub use metrics::listen as listen_for_metrics;
pub use top::{Args as TopArgs, run as top};

use crate::failure::Failure;
use crate::files::print;
use crate::tally::Tally;
use anabranch::Stack;
use anabranch::control::{Client, Config, ConnectError, Control};
use device::Counts;
use serde_json::Value;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
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

impl Viewed {
    /// Opens the server's control socket.
    ///
    /// # Errors
    /// If there can be no such socket.
    pub fn open_control(&self) -> io::Result<Control> {
        let tallies = self.tallies.clone();
        let counts = move || {
            let of = |(name, port, tally): &(&str, u16, Arc<Tally>)| {
                let Tally { served, bytes_in, bytes_out, errors } = &**tally;
                let counts =
                    [("served", served), ("in", bytes_in), ("out", bytes_out), ("errors", errors)];
                let name = format!("{name} {port}");
                counts
                    .map(|(what, count)| (format!("{name} {what}"), count.load(Ordering::Relaxed)))
            };
            tallies.iter().flat_map(of).collect()
        };
        Control::open(&self.stack, &Config::new(&self.device).with_counts(counts))
    }
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
    /// Device of the server; DEVICE.PROCESS where several have one of that name, with the number
    /// of the server's process [default: the only one that runs]
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
    let answer = client(args.device.as_deref(), "name one of these")?
        .connections()
        .map_err(|e| unanswered(&e))?;
    let answer: Value = serde_json::from_str(&answer).map_err(Failure::failed)?;
    match args.json {
        true => print(format_args!("{answer:#}")),
        false => print(connections::table(&answer).trim_end()),
    }
}

/// The control socket of the server on `device`, or of the only one that runs; with several, `mend` is what to do.
fn client(device: Option<&str>, mend: &str) -> Result<Client, Failure> {
    Client::connect(device).map_err(|error| match error {
        ConnectError::Several(names) => {
            let names = names.join(", ");
            Failure::refused(format!("several servers run, on {names}: {mend}"))
        }
        _ => {
            let which = device.map_or(String::new(), |device| format!(" on `{device}`"));
            Failure::refused(format!(
                "no server of yours runs{which}: start one by `anabranch serve`, or look as its \
                 owner, who may be root"
            ))
        }
    })
}

fn unanswered(error: &io::Error) -> Failure {
    Failure::failed(format!("the server does not answer: {error}"))
}
