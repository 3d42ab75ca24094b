//! The command `anabranch`: files and small services over a TAP device, a bench
//! in memory, a demonstration, and a look at what the machine offers.
#![forbid(unsafe_code)]
// They panic where nobody reads: `say` has what does not.
#![cfg_attr(not(test), deny(clippy::print_stderr, clippy::print_stdout))]

mod bench;
mod calibrate;
mod choices;
mod congestion;
mod demo;
#[cfg(test)]
mod docs;
mod doctor;
mod failure;
mod files;
mod finding;
mod http;
mod laboratory;
mod link;
mod model;
mod plan;
mod progress;
mod quiet;
mod say;
mod serve;
mod simulate;
mod table;
mod tally;
mod tunnel;
mod validate;
mod view;
mod zone;

use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use std::process::ExitCode;

const EXAMPLES: &str = "\
Start here:
  anabranch demo                 everything once, in a network of its own
  anabranch doctor               what this machine offers, and what mends the rest
  sudo anabranch serve --http 80 --root .     then: curl http://10.99.0.2/
  anabranch bench bulk           how fast, in memory";

/// A TCP/IP stack in user space whose spread over many cores is a setting.
#[derive(Debug, Parser)]
#[command(name = "anabranch", version, after_help = EXAMPLES, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve files and small test services over a TAP device
    Serve(Box<serve::Args>),
    /// Show the connections of a running server
    Ss(view::Args),
    /// Show what the threads, locks and queues of a running server do
    Top(view::TopArgs),
    /// Capture what passes a running server, as pcapng
    Capture(view::CaptureArgs),
    /// Carry what the kernel sends to a TUN device through a SOCKS5 or HTTP proxy
    Tunnel(tunnel::Args),
    /// Measure the stack in memory
    Bench(bench::Bench),
    /// Show what it does, in a private network, without any rights
    Demo(demo::Args),
    /// Measure this machine for the planner
    Calibrate(calibrate::Args),
    /// Name the organization, processors, queues, engines and lock for a load
    Plan(Box<plan::Args>),
    /// Simulate processors that are not there, under any organization
    Simulate(Box<simulate::Args>),
    /// Solve a queueing network
    Model(model::Args),
    /// Run experiments that are files, and the papers' evaluations again
    Lab(laboratory::Lab),
    /// Say what this machine offers, and what mends what is missing
    Doctor(doctor::Args),
}

fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Serve(args) => serve::run(*args),
        Command::Ss(args) => view::connections(&args),
        Command::Top(args) => view::top(&args),
        Command::Capture(args) => view::capture(&args),
        Command::Tunnel(args) => tunnel::run(&args),
        Command::Bench(args) => bench::run(args),
        Command::Demo(args) => demo::run(args),
        Command::Calibrate(args) => calibrate::run(&args),
        Command::Simulate(args) => simulate::run(&args),
        Command::Plan(args) => plan::run(&args),
        Command::Lab(lab) => laboratory::run(&lab),
        Command::Doctor(args) => doctor::run(&args),
        Command::Model(args) => model::run(&args),
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.kind() == failure::HELP_ASKED && std::env::args_os().len() > 1 => {
            return Failure::no_word(&Arguments::command(), std::env::args_os()).report();
        }
        Err(error) if error.use_stderr() && error.kind() != failure::HELP_ASKED => {
            return Failure::arguments(&error, std::env::args_os()).report();
        }
        Err(error) if error.use_stderr() => error.exit(),
        // Help and version.
        Err(error) => return code(say::printed(error.print())),
    };
    code(run(arguments.command))
}

/// What the command ends with. What was asked for, and found no room, has not been given.
fn code(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) if say::is_lost() => ExitCode::FAILURE,
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}
