//! `anabranch calibrate`: measures this machine for the planner.

use crate::failure::Failure;
use crate::progress;
use crate::say::say;
use lab::calibrate::{self, Effort, Outcome, Progress};
use planner::calibration::default_path;
use std::path::{Path, PathBuf};

const MORE: &str = "\
Measures, in less than a minute on two processors, what the planner computes with:
what copying, checksums, locks, hand-offs between threads, wake-ups and device
queues cost by themselves; what an operation takes in each layer; and what every
organization does against a simulated peer, over TCP and UDP, sending and in
transactions, with few connections and with many. The machine should do nothing
else meanwhile.

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
    #[arg(long)]
    quick: bool,
}

/// Measures, and writes the file.
///
/// # Errors
/// [`Failure`]: code 2 if there is nowhere to write, 1 if something could not be
/// measured.
pub fn run(args: &Args) -> Result<(), Failure> {
    let path = args.output.clone().or_else(default_path).ok_or_else(|| {
        Failure::refused("neither XDG_CONFIG_HOME nor HOME is set: name a file with --output")
    })?;
    let writes = path != Path::new("-");
    if writes {
        prepare(&path)?;
    }
    let effort = if args.quick { Effort::quick() } else { Effort::default() };
    let outcome = measure(&effort)?;
    let text = outcome.calibration.to_toml().map_err(Failure::failed)?;
    if !writes {
        say(text.trim_end());
        return Ok(());
    }
    write(&path, &text)?;
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

/// Measures with a bar, and warns of what was left out.
pub fn measure(effort: &Effort) -> Result<Outcome, Failure> {
    let bar = progress::bar(1000, "{bar:30} {percent} %  {elapsed}  {msg}");
    let outcome = calibrate::run(effort, &mut |progress| show(&bar, progress));
    bar.finish_and_clear();
    let outcome = outcome.map_err(Failure::failed)?;
    for line in &outcome.left_out {
        eprintln!("anabranch: left out: {line}");
    }
    Ok(outcome)
}

fn show(bar: &indicatif::ProgressBar, progress: Progress<'_>) {
    bar.set_position((progress.share * 1000.0) as u64);
    bar.set_message(progress.what.to_owned());
}

/// Can the file be written? Asked before a minute is spent.
fn prepare(path: &Path) -> Result<(), Failure> {
    let no = |error: std::io::Error| {
        Failure::refused(format!(
            "cannot write {}: {error}: name a file that can be made with --output",
            path.display()
        ))
    };
    if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        std::fs::create_dir_all(parent).map_err(no)?;
    }
    let is_new = !path.exists();
    std::fs::File::options().append(true).create(true).open(path).map_err(no)?;
    // Who is interrupted leaves no empty file behind.
    if is_new { std::fs::remove_file(path).map_err(no) } else { Ok(()) }
}

/// Writes the file whole, or not at all.
fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let no = |error: std::io::Error| {
        Failure::failed(format!("cannot write {}: {error}: free some room", path.display()))
    };
    // A device or a pipe cannot be replaced.
    if path.exists() && !path.is_file() {
        return std::fs::write(path, text).map_err(no);
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let beside = path.with_file_name(name);
    std::fs::write(&beside, text).map_err(no)?;
    std::fs::rename(&beside, path).map_err(no)
}
