//! `anabranch lab validate`: the planner's predictions against the stack.

use crate::bench::{FamilyArg, OfFamily};
use crate::calibrate::measure;
use crate::failure::Failure;
use crate::files::{Json, distinct};
use crate::plan::of_family;
use crate::progress;
use crate::say::tell;
use crate::table::{render, thousands};
use lab::calibrate::Effort;
use lab::machine;
use lab::validate::{Best, Calibrated, Kept, Point, Report, Validation};
use planner::{Calibration, Predictor, calibration};
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

const MORE: &str = "\
Draws loads by a seed: TCP or UDP, sending, receiving or in transactions, on
processors that the calibration knows, over 1 to 3,072 connections, none of which the
calibration has measured. Under each it measures all organizations against a simulated peer,
several times, in turn, and prints what was predicted and what was measured.

A prediction is right within 15 %; an organization that is predicted to be best is
right if it does at least 95 % of what the best one does. Where a calibration has met
two states of the machine, each sample is compared with the prediction for its state. The
machine should do nothing else meanwhile.";

/// What to compare.
#[derive(Debug, clap::Args)]
#[command(after_help = MORE)]
pub struct Args {
    /// What to predict from [default: calibrates first]
    #[arg(long, value_name = "FILE")]
    calibration: Option<PathBuf>,
    /// Loads times organizations, at least
    #[arg(long, default_value_t = 72)]
    points: usize,
    /// Samples of each; up to three times as many where they do not agree
    #[arg(long, default_value_t = 3)]
    samples: usize,
    /// The family of the addresses
    #[arg(long, value_enum, default_value_t = FamilyArg::V4)]
    family: FamilyArg,
    /// By which loads are drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Draw so many seeds now, say them, and compare with each
    #[arg(long, value_name = "N", conflicts_with = "seed",
          value_parser = clap::value_parser!(u16).range(1..=1000))]
    draw: Option<u16>,
    /// Keep each sample in this file, as a line of JSON, and take up what is there already, if it
    /// is of the same calibration: a run that was cut off goes on, with its seeds
    #[arg(long, value_name = "FILE", requires = "calibration")]
    keep: Option<PathBuf>,
    /// Write the figures to this file, as JSON (`-`: to standard output, instead
    /// of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Fail unless as many points were compared as were asked for, 80 % of the predictions and 80 %
    /// of the best are right, and 85 % lie inside their intervals
    #[arg(long)]
    require: bool,
}

/// The share that `--require` asks for.
const REQUIRED: f64 = 0.8;
/// The share of points inside their intervals of 90 % that it asks for.
const INSIDE: f64 = 0.85;

impl Args {
    /// Compares, and prints what came out.
    ///
    /// # Errors
    /// [`Failure`]: code 2 for what makes no sense, 1 for what went wrong.
    pub fn run(&self) -> Result<(), Failure> {
        let like = self.validation(0);
        like.check().map_err(Failure::refused)?;
        distinct(&[
            ("--calibration", self.calibration.as_deref()),
            ("--keep", self.keep.as_deref()),
            ("--json", self.json.as_deref()),
        ])?;
        let json = Json::to(self.json.as_deref())?;
        let calibration = of_family(self.calibration()?, self.family)?;
        let (mut kept, seeds) = match &self.keep {
            None => (Kept::default(), self.seeds()),
            Some(path) => {
                Kept::open(path, &calibration, &like, self.seeds()).map_err(Failure::refused)?
            }
        };
        let validations = seeds.iter().map(|seed| self.validation(*seed));
        let other = calibration.in_other_state();
        let calibrations: Vec<&Calibration> = std::iter::once(&calibration).chain(&other).collect();
        let predictors: Result<Vec<Predictor>, planner::Error> =
            calibrations.iter().map(|calibration| Predictor::new(calibration)).collect();
        let predictors = predictors.map_err(Failure::refused)?;
        let states: Vec<Calibrated<'_>> = calibrations
            .into_iter()
            .zip(&predictors)
            .map(|(calibration, predict)| Calibrated { calibration, predict })
            .collect();
        let mut reports = Vec::new();
        for validation in validations {
            reports.extend(compare(&validation, &calibration, &states, &mut kept)?);
        }
        // A state that was not met has nothing to say, unless it is all there is.
        let met: Vec<Report> =
            reports.iter().filter(|one| !one.points.is_empty()).cloned().collect();
        let reports = if met.is_empty() { reports } else { met };
        let named = |report| OfFamily::new(Some(self.family), report);
        match &reports[..] {
            [one] => json.report(&named(one), || self.words(table(one)))?,
            several => {
                let all: Vec<OfFamily<'_, Report>> = several.iter().map(named).collect();
                json.report(&all, || self.words(tables(several)))?;
            }
        }
        if self.require { self.check(&reports, seeds.len()) } else { Ok(()) }
    }

    /// `report`, with the family that it is of, if that is not IPv4.
    fn words(&self, report: String) -> String {
        match self.family {
            FamilyArg::V4 => report,
            FamilyArg::V6 => format!("Over IPv6:\n{report}"),
        }
    }

    fn validation(&self, seed: u64) -> Validation {
        let family = self.family.into();
        let (points, samples) = (self.points, self.samples);
        Validation { points, seed, samples, family, ..Validation::default() }
    }

    /// The seeds: those drawn now, or the one that was given.
    fn seeds(&self) -> Vec<u64> {
        match self.draw {
            None => vec![self.seed],
            // Each of these has other keys, which the system's random numbers gave.
            Some(count) => (0..count).map(|_| RandomState::new().hash_one(0) % 1_000_000).collect(),
        }
    }

    /// Is all of it as good as `--require` asks?
    fn check(&self, reports: &[Report], seeds: usize) -> Result<(), Failure> {
        let points: usize = reports.iter().map(|report| report.points.len()).sum();
        if points < self.points * seeds {
            return Err(Failure::failed(format!(
                "only {points} points could be measured, and {} were asked for: calibrate again on a quiet machine",
                self.points * seeds,
            )));
        }
        let bad = reports.iter().find(|report| {
            let least = report.right.min(report.best_right);
            least < REQUIRED || report.inside < INSIDE
        });
        match bad {
            Some(report) => Err(Failure::failed(format!(
                "seed {}: {:.0} % of the predictions and {:.0} % of the best are right and {:.0} % inside their intervals, and 80 %, 80 % and 85 % are required: calibrate again on a quiet machine",
                report.seed,
                100.0 * report.right,
                100.0 * report.best_right,
                100.0 * report.inside,
            ))),
            None => Ok(()),
        }
    }

    /// The file's; or measures one.
    fn calibration(&self) -> Result<Calibration, Failure> {
        let Some(path) = &self.calibration else {
            tell("calibrating first: about four minutes");
            return Ok(measure(&Effort::default())?.calibration);
        };
        let calibration = calibration::load(path).map_err(Failure::refused)?;
        let differs = calibration.machine.differs_from(&machine::this());
        if differs.is_empty() {
            return Ok(calibration);
        }
        Err(Failure::refused(format!(
            "{} is of another machine ({differs}): leave out --calibration to measure this one",
            path.display()
        )))
    }
}

/// Measures the loads of one validation, and compares.
fn compare(
    validation: &Validation,
    calibration: &Calibration,
    states: &[Calibrated<'_>],
    kept: &mut Kept,
) -> Result<Vec<Report>, Failure> {
    let loads = validation.loads(calibration);
    if loads.is_empty() {
        return Err(Failure::refused(
            "the calibration has measured all there is to draw: run `anabranch calibrate`",
        ));
    }
    let (seed, loaded) = (validation.seed, loads.len());
    let time = minutes(validation.seconds(&loads));
    tell(format_args!("seed {seed}: {loaded} loads under all organizations: {time}"));
    let bar = progress::samples();
    let mut show = |progress: lab::Progress<'_>| progress::show(&bar, progress);
    let reports = validation.run(&loads, states, kept, &mut show);
    bar.finish_and_clear();
    reports.map_err(Failure::failed)
}

/// How long it takes, of the least and the most seconds.
fn minutes([least, most]: [f64; 2]) -> String {
    format!(
        "about {:.1} minutes, or up to {:.1} if the machine does not keep its pace",
        least / 60.0,
        most / 60.0
    )
}

/// All reports; with several, which seed and state each is of.
fn tables(reports: &[Report]) -> String {
    let several = reports.len() > 1;
    let of = |report: &Report| match several {
        true => format!(
            "Seed {}, processors {:.0} ns apart:\n{}",
            report.seed,
            report.apart_ns,
            table(report)
        ),
        false => table(report),
    };
    reports.iter().map(of).collect::<Vec<_>>().join("\n\n")
}

/// The report for people: all points, the best, the misses, and the summary.
fn table(report: &Report) -> String {
    let header = [
        "load",
        "organization",
        "predicted\n/s",
        "low",
        "high",
        "measured\n/s",
        "min",
        "max",
        "error",
        "",
    ];
    let rows: Vec<Vec<String>> = report.points.iter().map(cells).collect();
    let mut text = render(&header, &rows);
    text.push('\n');
    let header = ["load", "best predicted", "best measured", "of best", ""];
    let rows: Vec<Vec<String>> = report.best.iter().map(best).collect();
    text += &render(&header, &rows);
    text += &misses(report);
    text += &format!(
        "\n{:.0} % of {} predictions are within 15 % (half of them within {:.1} %).\n",
        100.0 * report.right,
        report.points.len(),
        100.0 * report.median_error,
    );
    text += &format!(
        "{:.0} % lie inside the intervals of 90 %, which span a factor of {:.2} (median).\n",
        100.0 * report.inside,
        report.width,
    );
    if report.points.iter().any(|point| point.itself.is_some()) {
        text += &format!(
            "{:.0} % of samples are within 15 % of the median of their point's others: so well does the machine agree with itself.\n",
            100.0 * report.itself,
        );
    }
    for missing in &report.missing {
        text += &format!(
            "not measured: {}, {}: {}\n",
            load(missing.work, missing.processors, missing.connections),
            missing.organization,
            missing.why,
        );
    }
    text += &format!(
        "Under {:.0} % of {} loads the organization predicted to be best is within 5 % of the best.",
        100.0 * report.best_right,
        report.best.len(),
    );
    text
}

fn misses(report: &Report) -> String {
    let misses = report.misses();
    let mut text = format!("\n{} of {} predictions miss:\n", misses.len(), report.points.len());
    for point in misses {
        text += &format!(
            "  {}, {}: {:+.0} % ({} predicted, {} measured, {} to {})\n",
            load(point.work, point.processors, point.connections),
            point.organization,
            100.0 * point.error,
            thousands(point.predicted_per_s),
            thousands(point.measured_per_s),
            thousands(point.min_per_s),
            thousands(point.max_per_s),
        );
    }
    text
}

fn load(work: planner::Work, processors: usize, connections: usize) -> String {
    format!("{work} {processors} CPU {connections} conns")
}

fn cells(point: &Point) -> Vec<String> {
    vec![
        load(point.work, point.processors, point.connections),
        point.organization.clone(),
        thousands(point.predicted_per_s),
        thousands(point.low_per_s),
        thousands(point.high_per_s),
        thousands(point.measured_per_s),
        thousands(point.min_per_s),
        thousands(point.max_per_s),
        format!("{:+.1} %", 100.0 * point.error),
        match (point.is_right, point.is_inside) {
            (false, false) => "miss, outside".to_owned(),
            (true, false) => "outside".to_owned(),
            (right, true) => mark(right),
        },
    ]
}

fn best(best: &Best) -> Vec<String> {
    vec![
        load(best.work, best.processors, best.connections),
        best.predicted.clone(),
        best.measured.clone(),
        format!("{:.1} %", 100.0 * best.of_best),
        mark(best.is_right),
    ]
}

fn mark(is_right: bool) -> String {
    if is_right { String::new() } else { "miss".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_is_never_less_than_the_least() {
        assert!(minutes([7.0, 21.0]).starts_with("about 0.1 minutes, or up to 0.3 "));
        assert!(minutes([96.0, 290.0]).starts_with("about 1.6 minutes, or up to 4.8 "));
    }
}
