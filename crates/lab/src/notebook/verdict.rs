//! [`Verdict`]: what becomes of a claim. It follows from the records, and from nothing
//! else.

use super::case::{Case, cases};
use super::estimate::{Estimate, LEAST, LOOKS, SURE, bootstrap, seed_of};
use super::experiment::{Claim, Experiment, From, Grid, Selector, Take};
use super::metric;
use super::pace::of_one_pace;
use super::record::{Data, Record, State};
use super::sheet::Sheet;
use crate::measure::cacheline_latency::usual;
use crate::measure::speed::Paces;
use serde::Serialize;
use std::fmt::{Display, Formatter};

/// What becomes of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval is where the claim says.
    Holds,
    /// None of it is.
    DoesNotHold,
    /// A part of it is, or samples are too few.
    Undecided,
    /// There is no figure to test it with.
    NotTestable,
}

impl Outcome {
    /// All of them.
    pub const ALL: [Outcome; 4] =
        [Outcome::Holds, Outcome::DoesNotHold, Outcome::Undecided, Outcome::NotTestable];
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Outcome::Holds => "holds",
            Outcome::DoesNotHold => "does not hold",
            Outcome::Undecided => "undecided",
            Outcome::NotTestable => "not testable here",
        })
    }
}

/// A claim's outcome, and why.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The experiment's name.
    pub experiment: String,
    /// The kind of the machine.
    pub machine: String,
    /// Section and figure of the paper.
    pub source: String,
    /// The finding in words.
    pub statement: String,
    /// What the paper's own figures give.
    pub paper: String,
    /// The test, in words.
    pub test: String,
    /// How the figures came about; none if there are none.
    pub data: Option<Data>,
    /// The value, and between what it is.
    pub value: Option<f64>,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
    /// Runs that count, each beside those that it is compared with.
    pub pairs: usize,
    /// Runs of another state of the machine, which do not count.
    pub left_out: usize,
    /// The outcome.
    pub outcome: Outcome,
    /// Why, in words; empty where the value says it.
    pub why: String,
}

/// Why a claim has no value that has runs.
const MOVED: &str = "the machine changed its state during every run";

/// The value of a claim at one level.
struct Value {
    estimate: Estimate,
    data: Data,
    /// Rounds in one state of the machine.
    pairs: usize,
    /// Those that the estimate is of.
    counted: usize,
    /// Those that it is not of.
    left_out: usize,
    /// The level, in words.
    at: String,
}

/// The outcomes of all claims of an experiment, on machines of one kind.
pub fn verdicts(experiment: &Experiment, records: &[Record], machine: &str) -> Vec<Verdict> {
    experiment
        .claims
        .iter()
        .filter_map(|claim| {
            let grid = experiment.grid(&claim.grid)?;
            Some(Judge::of(claim, grid, experiment, records, machine).verdict(experiment, machine))
        })
        .collect()
}

/// The cases, each with the place of its grid, of measured claims that need more runs than
/// there are: fewer are of one state of the machine than an interval takes, or the first
/// `rounds` rounds left the claim undecided and there are fewer than the first of [`LOOKS`] in
/// all, or these left it undecided, too, and there are fewer than the next. None of claims with a
/// run that failed.
///
/// So there are three looks at a claim, and between them no round decides: to stop as soon as
/// an interval suits would make it miss more often than it says. The first look decides only what
/// is clear of its limit by [`EARLY`].
pub(super) fn lacking(
    experiment: &Experiment,
    records: &[Record],
    machine: &str,
    rounds: usize,
) -> Vec<(usize, Case)> {
    let mut lacking: Vec<(usize, Case)> = Vec::new();
    for claim in &experiment.claims {
        let Some(place) = experiment.grids.iter().position(|grid| grid.name == claim.grid) else {
            continue;
        };
        let grid = &experiment.grids[place];
        let judge = Judge::of(claim, grid, experiment, records, machine);
        let cases = cases(grid).unwrap_or_default();
        let is_of = |case: &&Case| {
            let fits = |(name, level)| case.0.get(name) == Some(level);
            claim.selectors().any(|selector: &Selector| selector.iter().all(fits))
        };
        let cases: Vec<&Case> = cases.iter().filter(is_of).collect();
        if cases.iter().all(|case| case.fits()) && judge.lacks(experiment, rounds) {
            let new = cases.into_iter().map(|case| (place, case.clone()));
            let new: Vec<_> = new.filter(|one| !lacking.contains(one)).collect();
            lacking.extend(new);
        }
    }
    lacking
}

/// The part of a measured value by which its interval has to be clear of a claim's limit. Rounds
/// follow each other within minutes, so an interval does not know by how much the same ratio
/// differs from folder to folder. Four quick runs of all papers agreed best with 1.5 to 3 %
/// (docs/findings.md).
const SPARE: f64 = 0.02;

/// The same where rounds are fewer than the first of [`LOOKS`], for whether they are enough. Some
/// loads go at either of two speeds for a whole run, and five runs may all have had the same one:
/// their interval is narrow then, and says nothing. That an early look is to ask for more than a
/// late one is how trials are stopped that are looked at several times (O'Brien and Fleming, 1979).
const EARLY: f64 = 0.15;

struct Judge<'a> {
    claim: &'a Claim,
    grid_from: From,
    sheet: Sheet<'a>,
    /// Only so many rounds, the first ones; none: all.
    first: Option<usize>,
}

impl<'a> Judge<'a> {
    fn of(
        claim: &'a Claim,
        grid: &Grid,
        experiment: &Experiment,
        records: &'a [Record],
        machine: &str,
    ) -> Judge<'a> {
        let sheet = Sheet::of(records, &experiment.name, grid, machine);
        Judge { claim, grid_from: grid.from, sheet, first: None }
    }

    fn verdict(&self, experiment: &Experiment, machine: &str) -> Verdict {
        let claim = self.claim;
        let value = self.value(experiment);
        let (outcome, why) = match &value {
            Ok(value) => self.outcome(value),
            Err(why) => (Outcome::NotTestable, why.clone()),
        };
        let value = value.ok();
        let of = |f: fn(&Estimate) -> f64| value.as_ref().map(|v| f(&v.estimate));
        Verdict {
            experiment: experiment.name.clone(),
            machine: machine.to_owned(),
            source: claim.source.clone(),
            statement: claim.statement.clone(),
            paper: claim.paper.clone(),
            test: test(claim),
            data: value.as_ref().map(|value| value.data),
            value: of(|estimate| estimate.median),
            low: of(|estimate| estimate.low),
            high: of(|estimate| estimate.high),
            pairs: value.as_ref().map_or(0, |value| value.counted),
            left_out: value.as_ref().map_or(0, |value| value.left_out),
            outcome,
            why,
        }
    }

    /// Is it measured, and has it too few runs? `rounds`: those that every claim has.
    fn lacks(mut self, experiment: &Experiment, rounds: usize) -> bool {
        let missing = metric::find(&self.claim.metric).is_ok_and(|metric| metric.missing.is_some());
        let failed = self.sheet.records().iter().any(|record| record.failure.is_some());
        if self.grid_from != From::Stack || self.claim.predicted || missing || failed {
            return false;
        }
        // Without a value, the machine changed in every run, or a metric is 0 on both sides.
        let pairs = match self.value(experiment) {
            Ok(value) => value.pairs,
            Err(why) => return why == MOVED,
        };
        if pairs < LEAST {
            return true;
        }
        let mut undecided = |first: usize| {
            self.first = Some(first);
            let value = self.value(experiment).ok();
            let spare = |pairs| if pairs < LOOKS[0] { EARLY } else { SPARE };
            let outcome = |value: &Value| self.outcome_clear_by(spare(value.pairs), value).0;
            value.map(|value| (value.pairs, outcome(&value) == Outcome::Undecided))
        };
        let mut open = undecided(rounds).is_some_and(|(_, undecided)| undecided);
        for look in LOOKS {
            if !open || pairs < look {
                return open;
            }
            // It is at the first rounds that gave enough, however many there are.
            let at = (look..).filter_map(&mut undecided).find(|(had, _)| *had >= look);
            open = at.is_some_and(|(_, undecided)| undecided);
        }
        false
    }

    fn outcome(&self, value: &Value) -> (Outcome, String) {
        self.outcome_clear_by(SPARE, value)
    }

    /// The outcome if what is measured has to be clear of the limit by this part of it.
    fn outcome_clear_by(&self, spare: f64, value: &Value) -> (Outcome, String) {
        let Estimate { low, high, .. } = value.estimate;
        let spare = if value.data == Data::Measured { spare } else { 0.0 };
        let (low, high) = (low * (1.0 - spare), high * (1.0 + spare));
        let (least, most) = (
            self.claim.at_least.unwrap_or(f64::NEG_INFINITY),
            self.claim.at_most.unwrap_or(f64::INFINITY),
        );
        let drawn = matches!(value.data, Data::Measured | Data::Simulated);
        if drawn && value.pairs < LEAST {
            let why = format!(
                "only {} runs in one state of the machine, and {LEAST} are needed for an interval",
                value.pairs
            );
            return (Outcome::Undecided, why);
        }
        let outcome = if least <= low && high <= most {
            Outcome::Holds
        } else if high < least || most < low {
            Outcome::DoesNotHold
        } else {
            Outcome::Undecided
        };
        (outcome, value.at.clone())
    }

    /// The value at the level that counts.
    fn value(&self, experiment: &Experiment) -> Result<Value, String> {
        if let Some(why) = metric::find(&self.claim.metric)?.missing {
            return Err(why.to_owned());
        }
        let Some(each) = &self.claim.each else { return self.value_at(None) };
        let grid = experiment.grid(&self.claim.grid);
        let levels = grid.and_then(|grid| grid.factors.get(each)).into_iter().flatten();
        let mut values = Vec::new();
        let mut why = String::new();
        for level in levels {
            match self.value_at(Some((each, level))) {
                Ok(value) => values.push(value),
                Err(error) => why = error,
            }
        }
        let by = |a: &Value, b: &Value| a.estimate.median.total_cmp(&b.estimate.median);
        let chosen = match self.claim.take {
            Take::Least => values.into_iter().min_by(by),
            Take::Greatest => values.into_iter().max_by(by),
        };
        chosen.ok_or(why)
    }

    fn value_at(&self, each: Option<(&String, &super::level::Level)>) -> Result<Value, String> {
        let with = |selector: &Selector| {
            let mut selector = selector.clone();
            selector.extend(each.map(|(name, level)| (name.clone(), level.clone())));
            selector
        };
        let selectors = Sides {
            left: with(&self.claim.left),
            left_over: self.claim.left_over.as_ref().map(with),
            right: self.claim.right.as_ref().map(with),
            right_over: self.claim.right_over.as_ref().map(with),
        };
        let kinds: &[Data] = match self.grid_from {
            From::Simulator => &[Data::Simulated],
            From::Thekkath1992 => &[Data::Computed],
            From::Stack if self.claim.predicted => &[Data::Predicted],
            From::Stack => &[Data::Measured, Data::Predicted],
        };
        let mut why = String::new();
        for &data in kinds {
            match self.value_of(&selectors, data) {
                Ok(value) => {
                    let at = each.map(|(name, level)| format!("at {name} = {level}"));
                    return Ok(Value { at: at.unwrap_or_default(), ..value });
                }
                // Why nothing is predicted matters only if it was tried.
                Err(error) if why.is_empty() || self.sheet.has(data) => why = error,
                Err(_) => {}
            }
        }
        Err(why)
    }

    /// The value of the selected cases, run beside run.
    fn value_of(&self, sides: &Sides, data: Data) -> Result<Value, String> {
        let most = self.sheet.records().iter().map(|r| r.repetition + 1).max().unwrap_or(0);
        let most = self.first.map_or(most, |first| first.min(most));
        let mut pairs: Vec<Pair> = Vec::new();
        let mut why = None;
        let mut moved = 0;
        for repetition in 0..most {
            match self.pair(sides, data, repetition) {
                Ok(Some(pair)) => pairs.push(pair),
                Ok(None) => moved += 1,
                Err(error) => why = why.or(Some(error)),
            }
        }
        let states: Vec<f64> = pairs
            .iter()
            .filter_map(|pair| match pair.state {
                State::Steady(ns) => Some(ns),
                State::One | State::Moved => None,
            })
            .collect();
        let state = usual(&states).map_or(State::One, State::Steady);
        let all = pairs.len() + moved;
        pairs.retain(|pair| pair.state.is_alike(state));
        // How many more are needed is not to depend on what the machine's pace happened to be.
        let count = pairs.len();
        let pairs = of_one_pace(pairs, |pair| pair.paces);
        let values: Vec<f64> = pairs.iter().map(|pair| pair.value).collect();
        let seed = seed_of(&self.claim.statement);
        let factor = pairs.first().map_or(0.0, |pair| pair.factor);
        let estimate = match data {
            Data::Predicted => values.first().map(|value| Estimate::within(*value, factor.exp())),
            Data::Computed => values.first().map(|value| Estimate::exact(*value)),
            Data::Measured | Data::Simulated => bootstrap(&values, SURE, seed),
        };
        let none = || why.unwrap_or_else(|| MOVED.to_owned());
        let estimate = estimate.ok_or_else(none)?;
        let left_out = all - pairs.len();
        let counted = pairs.len();
        Ok(Value { estimate, data, pairs: count, counted, left_out, at: String::new() })
    }

    /// One round. `None`: the machine changed meanwhile.
    fn pair(&self, sides: &Sides, data: Data, repetition: usize) -> Result<Option<Pair>, String> {
        let mut state = State::One;
        let mut squares = 0.0;
        let mut paces: Vec<Option<Paces>> = Vec::new();
        let mut is_steady = true;
        let mut look = |selector: &Selector, metric: &str| -> Result<f64, String> {
            let record = self
                .sheet
                .record(selector, data, repetition)
                .ok_or_else(|| format!("no run was {}: {}", data.name(), words(selector)))?;
            if let Some(failure) = &record.failure {
                return Err(failure.clone());
            }
            is_steady &= record.state().is_alike(state);
            if record.state() != State::One {
                state = record.state();
            }
            paces.push(record.piece_ns);
            squares += record.factor.map_or(0.0, |factor| factor.ln().powi(2));
            let value = record.figures.get(metric).copied();
            value.ok_or_else(|| format!("{} has no {metric}", words(selector)))
        };
        let claim = self.claim;
        let of_right = claim.right_metric.as_ref().unwrap_or(&claim.metric);
        let left = look(&sides.left, &claim.metric)?;
        let mut over = |selector: &Option<Selector>, metric: &str| {
            selector.as_ref().map_or(Ok(1.0), |selector| look(selector, metric))
        };
        let left_over = over(&sides.left_over, &claim.metric)?;
        let right = over(&sides.right, of_right)?;
        let right_over = over(&sides.right_over, of_right)?;
        let value = (left / left_over) / (right / right_over);
        if value.is_nan() {
            return Err(format!("{} is 0 on both sides", self.claim.metric));
        }
        // Not known of one, not known of the pair.
        let paces: Option<Vec<Paces>> = paces.into_iter().collect();
        let paces = paces.and_then(|all| all.into_iter().reduce(Paces::with));
        Ok(is_steady.then_some(Pair { value, state, factor: squares.sqrt(), paces }))
    }
}

/// What a claim compares, of one round.
struct Pair {
    value: f64,
    /// The state of the machine.
    state: State,
    /// The logarithm of the factor by which the value may be off.
    factor: f64,
    /// How fast processors were, in all of its runs.
    paces: Option<Paces>,
}

/// The cases that a claim compares.
struct Sides {
    left: Selector,
    left_over: Option<Selector>,
    right: Option<Selector>,
    right_over: Option<Selector>,
}

fn words(selector: &Selector) -> String {
    super::case::Case(selector.clone()).to_string()
}

/// The test in words.
fn test(claim: &Claim) -> String {
    let over = |left: &Selector, over: &Option<Selector>| match over {
        Some(over) => format!("({} / {})", words(left), words(over)),
        None => words(left),
    };
    let mut text = format!("{}: {}", claim.metric, over(&claim.left, &claim.left_over));
    if let Some(right) = &claim.right {
        text += " / ";
        if let Some(metric) = &claim.right_metric {
            text += &format!("{metric}: ");
        }
        text += &over(right, &claim.right_over);
    }
    if let Some(each) = &claim.each {
        let which = if claim.take == Take::Least { "least" } else { "greatest" };
        text += &format!(", the {which} of all {each}");
    }
    text += &match (claim.at_least, claim.at_most) {
        (Some(least), Some(most)) => format!(", from {least} to {most}"),
        (Some(least), None) => format!(", at least {least}"),
        (None, Some(most)) => format!(", at most {most}"),
        (None, None) => String::new(),
    };
    text
}

#[cfg(test)]
mod tests;
