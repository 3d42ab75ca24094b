//! `anabranch plan`: which organization, on how many processors, for a load.

use crate::bench::{FamilyArg, OfFamily};
use crate::failure::Failure;
use crate::files::{Json, Output, distinct};
use crate::progress;
use crate::say::tell;
use lab::machine;
use planner::plan::{self, Plan, Request, Target};
use planner::{Calibration, Load, Predictor, calibration};
use std::path::PathBuf;

const MORE: &str = "\
A load, in words of any order: the protocol (tcp, udp), what connections do (rr, crr,
send, receive, bulk, which is send), bytes of a message or packet (64B, 4KiB; left out:
64, or a full packet of Ethernet for send and receive), how many connections (or flows),
and how much (400k/s, 40 Gbit/s; left out: as much as goes). Arrivals from outside are
`poisson` unless they are `steady` or `bursty 32`.

Examples:
  anabranch calibrate
  anabranch plan --load \"tcp rr 64B, 20k connections, 400k/s\" --latency p99=100us
  anabranch plan --load \"udp send 1400B, 64 flows, 2M/s\" --max-processors 8 --explain
  anabranch plan --load \"tcp send, 3k connections\" --json -
  anabranch plan --load \"tcp rr, 1k connections\" --family 6

Exit code: 0 there is a plan, 1 no configuration carries the load, or a file could not be
written, 2 the arguments make no sense, or there is no calibration.";

/// What to plan for.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// The load, in words
    #[arg(long, value_name = "WORDS")]
    load: Load,
    /// What latency must not exceed: mean, p50, p90, p99 or p999; may be repeated
    #[arg(long, value_name = "p99=100us", value_delimiter = ',')]
    latency: Vec<Target>,
    /// The most processors that the answer may have, 1 to 64 [default: those of the
    /// machine that was calibrated]
    #[arg(long, value_name = "N")]
    max_processors: Option<usize>,
    /// What things cost [default: $XDG_CONFIG_HOME/anabranch/calibration.toml, or
    /// that in ~/.config]
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// The family of the addresses
    #[arg(long, value_enum, default_value_t = FamilyArg::V4)]
    family: FamilyArg,
    /// Seed of the simulations
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Show all that was looked at, with its bounds and what came of it
    #[arg(long)]
    explain: bool,
    /// Write the plan to this file, as JSON (`-`: to standard output, instead of
    /// words)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write a figure of latency against rate to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Plans.
///
/// # Errors
/// [`Failure`]: code 2 for what makes no sense, if there is no calibration, or a file
/// cannot be written; 1 if no configuration carries the load.
pub fn run(args: &Args) -> Result<(), Failure> {
    let from = args.calibration.clone().or_else(calibration::default_path);
    let (json, svg) = (args.json.as_deref(), args.svg.as_deref());
    distinct(&[("--calibration", from.as_deref()), ("--json", json), ("--svg", svg)])?;
    let calibration = of_family(args.calibration()?, args.family)?;
    let predictor = Predictor::new(&calibration).map_err(Failure::refused)?;
    let machine = &predictor.calibration().machine;
    let most = machine.processors.min(plan::MOST_PROCESSORS);
    let request = Request {
        load: args.load,
        targets: args.latency.clone(),
        max_processors: args.max_processors.unwrap_or(most),
        seed: args.seed,
    };
    request.check().map_err(Failure::refused)?;
    if args.svg.is_some() && request.load.rate_per_s.is_none() {
        return Err(Failure::refused(
            "--svg shows latency against rate, and the load has none: add one, like 400k/s",
        ));
    }
    let json = Json::to(json)?;
    let svg = svg.map(|path| Output::new("--svg", path)).transpose()?;
    let machine = of_machine(predictor.calibration(), args.family);
    let note = format!("{machine}; seed {}", args.seed);
    let bar = progress::spinner();
    let plan = plan::plan(&predictor, &request, &|what| bar.set_message(what.to_owned()));
    bar.finish_and_clear();
    let plan = plan.map_err(Failure::failed)?;
    if let Some(file) = svg {
        file.write(&plan::figure(&plan, &note).map_err(Failure::failed)?)?;
    }
    json.report(&OfFamily::new(Some(args.family), &plan), || args.words(&plan))
}

/// The calibration for addresses of this family.
///
/// # Errors
/// If it knows nothing of it.
pub fn of_family(calibration: Calibration, family: FamilyArg) -> Result<Calibration, Failure> {
    match family {
        FamilyArg::V4 => Ok(calibration),
        FamilyArg::V6 => calibration.over_ipv6().map_err(Failure::refused),
    }
}

/// Where figures are from that a calibration gave.
pub fn of_machine(calibration: &Calibration, family: FamilyArg) -> String {
    let machine = &calibration.machine;
    let model = if machine.model.is_empty() { "an unknown processor" } else { &machine.model };
    let over = if family == FamilyArg::V6 { ", over IPv6" } else { "" };
    format!("{model}, {} processors, calibrated {}{over}", machine.processors, calibration.date)
}

impl Args {
    /// The calibration; a warning if it is of another machine.
    fn calibration(&self) -> Result<Calibration, Failure> {
        let path =
            self.calibration.clone().or_else(calibration::default_path).ok_or_else(|| {
                Failure::refused(
                    "neither XDG_CONFIG_HOME nor HOME is set: name a file with --calibration",
                )
            })?;
        let calibration = calibration::load(&path).map_err(Failure::refused)?;
        let differs = calibration.machine.differs_from(&machine::this());
        if !differs.is_empty() {
            tell(format_args!(
                "anabranch: {} is of another machine ({differs}): the plan is for that one; for this one, run `anabranch calibrate`",
                path.display()
            ));
        }
        Ok(calibration)
    }

    fn words(&self, plan: &Plan) -> String {
        let mut lines = plan::lines(plan);
        if self.family == FamilyArg::V6 {
            lines.push(
                "over IPv6: what is longer there than over IPv4 was measured on one processor"
                    .to_owned(),
            );
        }
        if self.explain {
            lines.push("\nlooked at, in this order:".to_owned());
            lines.extend(plan.explanation().into_iter().map(|line| format!("- {line}")));
        }
        lines.join("\n")
    }
}
