//! `anabranch lab compare`, `anabranch lab agree` and `anabranch lab merge`.

use super::{claims, failure};
use crate::failure::Failure;
use crate::files::Json;
use crate::say::say;
use crate::table::{render_left, short};
use lab::notebook::agree::{Agreement, Pair, agreement};
use lab::notebook::compare::{Difference, compare};
use lab::notebook::folder::{read, write};
use lab::notebook::merge::merge;
use lab::notebook::page;
use lab::notebook::verdict::Verdict;
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
        if !agreement.pairs.is_empty() {
            say(summary(&agreement));
        }
        agreement.flips().for_each(|pair| say(format_args!("  {}", words(pair))));
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

/// How many claims come out alike.
fn summary(agreement: &Agreement) -> String {
    format!(
        "{} of {} claims have the same outcome in both ({:.0} %), {} hold in one and not in the other.",
        agreement.same(),
        agreement.pairs.len(),
        100.0 * agreement.share(),
        agreement.flips().count(),
    )
}

/// A claim and its two outcomes.
fn words(pair: &Pair) -> String {
    let Pair { first, second } = pair;
    format!("{}, {}: {}, then {}", first.experiment, first.statement, first.outcome, second.outcome)
}

/// Whose claims to compare.
#[derive(Debug, clap::Args)]
pub struct AgreeArgs {
    /// The folder of one run
    #[arg(value_name = "DIR")]
    first: PathBuf,
    /// The folder of another run of the same experiments
    #[arg(value_name = "DIR")]
    second: PathBuf,
    /// Show all claims, those with the same outcome, too
    #[arg(long)]
    all: bool,
    /// Fail unless at least this share of the claims, in percent, has the same outcome, and none
    /// holds in one folder and not in the other
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    require: Option<u8>,
    /// Write both outcomes of each claim to this file, as JSON (`-`: to standard output, instead
    /// of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

impl AgreeArgs {
    /// Compares the outcomes, and prints those that differ.
    ///
    /// # Errors
    /// [`Failure`], if a folder cannot be read, they have no claim in common, or fewer agree than
    /// are required.
    pub fn run(&self) -> Result<(), Failure> {
        let json = Json::to(self.json.as_deref())?;
        let (first, second) =
            (read(&self.first).map_err(failure)?, read(&self.second).map_err(failure)?);
        let agreement = agreement(&first, &second);
        if agreement.pairs.is_empty() {
            return Err(Failure::refused(
                "the folders have no claim in common: name two runs of the same experiments",
            ));
        }
        json.report(&agreement, || outcomes(&agreement, self.all))?;
        let flips = agreement.flips().count();
        match self.require {
            Some(percent) if agreement.share() < f64::from(percent) / 100.0 || flips > 0 => {
                Err(Failure::failed(format!(
                    "{:.0} % of the claims have the same outcome in both and {flips} flip; \
                     {percent} % and none are required: run both again on a quiet machine",
                    100.0 * agreement.share(),
                )))
            }
            _ => Ok(()),
        }
    }
}

/// The claims side by side, and the summary.
fn outcomes(agreement: &Agreement, all: bool) -> String {
    let interval = |verdict: &Verdict| match (verdict.low, verdict.high) {
        (Some(low), Some(high)) => format!("{} to {}", short(low), short(high)),
        _ => "-".to_owned(),
    };
    let shown = agreement.pairs.iter().filter(|pair| all || !pair.is_same());
    let rows = shown.map(|pair| {
        let Pair { first, second } = pair;
        vec![
            first.experiment.clone(),
            claims::shortened(&first.statement),
            first.outcome.to_string(),
            interval(first),
            second.outcome.to_string(),
            interval(second),
            if pair.is_flip() { "flip".to_owned() } else { String::new() },
        ]
    });
    let rows: Vec<Vec<String>> = rows.collect();
    let mut text = String::new();
    if !rows.is_empty() {
        let header = ["experiment", "claim", "first", "90 %", "second", "90 %", ""];
        text += &render_left(2, &header, &rows);
    }
    let half = agreement.half_decided();
    text + &summary(agreement) + &format!(" {half} are undecided in one of them.")
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
