//! `anabranch lab run`, `reproduce` and `resume`.

use super::report::{REPORT, report};
use super::web::Servers;
use super::{failure, search};
use crate::failure::Failure;
use crate::progress;
use crate::quiet::Watch;
use crate::say::{say, tell};
use lab::notebook::builtin::{self, BUILTIN};
use lab::notebook::case;
use lab::notebook::execute::{Progress, execute, seconds};
use lab::notebook::experiment::Experiment;
use lab::notebook::folder::{Folder, default_name, read as read_folder};
use lab::notebook::record::{Data, Key, Record, Setting};
use lab::notebook::session::{Session, Shard};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest file of an experiment, bytes.
const MOST_BYTES: u64 = 1 << 20;

/// How to run it.
#[derive(Debug, clap::Args)]
struct How {
    /// Where results go [default: a new folder here, with the name and the time]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// By which the order of runs is drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only a part of the runs, number I of N: for several machines of one kind, whose
    /// folders `lab merge` joins
    #[arg(long, value_name = "I/N", default_value = "1/1")]
    shard: Shard,
    /// Say how many runs there are and how long they take, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// What to run.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The experiment's file, or the name of one that comes with the program
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// As long and as often as the file has it under [full]: 12 runs of a second if it
    /// says nothing
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    how: How,
}

/// What to run again.
#[derive(Debug, clap::Args)]
pub struct ReproduceArgs {
    /// yates1996, schmidt1996, bohra2007, willmann2006, thekkath1992, or all
    #[arg(value_name = "PAPER")]
    paper: String,
    /// Short runs, and few (the default)
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// Twelve runs of a second
    #[arg(long)]
    full: bool,
    #[command(flatten)]
    how: How,
}

impl Args {
    /// Runs it.
    ///
    /// # Errors
    /// [`Failure`]: code 2 for what makes no sense, 1 for what went wrong.
    pub fn run(&self) -> Result<(), Failure> {
        let named = self.file.to_str().and_then(builtin::find).filter(|_| !self.file.exists());
        let experiment = match named {
            Some(builtin) => builtin.experiment().map_err(Failure::failed)?,
            None => read(&self.file)?,
        };
        let name = experiment.name.clone();
        start(vec![experiment], self.full, &name, &self.how)
    }
}

impl ReproduceArgs {
    /// Runs it.
    ///
    /// # Errors
    /// [`Failure`]: code 2 for what makes no sense, 1 for what went wrong.
    pub fn run(&self) -> Result<(), Failure> {
        let chosen = BUILTIN.iter().filter(|one| self.paper == "all" || self.paper == one.name);
        let experiments: Result<Vec<Experiment>, String> =
            chosen.map(builtin::Builtin::experiment).collect();
        let experiments = experiments.map_err(Failure::failed)?;
        if experiments.is_empty() {
            let names: Vec<&str> = BUILTIN.iter().map(|one| one.name).collect();
            return Err(Failure::refused(format!(
                "there is no paper '{}': choose from {}, or all",
                self.paper,
                names.join(", ")
            )));
        }
        // Said for those who read the command in the samples.
        let full = self.full && !self.quick;
        start(experiments, full, &self.paper, &self.how)
    }
}

/// Reads the file of an experiment.
///
/// # Errors
/// [`Failure::refused`], with the line that is wrong.
pub fn read(file: &Path) -> Result<Experiment, Failure> {
    let shown = file.display().to_string();
    let unreadable = |error: std::io::Error| {
        let names: Vec<&str> = BUILTIN.iter().map(|one| one.name).collect();
        Failure::refused(format!(
            "cannot read {shown}: {error}: name a file, or one of {}",
            names.join(", ")
        ))
    };
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(unreadable)?;
    opened.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Failure::refused(format!(
            "{shown} is longer than 1 MiB: name a file with an experiment"
        )));
    }
    let experiment = Experiment::parse(&shown, &text).map_err(Failure::refused)?;
    case::check(&shown, &experiment).map_err(Failure::refused)?;
    Ok(experiment)
}

/// How many runs are left, and how long they take.
fn size(session: &Session, done: &BTreeSet<Key>) -> Result<String, Failure> {
    let runs = session.runs().map_err(Failure::refused)?;
    let minutes = seconds(session, &runs, done) / 60.0;
    let left = runs.iter().filter(|run| !done.contains(&session.key(run))).count();
    Ok(match done.is_empty() {
        true => format!("{left} runs, about {minutes:.1} minutes"),
        false => format!("{left} of {} runs are left, about {minutes:.1} minutes", runs.len()),
    })
}

fn start(experiments: Vec<Experiment>, full: bool, name: &str, how: &How) -> Result<(), Failure> {
    let session = Session { experiments, full, seed: how.seed, shard: how.shard };
    let size = size(&session, &BTreeSet::new())?;
    if how.dry_run {
        say(size);
        return Ok(());
    }
    let path = how.out.clone().unwrap_or_else(|| PathBuf::from(default_name(name)));
    let folder = Folder::create(&path, &session).map_err(failure)?;
    tell(format_args!("{size}; results go to {}", path.display()));
    go_on(folder, &session, Vec::new())
}

/// Goes on with a run that was cut off.
///
/// # Errors
/// [`Failure`], if there is none or it cannot be written.
pub fn resume(path: &Path) -> Result<(), Failure> {
    let (folder, contents) = Folder::resume(path).map_err(failure)?;
    let done = contents.done();
    tell(size(&contents.session, &done)?);
    go_on(folder, &contents.session, contents.records)
}

/// Is anything left to be measured? What is simulated and computed is the same on a busy machine.
fn measures(session: &Session, records: &[Record]) -> Result<bool, Failure> {
    let done: BTreeSet<Key> = records.iter().map(Record::key).collect();
    let runs = session.runs().map_err(Failure::refused)?;
    let left = runs.iter().filter(|run| !done.contains(&session.key(run)));
    Ok(left.map(|run| run.data).any(|data| matches!(data, Data::Measured | Data::Predicted)))
}

/// Makes the runs that are not done, and says what they gave.
fn go_on(mut folder: Folder, session: &Session, records: Vec<Record>) -> Result<(), Failure> {
    // By its name, wherever it lies: the words are to be said again elsewhere.
    let words = std::env::args_os().skip(1);
    let words: Vec<String> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let command = format!("anabranch {}", words.join(" "));
    let setting = Setting::here(env!("ANABRANCH_COMMIT"), &command);
    let bar = progress::bar(0, "{bar:30} {pos}/{len} runs  {elapsed}  {msg}");
    let watch = measures(session, &records)?.then(Watch::start);
    let summary =
        execute(&mut folder, session, records, &setting, &Servers, &mut |at: Progress<'_>| {
            bar.set_length(at.total as u64);
            bar.set_position(at.done as u64);
            bar.set_message(format!("{:.0} min left  {}", (at.left_s / 60.0).ceil(), at.what));
        });
    bar.finish_and_clear();
    if let Some(watch) = watch {
        watch.end();
    }
    let summary = summary.map_err(failure)?;
    if summary.failed > 0 {
        tell(format_args!(
            "{} of {} runs gave no figures; the samples say why",
            summary.failed, summary.made
        ));
    }
    let path = folder.path().to_owned();
    drop(folder);
    let contents = read_folder(&path).map_err(failure)?;
    search::keep(&path, &contents, None)?;
    report(&path, &path.join(REPORT))
}
