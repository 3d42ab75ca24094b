//! `anabranch top`: what the threads, locks and queues of a running server do.

mod tables;

use crate::failure::Failure;
use crate::say::printed;
use serde_json::Value;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  sudo anabranch top                    every second, until Ctrl-C
  sudo anabranch top ana8 --once --json one second of the server on ana8, for programs

Rates are a second's. A thread's time is told by layer, in percent of the time that has
passed; `lock` is what it waited for locks, `run` what it ran, `wait` what it could have run
while others did. Times in layers are from samples.

While nobody looks, a server measures nothing of this. It shows it to its owner and to root.";

/// Whose rates, how often, and how.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Device of the server; DEVICE.PROCESS where several have one of that name, with the number
    /// of the server's process [default: the only one that runs]
    pub device: Option<String>,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = seconds)]
    pub interval: Duration,
    /// Look once
    #[arg(long)]
    pub once: bool,
    /// Print JSON, a line for each look
    #[arg(long)]
    pub json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    let good = Duration::from_millis(10)..=Duration::from_secs(3600);
    seconds.filter(|seconds| good.contains(seconds)).ok_or_else(|| "choose 0.01 to 3600".into())
}

/// Clears a terminal, and goes to its upper left corner.
const CLEAR: &str = "\x1b[H\x1b[2J";

/// Prints rates of a running server.
///
/// # Errors
/// [`Failure`] if there is no such server, or it ends.
pub fn run(args: &Args) -> Result<(), Failure> {
    let client = super::client(args.device.as_deref(), "name one of these")?;
    let mut out = io::stdout().lock();
    let refreshes = out.is_terminal() && !args.once && !args.json;
    let mut shown = Ok(());
    let looked = client.rates(args.interval, |line| {
        let text = if args.json {
            line.to_owned()
        } else {
            let rates: Value = serde_json::from_str(line).map_err(io::Error::other)?;
            let clear = if refreshes { CLEAR } else { "" };
            format!("{clear}{}", tables::all(&rates))
        };
        shown = writeln!(out, "{text}").and_then(|()| out.flush());
        Ok(shown.is_ok() && !args.once)
    });
    printed(shown)?;
    looked.map_err(|error| super::unanswered(&error))
}
