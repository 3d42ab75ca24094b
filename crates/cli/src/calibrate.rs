//! `anabranch calibrate`: measures this machine for the planner.

use crate::failure::Failure;
use crate::files::{Output, print};
use crate::say::{say, tell};
use crate::{progress, quiet};
use lab::calibrate::{self, Effort, Outcome, Progress};
use planner::calibration::default_path;
use std::path::{Path, PathBuf};

const MORE: &str = "\
Measures, in about four minutes on two processors, what the planner computes
with: what copying, checksums, locks, hand-offs between threads, wake-ups and device
queues cost by themselves; what an operation takes in each layer; and what every
organization does over TCP and UDP, sending, receiving, in transactions and with
connections that come and go, few of them and many. If the host moves the processors
meanwhile, it keeps what it met in both states. Where a case is not what its neighbours make of it, it measures
that again, and more numbers of connections beside it. The machine should do nothing else
meanwhile.

The file says which machine it is of. `anabranch plan`, `anabranch simulate` and
`anabranch lab validate` take it with --calibration.";

/// What to measure, and where to write it.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// Where to write it (`-`: to standard output)
    /// [default: $XDG_CONFIG_HOME/anabranch/calibration.toml, or that in ~/.config]
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Fewer connection counts: about half the time, and predictions that are less
    /// sure
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// More connection counts, and each case two or three times: ten minutes, and predictions that
    /// are surer
    #[arg(long)]
    full: bool,
}

/// Measures, and writes the file.
///
/// # Errors
/// [`Failure`]: code 2 if there is nowhere to write, 1 if something could not be
/// measured.
pub fn run(args: &Args) -> Result<(), Failure> {
    let (path, output) = args.output()?;
    let effort = match (args.quick, args.full) {
        (true, _) => Effort::quick(),
        (_, true) => Effort::full(),
        _ => Effort::default(),
    };
    let outcome = measure(&effort)?;
    let text = outcome.calibration.to_toml().map_err(Failure::failed)?;
    let Some(output) = output else {
        return print(text.trim_end());
    };
    output.write(&text)?;
    let calibration = &outcome.calibration;
    let cases: usize = calibration.organizations.values().map(Vec::len).sum();
    let machine = &calibration.machine;
    say(format_args!(
        "{}: {cases} cases in {:.0} s, on {} with {} processors",
        path.display(),
        calibration.took_s,
        if machine.model.is_empty() { "an unknown processor" } else { &machine.model },
        machine.processors,
    ));
    Ok(())
}

impl Args {
    /// The file, and how to write it; `None`: to standard output. Only the directory of
    /// the default file is made.
    fn output(&self) -> Result<(PathBuf, Option<Output>), Failure> {
        let path = match &self.output {
            Some(path) if path == Path::new("-") => return Ok((path.clone(), None)),
            Some(path) => path.clone(),
            None => default_file()?,
        };
        let output = Output::new("--output", &path)?;
        Ok((path, Some(output)))
    }
}

/// Where calibrations are kept, in a directory that is there.
fn default_file() -> Result<PathBuf, Failure> {
    let path = default_path().ok_or_else(|| {
        Failure::refused("neither XDG_CONFIG_HOME nor HOME is set: name a file with --output")
    })?;
    if let Some(parent) = path.parent() {
        std::fs::create_dir_all(parent).map_err(|error| {
            let parent = parent.display();
            Failure::refused(format!("cannot make {parent}: {error}: name a file with --output"))
        })?;
    }
    Ok(path)
}

/// Measures with a bar, and warns of what was left out.
pub fn measure(effort: &Effort) -> Result<Outcome, Failure> {
    quiet::look();
    let watch = quiet::Watch::start();
    let bar = progress::bar(1000, "{bar:30} {percent} %  {elapsed}  {msg}");
    let outcome = calibrate::run(effort, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    watch.end();
    let outcome = outcome.map_err(Failure::failed)?;
    for line in &outcome.left_out {
        tell(format_args!("anabranch: left out: {line}"));
    }
    Ok(outcome)
}

fn show(bar: &indicatif::ProgressBar, progress: Progress<'_>) {
    bar.set_position((progress.share * 1000.0) as u64);
    bar.set_message(progress.what.to_owned());
}
