//! `anabranch lab search`: what the model says must be different for claims to come out.

use super::failure;
use super::report::{REPORT, report};
use crate::failure::Failure;
use crate::progress;
use crate::say::say;
use lab::machine;
use lab::notebook::agree;
use lab::notebook::folder::{Contents, Folder, keep_needed, read};
use lab::notebook::needed::{self, Needed};
use lab::notebook::page::words;
use lab::notebook::trouble::Trouble;
use planner::{Calibration, Predictor, calibration};
use std::path::{Path, PathBuf};

/// What to search.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// What things cost on the machine that the results are of [default: the folder's own, or that
    /// in ~/.config/anabranch if it is of this machine]
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
}

impl Args {
    /// Searches, says what was found, and writes the report again.
    ///
    /// # Errors
    /// [`Failure`], if there are no results, or what was found cannot be kept.
    pub fn run(&self) -> Result<(), Failure> {
        let named = match &self.calibration {
            Some(path) => Some(calibration::load(path).map_err(Failure::refused)?),
            None => None,
        };
        let contents = read(&self.folder).map_err(failure)?;
        let found = keep(&self.folder, &contents, named)?;
        report(&self.folder, &self.folder.join(REPORT))?;
        if found.is_empty() {
            say("Every claim comes out, or nothing decides it: there is nothing to search.");
        }
        for needed in &found {
            say(format_args!("{}, {}: {}", needed.experiment, needed.statement, words(needed)));
        }
        Ok(())
    }
}

/// Searches for the claims of a folder that do not hold, and keeps what is found in it.
///
/// # Errors
/// [`Failure`], if it cannot be kept, or the folder's calibration is malformed.
pub fn keep(
    folder: &Path,
    contents: &Contents,
    named: Option<Calibration>,
) -> Result<Vec<Needed>, Failure> {
    let predictor = match named {
        Some(calibration) => Some(Predictor::new(&calibration).map_err(Failure::refused)?),
        None => costs_of(folder).map_err(failure)?,
    };
    let bar = progress::spinner();
    let experiments = &contents.session.experiments;
    let verdicts = agree::all(contents);
    let found = needed::all(experiments, &verdicts, predictor.as_ref(), &mut |what| {
        bar.set_message(format!("searching the costs: {what}"));
    });
    bar.finish_and_clear();
    keep_needed(folder, &found).map_err(failure)?;
    Ok(found)
}

/// The costs of the machine that the results are of: from the folder's calibration; or from the
/// usual file, if that is of this machine.
fn costs_of(folder: &Path) -> Result<Option<Predictor>, Trouble> {
    let own = Folder::calibration_in(folder)?;
    let usual = || {
        let loaded = calibration::load(&calibration::default_path()?).ok()?;
        loaded.machine.same_as(&machine::this()).then_some(loaded)
    };
    Ok(own.or_else(usual).and_then(|calibration| Predictor::new(&calibration).ok()))
}
