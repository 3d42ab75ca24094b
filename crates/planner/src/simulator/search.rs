//! [`search`]: which cost has to be different, and by how much, for a figure to come out.
//!
//! Each cost is changed alone. It is tried much larger and much smaller, and where the figure
//! comes out then, the least change with which it does is found by bisection. Nothing is
//! assumed but that a figure which comes out at some change comes out at those beyond it.

use super::Costs;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// A cost is tried at so many times what it is, and at the same part of it.
const FARTHEST: [f64; 2] = [8.0, 64.0];
/// A cost that is 0 is tried at these, ns.
const INSTEAD_NS: [f64; 2] = [1e3, 1e5];
/// The least that is tried instead of 0, ns.
const LEAST_NS: f64 = 1.0;
/// Halvings of the distance, as logarithms, from a change that does not do to one that does.
const STEPS: usize = 6;

/// A cost, and what it has to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// Its path in the file of costs.
    pub cost: String,
    /// How it has to be changed.
    pub to: To,
    /// The figure that comes out then.
    pub value: f64,
}

/// How a cost is changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum To {
    /// So many times what it is.
    Times(f64),
    /// So many ns, where it is 0.
    Ns(f64),
}

impl To {
    /// How large the change is, to put the least first: those of costs that are 0 come last.
    fn size(self) -> f64 {
        match self {
            To::Times(factor) => factor.ln().abs(),
            To::Ns(ns) => 100.0 + ns.ln_1p(),
        }
    }

    /// Midway between no change and this one, or between two of a kind, as logarithms.
    fn between(self, nearer: Option<To>) -> To {
        match (self, nearer) {
            (To::Times(far), Some(To::Times(near))) => To::Times((far * near).sqrt()),
            (To::Times(far), _) => To::Times(far.sqrt()),
            (To::Ns(far), Some(To::Ns(near))) => To::Ns((far * near).sqrt()),
            (To::Ns(far), _) => To::Ns((far * LEAST_NS).sqrt()),
        }
    }
}

impl Costs {
    /// These costs with one of them changed. A cost of another name changes nothing.
    pub fn with(&self, cost: &str, to: To) -> Costs {
        let mut costs = self.clone();
        costs.change(cost, |value| match to {
            To::Times(factor) => value * factor,
            To::Ns(ns) => ns,
        });
        costs
    }
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Found {
    /// The figure with the costs as they are.
    pub as_is: f64,
    /// Does it come out with them?
    pub comes_out: bool,
    /// Changes with which it comes out, the least first.
    pub changes: Vec<Change>,
}

/// Searches the changes of one cost with which `figure` is from `least` to `most`. It is asked
/// with a cost's name and the change, or with neither for the costs as they are. `costs` are those
/// whose times are changed; if the figure has several machines, any of them.
///
/// # Errors
/// What `figure` says of the costs as they are.
pub fn search(
    costs: &Costs,
    least: f64,
    most: f64,
    figure: impl Fn(Option<(&str, To)>) -> Result<f64, crate::Error> + Sync,
) -> Result<Found, crate::Error> {
    let as_is = figure(None)?;
    let comes_out = |value: f64| (least..=most).contains(&value);
    if comes_out(as_is) {
        return Ok(Found { as_is, comes_out: true, changes: Vec::new() });
    }
    // A change that makes no sense (a cost beyond its bounds) does not do.
    let value = |cost: &str, to: To| figure(Some((cost, to))).ok().filter(|v| comes_out(*v));
    let directions = |(cost, value): (String, f64)| -> Vec<(String, [To; 2])> {
        match value == 0.0 {
            // More work in a layer is no other machine, but another protocol.
            true if cost.starts_with("layers") => vec![],
            true => vec![(cost, INSTEAD_NS.map(To::Ns))],
            false => vec![
                (cost.clone(), FARTHEST.map(To::Times)),
                (cost, FARTHEST.map(|factor| To::Times(1.0 / factor))),
            ],
        }
    };
    let tried: Vec<(String, [To; 2])> = costs.times().into_iter().flat_map(directions).collect();
    let one = |(cost, farthest): &(String, [To; 2])| {
        let mut nearer = None;
        for &far in farthest {
            if let Some(found) = value(cost, far) {
                return Some(bisect(cost, nearer, (far, found), &value));
            }
            nearer = Some(far);
        }
        None
    };
    let mut changes: Vec<Change> = tried.par_iter().with_max_len(1).filter_map(one).collect();
    changes.sort_by(|a, b| a.to.size().total_cmp(&b.to.size()).then(a.cost.cmp(&b.cost)));
    Ok(Found { as_is, comes_out: false, changes })
}

/// The least change, from `nearer` (none: no change), which does not do, to `far`, which does.
fn bisect(
    cost: &str,
    mut nearer: Option<To>,
    (mut far, mut found): (To, f64),
    value: &impl Fn(&str, To) -> Option<f64>,
) -> Change {
    for _ in 0..STEPS {
        let middle = far.between(nearer);
        match value(cost, middle) {
            Some(at_middle) => (far, found) = (middle, at_middle),
            None => nearer = Some(middle),
        }
    }
    Change { cost: cost.to_owned(), to: far, value: found }
}

#[cfg(test)]
mod tests {
    use super::super::{Arrivals, Scenario, machines, run};
    use super::*;
    use crate::{Error, Work};

    /// A figure that is what the two costs give, and nothing else.
    fn ratio(costs: &Costs) -> f64 {
        let work = costs.layers.receive_ns + 50.0;
        (costs.threads.context_switch_ns + work + costs.rounds.sleep_ns) / work
    }

    #[test]
    fn the_least_change_is_found_and_others_are_left_alone() {
        let mut costs = Costs::default();
        costs.layers.receive_ns = 50.0;
        costs.threads.context_switch_ns = 100.0;
        let figure = |change: Option<(&str, To)>| {
            Ok(ratio(&change.map_or(costs.clone(), |(cost, to)| costs.with(cost, to))))
        };
        let found = search(&costs, 2.5, f64::INFINITY, figure).expect("a figure");
        assert_eq!(found.as_is, 2.0);
        let [switch, receive, sleep] = &found.changes[..] else { panic!("{found:?}") };
        assert_eq!(switch.cost, "threads.context_switch_ns");
        // From 100 to 150 ns.
        assert!(matches!(switch.to, To::Times(x) if (1.5..1.6).contains(&x)), "{switch:?}");
        assert!((2.5..2.6).contains(&switch.value));
        // From 50 to 16.7 ns.
        assert_eq!(receive.cost, "layers.receive_ns");
        assert!(matches!(receive.to, To::Times(x) if (0.3..0.3334).contains(&x)), "{receive:?}");
        assert_eq!(sleep.cost, "rounds.sleep_ns");
        assert!(matches!(sleep.to, To::Ns(ns) if (50.0..58.0).contains(&ns)), "{sleep:?}");
    }

    #[test]
    fn what_comes_out_needs_no_change_and_what_cannot_has_none() {
        let mut costs = Costs::default();
        costs.layers.receive_ns = 99.0;
        let always = |_: Option<(&str, To)>| Ok(1.0);
        let there = search(&costs, 0.5, 2.0, always).expect("a figure");
        assert!(there.comes_out && there.changes.is_empty());
        let never = search(&costs, 5.0, 6.0, always).expect("a figure");
        assert_eq!((never.as_is, never.comes_out, never.changes.len()), (1.0, false, 0));
        let fails = |_: Option<(&str, To)>| Err(Error::Asked("no".into()));
        assert!(search(&costs, 0.0, 1.0, fails).is_err());
    }

    #[test]
    fn a_simulated_machine_answers() {
        // A lock that is dear to pass on costs two processors their speed-up: to have more of it,
        // something serial has to be cheaper, or something parallel dearer.
        let mut costs = machines::find("yates1996").expect("there").costs().expect("good");
        costs.locks.values_mut().for_each(|lock| lock.contended_ns = 50_000.0);
        let rate = |costs: &Costs, processors| {
            let work = Work::UdpReceive;
            let scenario = Scenario::new("global-lock", processors, 16, work, costs.clone());
            let arrivals = Arrivals::Closed { window: 4, think_ns: 0.0 };
            let scenario = Scenario { arrivals, operations: 2000, ..scenario };
            run(&scenario).map(|outcome| outcome.operations_per_s)
        };
        let figure = |change: Option<(&str, To)>| {
            let costs = change.map_or(costs.clone(), |(cost, to)| costs.with(cost, to));
            Ok(rate(&costs, 2)? / rate(&costs, 1)?)
        };
        let found = search(&costs, 1.3, f64::INFINITY, figure).expect("a figure");
        assert!(found.as_is < 1.3 && !found.changes.is_empty(), "{found:?}");
        for change in &found.changes {
            let again = figure(Some((&change.cost, change.to))).expect("a figure");
            assert!(again >= 1.3 && again == change.value, "{change:?}");
        }
    }
}
