//! `anabranch lab list`: what there is to run, and how long it takes.

use super::run::read;
use crate::failure::Failure;
use crate::say::say;
use crate::table::{render_left, thousands};
use lab::notebook::builtin::BUILTIN;
use lab::notebook::execute::seconds;
use lab::notebook::experiment::Experiment;
use lab::notebook::factor::{FACTORS, MODEL_FACTORS};
use lab::notebook::metric::METRICS;
use lab::notebook::session::{Session, Shard};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What to show.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Files of experiments [default: those that come with the program]
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Show the factors that grids vary, and the metrics that figures and claims are of
    #[arg(long, conflicts_with = "files")]
    words: bool,
}

impl Args {
    /// Prints them.
    ///
    /// # Errors
    /// [`Failure::refused`] for a file that is malformed.
    pub fn run(&self) -> Result<(), Failure> {
        if self.words {
            say(words());
            return Ok(());
        }
        let experiments: Result<Vec<Experiment>, Failure> = match self.files.is_empty() {
            true => BUILTIN.iter().map(|one| one.experiment().map_err(Failure::failed)).collect(),
            false => self.files.iter().map(|file| read(file)).collect(),
        };
        let mut rows = Vec::new();
        for experiment in experiments? {
            let mut row = vec![experiment.name.clone(), experiment.title.clone()];
            row.push(experiment.claims.len().to_string());
            for full in [false, true] {
                let experiments = vec![experiment.clone()];
                let session = Session { experiments, full, seed: 1, shard: Shard::WHOLE };
                let runs = session.runs().map_err(Failure::refused)?;
                let minutes = seconds(&session, &runs, &BTreeSet::new()) / 60.0;
                row.extend([thousands(runs.len() as f64), format!("{minutes:.1}")]);
            }
            rows.push(row);
        }
        let header = [
            "name",
            "about",
            "claims",
            "runs\nquick",
            "minutes\nquick",
            "runs\nfull",
            "minutes\nfull",
        ];
        say(render_left(2, &header, &rows).trim_end());
        Ok(())
    }
}

fn words() -> String {
    let factor = |of: &lab::notebook::factor::Factor| {
        vec![of.name.to_owned(), of.about.to_owned(), of.range()]
    };
    let header = ["factor", "what it is", "levels"];
    let mut text = render_left(3, &header, &FACTORS.iter().map(factor).collect::<Vec<_>>());
    let header = ["factor of the model", "what it is", "levels"];
    text.push('\n');
    text += &render_left(3, &header, &MODEL_FACTORS.iter().map(factor).collect::<Vec<_>>());
    let metrics = METRICS.iter().map(|metric| {
        let about =
            metric.missing.map_or(metric.about.to_owned(), |why| format!("not here: {why}"));
        vec![metric.name.to_owned(), metric.unit.to_owned(), about]
    });
    text.push('\n');
    text += &render_left(3, &["metric", "unit", "what it is"], &metrics.collect::<Vec<_>>());
    text.trim_end().to_owned()
}
