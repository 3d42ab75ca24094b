//! What simulated machines charge for: from a calibration, a paper, or a file.

use crate::bench::FamilyArg;
use crate::failure::Failure;
use crate::plan::{of_family, of_machine};
use crate::say::tell;
use planner::calibration::{Calibration, default_path, load};
use planner::predict::{Case, Predictor};
use planner::simulator::{Costs, Scenario};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The largest file of costs, bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Where costs come from.
#[derive(Debug, clap::Args)]
pub struct Given {
    /// Costs of the machine of this calibration
    /// [default: what `anabranch calibrate` wrote]
    #[arg(long, value_name = "FILE", conflicts_with = "costs")]
    calibration: Option<PathBuf>,
    /// Costs from a paper (schmidt1996, yates1996, willmann2006, bohra2007), or from
    /// a file like those
    #[arg(long, value_name = "NAME|FILE")]
    costs: Option<String>,
    /// The family of the addresses, with a calibration
    #[arg(long, value_enum, default_value_t = FamilyArg::V4)]
    family: FamilyArg,
}

/// Scenarios with their costs, and where these are from.
pub struct Charged {
    /// The scenarios.
    pub scenarios: Vec<Scenario>,
    /// By how much the times of each may be off, in logarithms ([`Predictor::doubt`]); none:
    /// costs of a paper or a file, of which that is not known.
    pub doubts: Option<Vec<f64>>,
    /// The family of the addresses; none: costs of a paper or a file.
    pub family: Option<FamilyArg>,
    /// Where their costs are from, in words.
    pub source: String,
    /// The most processors that something was measured on; none: costs of a paper.
    pub measured: Option<usize>,
}

impl Given {
    /// The file that they are read from, and the option that it is of.
    pub fn file(&self) -> (&'static str, Option<PathBuf>) {
        match &self.costs {
            Some(name) => ("--costs", Some(name.into())),
            None => ("--calibration", self.calibration.clone().or_else(default_path)),
        }
    }

    /// The scenarios, with their costs.
    ///
    /// # Errors
    /// If there are none: how to get them.
    pub fn apply(&self, scenarios: Vec<Scenario>) -> Result<Charged, Failure> {
        if let Some(name) = &self.costs {
            if self.family == FamilyArg::V6 {
                return Err(Failure::refused(format!(
                    "--costs {name} are of no family: leave out --family, or take a calibration"
                )));
            }
            let costs = named(name)?;
            let with = |scenario| Scenario { costs: costs.clone(), ..scenario };
            let scenarios = scenarios.into_iter().map(with).collect();
            let source = format!("costs of {name}");
            return Ok(Charged { scenarios, doubts: None, family: None, source, measured: None });
        }
        let calibration = of_family(self.calibration()?, self.family)?;
        let anchors = calibration.organizations.values().flatten();
        let measured = anchors.map(|anchor| anchor.processors).max();
        let source = of_machine(&calibration, self.family);
        let (scenarios, doubts) = fitted(&calibration, scenarios)?;
        let family = Some(self.family);
        Ok(Charged { scenarios, doubts: Some(doubts), family, source, measured })
    }

    fn calibration(&self) -> Result<Calibration, Failure> {
        let Some(path) = self.calibration.clone().or_else(default_path) else {
            return Err(Failure::refused(
                "there is no calibration, as neither XDG_CONFIG_HOME nor HOME is set: \
                 name one with --calibration, or a paper with --costs",
            ));
        };
        let calibration = load(&path).map_err(Failure::refused)?;
        let differs = calibration.machine.differs_from(&lab::machine::this());
        if !differs.is_empty() {
            tell(format_args!(
                "anabranch: {} is of another machine ({differs}): the figures are of that one; \
                 `anabranch calibrate` measures this one",
                path.display()
            ));
        }
        Ok(calibration)
    }
}

/// A paper's, or a file's.
fn named(name: &str) -> Result<Costs, Failure> {
    if let Some(machine) = planner::simulator::machines::find(name) {
        return machine.costs().map_err(Failure::failed);
    }
    let path = Path::new(name);
    let unreadable = |error: std::io::Error| {
        let names: Vec<&str> = planner::simulator::MACHINES.iter().map(|m| m.name).collect();
        Failure::refused(format!(
            "cannot read costs from {name}: {error}: name a readable file, or one of {}",
            names.join(", ")
        ))
    };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(MOST_BYTES + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > MOST_BYTES {
        return Err(Failure::refused(format!(
            "{name} is longer than 1 MiB: name a file of costs, like those of the papers"
        )));
    }
    Costs::parse(&text).map_err(|error| Failure::refused(format!("{name}: {error}")))
}

/// Costs fitted to what was measured of each organization, and by how much the times that
/// follow may be off.
fn fitted(
    calibration: &Calibration,
    scenarios: Vec<Scenario>,
) -> Result<(Vec<Scenario>, Vec<f64>), Failure> {
    let predictor = Predictor::new(calibration).map_err(Failure::refused)?;
    let fit = |scenario: Scenario| {
        let case = Case {
            organization: scenario.organization.clone(),
            options: scenario.options.clone(),
            work: scenario.work,
            bytes: scenario.bytes,
            processors: scenario.processors,
            connections: scenario.connections,
            steering: scenario.steering,
        };
        let fitted = predictor.costs(&case).map_err(Failure::refused)?;
        let doubt = predictor.doubt(&case).map_err(Failure::refused)?;
        Ok((Scenario { costs: fitted.costs, ..scenario }, (doubt, fitted.notes)))
    };
    let fitted: Result<Vec<_>, Failure> = scenarios.into_par_iter().map(fit).collect();
    let (scenarios, rest): (Vec<Scenario>, Vec<(f64, Vec<String>)>) = fitted?.into_iter().unzip();
    let (doubts, notes): (Vec<f64>, Vec<Vec<String>>) = rest.into_iter().unzip();
    for note in notes.into_iter().flatten().collect::<BTreeSet<String>>() {
        tell(format_args!("anabranch: {note}"));
    }
    Ok((scenarios, doubts))
}
