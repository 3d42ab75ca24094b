//! `anabranch lab`: experiments that are files, and the papers' evaluations again.

mod claims;
mod folders;
mod goodput;
mod http;
mod httperf;
mod list;
mod plots;
mod png;
mod report;
mod run;
mod search;
mod web;

use crate::failure::Failure;
use crate::validate;
use clap::Subcommand;
use lab::notebook::Trouble;
use std::path::PathBuf;

const MORE: &str = "\
An experiment is a file in TOML: grids of what is varied, figures, and claims with a test
in numbers. Runs go to a folder, each as a line of JSON, and a run that was cut off goes
on where it was. docs/lab.md shows how to write one.

Examples:
  anabranch lab list
  anabranch lab reproduce all --quick
  anabranch lab run own.toml --out results/own
  anabranch lab resume results/own
  anabranch lab report results/own";

/// `anabranch lab`.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Lab {
    #[command(subcommand)]
    what: What,
}

/// What the lab does.
#[derive(Debug, Subcommand)]
enum What {
    /// Show the experiments that come with the program, or what files would run
    List(list::Args),
    /// Run an experiment
    Run(run::Args),
    /// Run the evaluation of a paper again, and say which of its findings hold
    Reproduce(run::ReproduceArgs),
    /// Go on with a run that was cut off
    Resume(FolderArgs),
    /// Say what the results in a folder give, and write the report
    Report(report::Args),
    /// Say which medians of two folders differ
    Compare(folders::CompareArgs),
    /// Say whether the claims of two folders come out alike
    Agree(folders::AgreeArgs),
    /// Search which cost must be different, and by how much, for claims that do not hold
    Search(search::Args),
    /// Load a web server with requests at times that are set beforehand
    Http(http::Args),
    /// Compare our TCP with the kernel's over lossy paths, through a box in user space
    Goodput(goodput::Args),
    /// Let our TCP share a path with itself and with the kernel's, and print what each has
    Fairness(goodput::share::Args),
    /// Join folders of results: parts of one session, or machines side by side
    Merge(folders::MergeArgs),
    /// Compare the planner's predictions with the stack on this machine
    Validate(validate::Args),
}

/// A folder of results.
#[derive(Debug, clap::Args)]
struct FolderArgs {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Does what the lab is asked for.
///
/// # Errors
/// [`Failure`]: code 2 for what makes no sense, 1 for what went wrong.
pub fn run(lab: &Lab) -> Result<(), Failure> {
    match &lab.what {
        What::List(args) => args.run(),
        What::Run(args) => args.run(),
        What::Reproduce(args) => args.run(),
        What::Resume(args) => run::resume(&args.folder),
        What::Report(args) => args.run(),
        What::Compare(args) => args.run(),
        What::Agree(args) => args.run(),
        What::Search(args) => args.run(),
        What::Http(args) => args.run(),
        What::Goodput(args) => args.run(),
        What::Fairness(args) => args.run(),
        What::Merge(args) => args.run(),
        What::Validate(args) => args.run(),
    }
}

/// What kind of failure a trouble is.
fn failure(trouble: Trouble) -> Failure {
    match trouble {
        Trouble::Refused(_) => Failure::refused(trouble),
        Trouble::Folder(_) => Failure::failed(trouble),
    }
}
