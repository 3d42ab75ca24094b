//! [`Needed`]: what the model says must be different for a claim to come out that does not.
//!
//! The two sides of the claim are simulated with the costs of the machine in question: a paper's,
//! or those that the planner fits to this machine's calibration. Then each cost is changed until
//! the claim comes out ([`planner::simulator::search`]). A search, and no guess; but it knows only
//! what the simulator charges for.

use super::case::{Case, cases};
use super::experiment::{Claim, Experiment, From, Grid, Selector, Take};
use super::perform;
use super::verdict::{Outcome, Verdict};
use planner::Predictor;
use planner::simulator::search::{Found, To, search};
use planner::simulator::{Costs, Scenario};
use serde::{Deserialize, Serialize};

/// A claim that does not hold, and what would make it hold.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Needed {
    /// The experiment's name.
    pub experiment: String,
    /// The finding in words.
    pub statement: String,
    /// What was found; none if it cannot be simulated.
    pub found: Option<Found>,
    /// Why not, then.
    pub why: String,
}

impl Needed {
    /// Is it of this verdict's claim?
    pub fn is_of(&self, verdict: &Verdict) -> bool {
        (&self.experiment, &self.statement) == (&verdict.experiment, &verdict.statement)
    }
}

/// Operations of a simulated run: enough for a ratio, and few enough for some hundred runs.
const OPERATIONS: u64 = 6_000;
/// The most connections that are simulated for it.
const CONNECTIONS: usize = 512;

/// What the model has a word for. Where the two sides of a claim differ in something else, it
/// cannot tell them apart.
const MODELLED: [&str; 15] = [
    "organization",
    "workload",
    "direction",
    "processors",
    "connections",
    "bytes",
    "preset",
    "burst",
    "groups",
    "virtual_processors",
    "engines",
    "window",
    "order",
    "max_threads",
    "lock",
];

/// What the simulator gives.
const METRICS: [&str; 6] = [
    "gbit_per_s",
    "transactions_per_s",
    "operations_per_s",
    "lock_wait_share",
    "latency_p50_us",
    "latency_p99_us",
];

/// Searches for each claim of `experiments` that does not hold by `verdicts`. `predictor` knows
/// this machine's costs; without it, only papers' machines are searched. Calls `progress` with
/// the statement of each before it is searched.
pub fn all(
    experiments: &[Experiment],
    verdicts: &[Verdict],
    predictor: Option<&Predictor>,
    progress: &mut dyn FnMut(&str),
) -> Vec<Needed> {
    let mut all: Vec<Needed> = Vec::new();
    let failed = verdicts.iter().filter(|verdict| verdict.outcome == Outcome::DoesNotHold);
    for verdict in failed {
        let Some((experiment, claim)) = claim_of(experiments, verdict) else { continue };
        // A claim on several kinds of machines is searched once.
        if all.iter().any(|needed| needed.is_of(verdict)) {
            continue;
        }
        progress(&claim.statement);
        let (found, why) = match needed(experiment, claim, predictor) {
            Ok(found) => (Some(found), String::new()),
            Err(why) => (None, why),
        };
        all.push(Needed {
            experiment: experiment.name.clone(),
            statement: claim.statement.clone(),
            found,
            why,
        });
    }
    all
}

fn claim_of<'a>(
    experiments: &'a [Experiment],
    verdict: &Verdict,
) -> Option<(&'a Experiment, &'a Claim)> {
    let experiment = experiments.iter().find(|one| one.name == verdict.experiment)?;
    let claim = experiment.claims.iter().find(|claim| claim.statement == verdict.statement)?;
    Some((experiment, claim))
}

/// The changes with which a claim comes out, by the model.
///
/// # Errors
/// A line that says why the model has no word for it.
pub fn needed(
    experiment: &Experiment,
    claim: &Claim,
    predictor: Option<&Predictor>,
) -> Result<Found, String> {
    let grid = experiment.grid(&claim.grid).ok_or("its grid is gone")?;
    for metric in std::iter::once(&claim.metric).chain(&claim.right_metric) {
        if !METRICS.contains(&metric.as_str()) {
            return Err(format!("the simulator has no {metric}"));
        }
    }
    let sides = sides(grid, claim, predictor)?;
    let first = sides.first().and_then(|side| side.left.first()).ok_or("it selects no case")?;
    let least = claim.at_least.unwrap_or(f64::NEG_INFINITY);
    let most = claim.at_most.unwrap_or(f64::INFINITY);
    let figure = |change: Option<(&str, To)>| value(&sides, claim.take, change);
    search(&first.scenario.costs, least, most, figure).map_err(|error| error.to_string())
}

/// A case that is simulated, and the metric that counts.
struct One {
    scenario: Scenario,
    metric: String,
}

/// What a claim compares at one level: the first of `left` over the second, and the same of
/// `right`.
struct Sides {
    left: Vec<One>,
    right: Vec<One>,
}

fn sides(grid: &Grid, claim: &Claim, predictor: Option<&Predictor>) -> Result<Vec<Sides>, String> {
    let known = cases(grid)?;
    let levels: Vec<Selector> = match &claim.each {
        None => vec![Selector::new()],
        Some(each) => {
            let levels = grid.factors.get(each).into_iter().flatten();
            levels.map(|level| Selector::from([(each.clone(), level.clone())])).collect()
        }
    };
    check_differences(claim)?;
    let right_metric = claim.right_metric.as_ref().unwrap_or(&claim.metric);
    let one = |selector: &Selector, level: &Selector, metric: &str| -> Result<One, String> {
        let fits = |case: &&Case| {
            selector.iter().chain(level).all(|(name, level)| case.0.get(name) == Some(level))
        };
        let case = known.iter().find(fits).ok_or("it selects no case")?;
        Ok(One { scenario: scenario(grid, case, predictor)?, metric: metric.to_owned() })
    };
    let both =
        |first: Option<&Selector>, over: &Option<Selector>, level: &Selector, metric: &str| {
            let all = first.into_iter().chain(over);
            all.map(|selector| one(selector, level, metric)).collect::<Result<Vec<One>, String>>()
        };
    levels
        .iter()
        .map(|level| {
            Ok(Sides {
                left: both(Some(&claim.left), &claim.left_over, level, &claim.metric)?,
                right: both(claim.right.as_ref(), &claim.right_over, level, right_metric)?,
            })
        })
        .collect()
}

/// Do the sides differ in what the model knows, and in nothing else?
fn check_differences(claim: &Claim) -> Result<(), String> {
    for selector in claim.selectors() {
        let strange = selector.iter().find(|(name, level)| {
            let same = claim.selectors().all(|other| other.get(*name) == Some(level));
            !same && !MODELLED.contains(&name.as_str())
        });
        if let Some((name, _)) = strange {
            return Err(format!("the simulator knows nothing of {name}"));
        }
    }
    Ok(())
}

/// How a case is simulated: with a paper's costs, or with those that fit this machine.
fn scenario(grid: &Grid, case: &Case, predictor: Option<&Predictor>) -> Result<Scenario, String> {
    if case.0.get("presentation").is_some_and(|level| level.to_string() == "xdr") {
        return Err("the simulator knows nothing of presentation layers".to_owned());
    }
    let work = perform::work(case).ok_or("the simulator goes one way, or has transactions")?;
    let costs = match grid.from {
        From::Thekkath1992 => return Err("it is computed, not simulated".to_owned()),
        From::Simulator => paper(grid)?,
        From::Stack => {
            let predictor = predictor.ok_or(
                "nothing is known of what things cost here: `anabranch calibrate`, then `anabranch lab search`",
            )?;
            let asked = perform::asked(case, work, predictor);
            predictor.costs(&asked).map_err(|error| error.to_string())?.costs
        }
    };
    let mut scenario = perform::scenario(case, work, costs, 1);
    scenario.connections = scenario.connections.min(CONNECTIONS);
    scenario.operations = OPERATIONS.max(8 * scenario.connections as u64);
    Ok(scenario)
}

fn paper(grid: &Grid) -> Result<Costs, String> {
    let name = grid.costs.as_deref().unwrap_or_default();
    let machine = planner::simulator::machines::find(name);
    let machine = machine.ok_or_else(|| format!("there are no costs of {name}"))?;
    machine.costs().map_err(|error| error.to_string())
}

/// The claim's value with one cost changed, or none.
fn value(sides: &[Sides], take: Take, change: Option<(&str, To)>) -> Result<f64, planner::Error> {
    let of = |one: &One| -> Result<f64, planner::Error> {
        let mut scenario = one.scenario.clone();
        if let Some((cost, to)) = change {
            scenario.costs = scenario.costs.with(cost, to);
        }
        let outcome = planner::simulator::run(&scenario)?;
        let figures = perform::figures_of(&scenario, &outcome);
        let value = figures.get(&one.metric).copied();
        value.ok_or_else(|| planner::Error::Asked(format!("no {} came of it", one.metric)))
    };
    let ratio = |ones: &[One]| -> Result<f64, planner::Error> {
        let values = ones.iter().map(of).collect::<Result<Vec<f64>, _>>()?;
        Ok(match values[..] {
            [first, over, ..] => first / over,
            [first] => first,
            [] => 1.0,
        })
    };
    let mut values = Vec::new();
    for sides in sides {
        values.push(ratio(&sides.left)? / ratio(&sides.right)?);
    }
    let chosen = match take {
        Take::Least => values.into_iter().reduce(f64::min),
        Take::Greatest => values.into_iter().reduce(f64::max),
    };
    let chosen = chosen.filter(|value| value.is_finite());
    chosen.ok_or_else(|| planner::Error::Asked("the figure is no number".to_owned()))
}

#[cfg(test)]
mod tests;
