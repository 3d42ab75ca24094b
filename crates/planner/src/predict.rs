//! [`Predictor`]: predicts the operations a second of a stack under any organization,
//! from the cases that a [`Calibration`] has measured. Predictions are of the stack
//! over a device in memory, without an application.
//!
//! Measurements are preferred to models. For a number of processors that was
//! measured, a prediction is interpolated between measured cases (`curve`). On several
//! processors, the ratio is interpolated to what each of them does alone with its share
//! of the connections (`spread`). For other numbers of processors, the fitted simulator
//! extrapolates (`beyond`). Payload of another size changes the time of an operation
//! by the time to copy and sum the difference (`payload`).
//!
//! Each prediction has an interval. Its half-width, in logarithms, is the root of a
//! sum of squares. The terms are the measurement's interval, the difference of two
//! interpolations, the uncertainty of the formulas, [`FLOOR`], and what the calibration says
//! of itself (`held_out`): by how much each measured case is off that is predicted from its
//! neighbours.

use crate::calibration::{Anchor, Calibration};
use crate::{Error, Work};
use catalog::{Entry, Family, Options};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

mod beyond;
mod charges;
mod curve;
mod doubt;
mod fit;
mod held_out;
mod payload;
mod power;
mod spread;

pub use crate::calibration::POWER;
pub use crate::simulator::scenario::Steering;
pub use fit::Fitted;
pub(crate) use fit::scenario;
pub use held_out::HeldOut;

use curve::{Curve, Value};

/// The least half-width of an interval, in logarithms: the difference between two
/// measurements of the same case, corrected for the machine's speed.
pub const FLOOR: f64 = 0.04;

/// The share of measurements that lie inside of intervals, if these are right.
pub const SURE: f64 = 0.9;

/// The most processors that are predicted for.
pub const MOST_PROCESSORS: usize = 256;

/// A stack and its load, with all connections busy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The organization's name.
    pub organization: String,
    /// The choices that the organization leaves open.
    pub options: Options,
    /// What connections do.
    pub work: Work,
    /// Bytes of payload of an operation, one way.
    pub bytes: usize,
    /// Processors.
    pub processors: usize,
    /// Connections, or flows of UDP.
    pub connections: usize,
    /// How connections are assigned to processors.
    pub steering: Steering,
}

/// The basis of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Basis {
    /// The case was measured.
    Measured,
    /// Between measured numbers of connections.
    Interpolated,
    /// Beyond the least or the most connections that were measured, or for payload
    /// of another size.
    Extrapolated,
    /// For a number of processors that was not measured.
    Modelled,
}

/// The prediction for a [`Case`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// Operations a second, at the speed that the machine had when its primitives
    /// were measured.
    pub operations_per_s: f64,
    /// The interval's lower end, operations a second.
    pub low: f64,
    /// The interval's upper end, operations a second.
    pub high: f64,
    /// Processor time of an operation, over all threads, ns.
    pub processor_ns: f64,
    /// What limits it.
    pub saturates: String,
    /// Its basis.
    pub basis: Basis,
    /// Remarks, on options that the calibration does not have, for example.
    pub notes: Vec<String>,
}

/// A figure and its basis, from which a [`Prediction`] is made.
#[derive(Clone, Copy, Debug)]
struct Figure {
    value: Value,
    basis: Basis,
}

/// The measured cases of an organization, a work, and a number of processors.
#[derive(Clone, Debug)]
struct Measured {
    /// Operations a second by connections.
    throughput: Curve,
    /// The cases themselves, by connections.
    anchors: Vec<Anchor>,
}

impl Measured {
    /// Of at least one anchor.
    fn of(mut anchors: Vec<Anchor>, powers: power::Powers) -> Measured {
        anchors.sort_by_key(|anchor| anchor.connections);
        let throughput =
            Curve::new(anchors.iter().map(|anchor| (anchor.connections, rate(anchor, powers))));
        Measured { throughput, anchors }
    }

    /// The case whose number of connections is nearest.
    fn nearest(&self, connections: usize) -> &Anchor {
        let apart = |anchor: &&Anchor| (anchor.connections as f64 / connections as f64).ln().abs();
        let nearest = self.anchors.iter().min_by(|a, b| apart(a).total_cmp(&apart(b)));
        nearest.expect("there is at least one anchor")
    }
}

/// Predictions from one calibration.
#[derive(Clone, Debug)]
pub struct Predictor {
    calibration: Calibration,
    measured: BTreeMap<(String, Work, usize), Measured>,
    /// With which power of the machine's speed rates go.
    powers: power::Powers,
    /// The fits made so far.
    fitted: Arc<Mutex<BTreeMap<fit::Key, Fitted>>>,
    /// How much predictions miss beyond what their parts say, in logarithms.
    restless: held_out::Restless,
}

impl Predictor {
    /// Makes a predictor from a calibration.
    ///
    /// # Errors
    /// If [`Calibration::check`] refuses it, or it has no measured organization.
    pub fn new(calibration: &Calibration) -> Result<Predictor, Error> {
        calibration.check()?;
        let mut groups = Groups::new();
        for (name, anchors) in &calibration.organizations {
            for anchor in anchors {
                let key = (name.clone(), anchor.work, anchor.processors);
                groups.entry(key).or_default().push(*anchor);
            }
        }
        if groups.is_empty() {
            return Err(Error::File(
                "the calibration has no organization in it: run `anabranch calibrate` to write a new one".into(),
            ));
        }
        let mut predictor = Predictor {
            calibration: calibration.clone(),
            measured: BTreeMap::new(),
            powers: power::Powers::default(),
            fitted: Arc::default(),
            restless: held_out::Restless::default(),
        };
        predictor.powers = predictor.fit_powers(&groups);
        predictor.measured = measured(&groups, predictor.powers);
        predictor.restless = held_out::Restless::of(&predictor.held_out());
        Ok(predictor)
    }

    /// The calibration.
    pub fn calibration(&self) -> &Calibration {
        &self.calibration
    }

    /// The numbers of processors for which an organization and a work were measured,
    /// ascending.
    pub fn processors(&self, organization: &str, work: Work) -> Vec<usize> {
        let of = |key: &&(String, Work, usize)| key.0 == organization && key.1 == work;
        self.measured.keys().filter(of).map(|key| key.2).collect()
    }

    /// The bytes of an operation with which an organization and a work were measured.
    pub fn bytes(&self, organization: &str, work: Work) -> Option<usize> {
        let least = *self.processors(organization, work).first()?;
        let measured = self.of(organization, work, least)?;
        measured.anchors.first().map(|anchor| anchor.bytes)
    }

    /// Predicts a case.
    ///
    /// # Errors
    /// If there is no such organization, if it cannot run the case, or if the
    /// calibration has not measured it. The error says what to do.
    pub fn predict(&self, case: &Case) -> Result<Prediction, Error> {
        let entry = check(case)?;
        let counts = self.processors(entry.name, case.work);
        if counts.is_empty() {
            return Err(self.unknown(entry, case.work));
        }
        let figure = match counts.contains(&case.processors) {
            true => self.at_measured(case, case.processors),
            false => beyond::figure(self, case, &counts)?,
        };
        let figure = payload::adjust(self, case, figure);
        Ok(self.prediction(entry, case, figure, &counts))
    }

    /// The costs of a simulated machine, fitted to measured cases of `case`'s
    /// organization and work. They are fitted at the largest number of processors that
    /// was measured and is not above that of `case`.
    ///
    /// # Errors
    /// If the calibration has not measured the organization or the work, or if the
    /// organization cannot be simulated.
    pub fn costs(&self, case: &Case) -> Result<Fitted, Error> {
        let counts = self.processors(&case.organization, case.work);
        let mut fitted = self.nearest(case)?;
        if !counts.contains(&case.processors) {
            fitted.costs.scale(beyond::growth(self, case, &counts)?.ln.exp());
        }
        Ok(fitted)
    }

    fn of(&self, organization: &str, work: Work, processors: usize) -> Option<&Measured> {
        self.measured.get(&(organization.to_owned(), work, processors))
    }

    /// Predicts the case at a number of processors that was measured.
    fn at_measured(&self, case: &Case, processors: usize) -> Figure {
        let measured = self.of(&case.organization, case.work, processors).expect("was measured");
        self.out_of(case, processors, measured)
    }

    /// The same from these measured cases.
    fn out_of(&self, case: &Case, processors: usize, measured: &Measured) -> Figure {
        let one = self.of(&case.organization, case.work, 1).filter(|_| processors > 1);
        let Some(one) = one else {
            let value = measured.throughput.at(case.connections);
            return Figure { value, basis: measured.throughput.basis(case.connections) };
        };
        // The ratio to the sum of the processors' own work is smoother than the rate.
        let share = |n: usize, spread| {
            spread::sum(spread, n, processors, |k| one.throughput.at(k).ln.exp())
        };
        let even = |n: usize| share(n, Steering::Even).mean.ln();
        let ratio = Curve::new(measured.anchors.iter().map(|anchor| {
            let value = rate(anchor, self.powers);
            (
                anchor.connections,
                Value { ln: value.ln - even(anchor.connections), error: value.error },
            )
        }));
        let sum = share(case.connections, case.steering);
        let ratio_value = ratio.at(case.connections);
        let value =
            Value { ln: sum.mean.ln() + ratio_value.ln, error: ratio_value.error.hypot(sum.error) };
        Figure { value, basis: ratio.basis(case.connections) }
    }

    fn unknown(&self, entry: &Entry, work: Work) -> Error {
        let known: Vec<&str> = Work::ALL
            .into_iter()
            .filter(|work| !self.processors(entry.name, *work).is_empty())
            .map(Work::name)
            .collect();
        Error::Asked(match known.is_empty() {
            true => format!(
                "the calibration knows nothing of {}: run `anabranch calibrate` again",
                entry.name
            ),
            false => format!(
                "the calibration knows nothing of {work} under {}, only of {}: run `anabranch calibrate` again, or ask for one of these",
                entry.name,
                known.join(", ")
            ),
        })
    }

    /// Which state of the machine a prediction is for, if the calibration has met two.
    fn state_of(&self, case: &Case) -> Option<String> {
        let other = self.calibration.other_state.as_ref().filter(|_| case.processors > 1)?;
        let here = self.calibration.primitives.line_transfer_ns.value;
        Some(format!(
            "for processors that are {here:.0} ns apart; while the machine was calibrated they were {:.0} ns apart, too",
            other.line_transfer_ns.value,
        ))
    }

    fn prediction(
        &self,
        entry: &Entry,
        case: &Case,
        figure: Figure,
        counts: &[usize],
    ) -> Prediction {
        let restless = self.restless.at(entry.name, case.processors > 1);
        let error = figure.value.error.hypot(FLOOR).hypot(restless);
        let operations_per_s = figure.value.ln.exp();
        let nearest = counts.iter().min_by_key(|count| count.abs_diff(case.processors));
        let measured = nearest.and_then(|count| self.of(entry.name, case.work, *count));
        let anchor = measured.map(|measured| measured.nearest(case.connections));
        let mut notes = Vec::new();
        let default = Options::default();
        let options = &case.options;
        if entry.choices.contains(&catalog::Choice::Lock) && options.lock != default.lock {
            notes.push(format!("measured with {} locks", default.lock));
        }
        notes.extend(self.state_of(case));
        Prediction {
            operations_per_s,
            low: (figure.value.ln - error).exp(),
            high: (figure.value.ln + error).exp(),
            processor_ns: anchor.map_or(0.0, |anchor| anchor.processor_ns),
            saturates: saturates(entry, case, anchor),
            basis: figure.basis,
            notes,
        }
    }
}

/// What was measured, by organization, work and processors.
type Groups = BTreeMap<(String, Work, usize), Vec<Anchor>>;

fn measured(groups: &Groups, powers: power::Powers) -> BTreeMap<(String, Work, usize), Measured> {
    let of = |(key, anchors): (&(String, Work, usize), &Vec<Anchor>)| {
        (key.clone(), Measured::of(anchors.clone(), powers))
    };
    groups.iter().map(of).collect()
}

/// Operations a second of a case, at the speed that the machine had when its primitives
/// were measured.
fn rate(anchor: &Anchor, powers: power::Powers) -> Value {
    let speed = if anchor.speed > 0.0 { anchor.speed } else { 1.0 };
    let figure = anchor.operations_per_s;
    let half = |end: f64| if end > 0.0 { (end / figure.value).ln().abs() } else { 1.0 };
    Value {
        ln: figure.value.ln() - powers.at(anchor.processors) * speed.ln(),
        error: half(figure.low).max(half(figure.high)).min(1.0),
    }
}

/// Checks that the case can be run at all.
fn check(case: &Case) -> Result<&'static Entry, Error> {
    let Some(entry) = catalog::find(&case.organization) else {
        let names: Vec<&str> = catalog::CATALOG.iter().map(|entry| entry.name).collect();
        return Err(Error::Asked(format!(
            "no organization is called `{}`: there are {}",
            case.organization,
            names.join(", ")
        )));
    };
    let asked = |message: String| Err(Error::Asked(message));
    if case.processors == 0 || case.processors > MOST_PROCESSORS {
        return asked(format!(
            "{} processors: predictions are for 1 to {MOST_PROCESSORS}",
            case.processors
        ));
    }
    if entry.single && case.processors > 1 {
        return asked(format!(
            "{} runs on one processor, not on {}: ask for 1, or another organization",
            entry.name, case.processors
        ));
    }
    if case.connections == 0 || case.connections > crate::load::MOST_CONNECTIONS {
        return asked(format!(
            "{} connections: predictions are for 1 to {}",
            case.connections,
            crate::load::MOST_CONNECTIONS
        ));
    }
    if case.bytes == 0 || case.bytes > crate::load::MOST_BYTES {
        return asked(format!(
            "{} bytes: predictions are for 1 to {}",
            case.bytes,
            crate::load::MOST_BYTES
        ));
    }
    Ok(entry)
}

/// What limits a case, in words: that of the nearest measured case.
fn saturates(entry: &Entry, case: &Case, anchor: Option<&Anchor>) -> String {
    if case.connections < case.processors {
        return format!("connections: {0} keep at most {0} processors busy", case.connections);
    }
    let Some(anchor) = anchor else { return "processors".into() };
    let per_processor = anchor.operations_per_s.value / 1e9 / anchor.processors as f64;
    let [busy, waiting] = [anchor.processor_ns, anchor.lock_wait_ns].map(|ns| ns * per_processor);
    match (waiting > 0.25, busy < 0.8, entry.family) {
        (true, _, _) if entry.locks.is_empty() => "locks".into(),
        (true, _, _) => entry.locks.into(),
        (_, true, Family::Layered) => "the slowest layer's thread".into(),
        (_, true, _) if case.processors > 1 => "hand-offs: processors wait for each other".into(),
        _ => "processors".into(),
    }
}

#[cfg(test)]
pub(crate) mod tests;
