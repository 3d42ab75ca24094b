//! `anabranch lab compare` and `anabranch lab merge`.

use super::failure;
use crate::failure::Failure;
use crate::say::say;
use crate::table::{render_left, short};
use lab::notebook::compare::{Difference, agreement, compare};
use lab::notebook::folder::{read, write};
use lab::notebook::merge::merge;
use lab::notebook::page;
use std::path::PathBuf;

/// What to compare.
#[derive(Debug, clap::Args)]
pub struct CompareArgs {
    /// The folder that is compared with
    #[arg(value_name = "DIR")]
    first: PathBuf,
    /// The folder that is compared
    #[arg(value_name = "DIR")]
    second: PathBuf,
    /// Show all cases, those that do not differ, too
    #[arg(long)]
    all: bool,
    /// Draw what differs, and write it to this file, as HTML
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl CompareArgs {
    /// Compares, and prints what differs.
    ///
    /// # Errors
    /// [`Failure`], if a folder cannot be read, or they have nothing in common.
    pub fn run(&self) -> Result<(), Failure> {
        let (first, second) =
            (read(&self.first).map_err(failure)?, read(&self.second).map_err(failure)?);
        let differences = compare(&first, &second);
        if differences.is_empty() {
            return Err(Failure::refused(
                "the folders have no case in common that was run in one state of the machine: \
                 compare folders of the same experiment",
            ));
        }
        let sure = differences.iter().filter(|one| one.is_sure()).count();
        let shown: Vec<Difference> =
            differences.iter().filter(|one| self.all || one.is_sure()).cloned().collect();
        if !shown.is_empty() {
            say(table(&shown).trim_end());
        }
        say(format_args!(
            "{sure} of {} medians differ, by intervals of 95 % (of which 1 in 20 errs by chance).",
            differences.len()
        ));
        let agreement = agreement(&first, &second);
        if agreement.claims > 0 {
            say(format_args!(
                "{} of {} claims have the same outcome in both, {} hold in one and not in the other.",
                agreement.same,
                agreement.claims,
                agreement.flipped.len()
            ));
        }
        agreement.flipped.iter().for_each(|claim| say(format_args!("  {claim}")));
        if let Some(file) = &self.html {
            let names = [&self.first, &self.second].map(|path| path.display().to_string());
            let page = page::comparison(&names, &shown);
            write(file, page.as_bytes()).map_err(failure)?;
        }
        Ok(())
    }
}

fn table(differences: &[Difference]) -> String {
    let rows = differences.iter().map(|one| {
        vec![
            one.experiment.clone(),
            one.case.clone(),
            one.metric.clone(),
            format!("{:.3}", one.ratio.median),
            format!("{} to {}", short(one.ratio.low), short(one.ratio.high)),
            format!("{} and {}", one.runs.0, one.runs.1),
        ]
    });
    let header = ["experiment", "case", "metric", "times", "95 %", "runs"];
    render_left(3, &header, &rows.collect::<Vec<_>>())
}

/// What to join.
#[derive(Debug, clap::Args)]
pub struct MergeArgs {
    /// The new folder
    #[arg(value_name = "OUT")]
    out: PathBuf,
    /// The folders that are joined
    #[arg(value_name = "DIR", required = true)]
    folders: Vec<PathBuf>,
    /// Keep machines of several kinds side by side, each by itself
    #[arg(long)]
    side_by_side: bool,
}

impl MergeArgs {
    /// Joins.
    ///
    /// # Errors
    /// [`Failure`], if folders do not belong together.
    pub fn run(&self) -> Result<(), Failure> {
        let joined = merge(&self.out, &self.folders, self.side_by_side).map_err(failure)?;
        let twice = match joined.twice {
            0 => String::new(),
            twice => format!(", {twice} that were there twice left out"),
        };
        say(format_args!(
            "{}: {} runs of {} kind{} of machine{twice}",
            self.out.display(),
            joined.runs,
            joined.machines,
            if joined.machines == 1 { "" } else { "s" },
        ));
        Ok(())
    }
}
