//! `anabranch lab validate`: the planner's predictions against the stack.

use crate::calibrate::measure;
use crate::failure::Failure;
use crate::files::Json;
use crate::progress;
use crate::table::{render, thousands};
use lab::calibrate::Effort;
use lab::machine;
use lab::validate::{Best, Point, Report, Validation};
use planner::{Calibration, Predictor, calibration};
use std::path::PathBuf;

const MORE: &str = "\
Draws loads by a seed: TCP or UDP, sending or in transactions, on processors that
the calibration knows, over 1 to 3,072 connections, none of which the calibration
has measured. Under each it measures all organizations against a simulated peer,
several times, in turn, and prints what was predicted and what was measured.

A prediction is right within 15 %; an organization that is predicted to be best is
right if it does at least 95 % of what the best one does. The machine should do
nothing else meanwhile.";

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
    /// Samples of each
    #[arg(long, default_value_t = 3)]
    samples: usize,
    /// By which loads are drawn
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the figures to this file, as JSON (`-`: to standard output, instead
    /// of the table)
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Fail unless as many points were compared as were asked for, and 80 % of the predictions and 80 %
    /// of the best are right
    #[arg(long)]
    require: bool,
}

/// The share that `--require` asks for.
const REQUIRED: f64 = 0.8;

impl Args {
    /// Compares, and prints what came out.
    ///
    /// # Errors
    /// [`Failure`]: code 2 for what makes no sense, 1 for what went wrong.
    pub fn run(&self) -> Result<(), Failure> {
        let validation = Validation {
            points: self.points,
            seed: self.seed,
            samples: self.samples,
            ..Validation::default()
        };
        validation.check().map_err(Failure::refused)?;
        let json = Json::to(self.json.as_deref())?;
        let calibration = self.calibration()?;
        let predictor = Predictor::new(&calibration).map_err(Failure::refused)?;
        let loads = validation.loads(&calibration);
        if loads.is_empty() {
            return Err(Failure::refused(
                "the calibration has measured all there is to draw: run `anabranch calibrate`",
            ));
        }
        let minutes = validation.seconds(&loads) / 60.0;
        eprintln!("{} loads under all organizations: about {minutes:.1} minutes", loads.len());
        let bar = progress::samples();
        let report = validation.run(&loads, &calibration, &predictor, &mut |progress| {
            progress::show(&bar, progress);
        });
        bar.finish_and_clear();
        let report = report.map_err(Failure::failed)?;
        json.report(&report, || table(&report))?;
        if self.require && report.points.len() < self.points {
            return Err(Failure::failed(format!(
                "only {} points could be measured, and {} were asked for: calibrate again on a quiet machine",
                report.points.len(),
                self.points,
            )));
        }
        if self.require && (report.right < REQUIRED || report.best_right < REQUIRED) {
            return Err(Failure::failed(format!(
                "{:.0} % of the predictions and {:.0} % of the best are right, less than 80 %: calibrate again on a quiet machine",
                100.0 * report.right,
                100.0 * report.best_right,
            )));
        }
        Ok(())
    }

    /// The file's; or measures one.
    fn calibration(&self) -> Result<Calibration, Failure> {
        let Some(path) = &self.calibration else {
            eprintln!("calibrating first: about a minute");
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

/// The report for people: all points, the best, the misses, and the summary.
fn table(report: &Report) -> String {
    let header =
        ["load", "organization", "predicted\n/s", "measured\n/s", "min", "max", "error", ""];
    let rows: Vec<Vec<String>> = report.points.iter().map(cells).collect();
    let mut text = render(&header, &rows);
    text.push('\n');
    let header = ["load", "best predicted", "best measured", "of best", ""];
    let rows: Vec<Vec<String>> = report.best.iter().map(best).collect();
    text += &render(&header, &rows);
    let misses = report.misses();
    text += &format!("\n{} of {} predictions miss:\n", misses.len(), report.points.len());
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
    text += &format!(
        "\n{:.0} % of {} predictions are within 15 % (half of them within {:.1} %).\n",
        100.0 * report.right,
        report.points.len(),
        100.0 * report.median_error,
    );
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

fn load(work: planner::Work, processors: usize, connections: usize) -> String {
    format!("{work} {processors} CPU {connections} conns")
}

fn cells(point: &Point) -> Vec<String> {
    vec![
        load(point.work, point.processors, point.connections),
        point.organization.clone(),
        thousands(point.predicted_per_s),
        thousands(point.measured_per_s),
        thousands(point.min_per_s),
        thousands(point.max_per_s),
        format!("{:+.1} %", 100.0 * point.error),
        mark(point.is_right),
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
