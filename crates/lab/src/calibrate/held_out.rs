//! Cases that do not fit to their neighbours, and the middle of several samples of one.

use crate::measure::case::Case;
use planner::calibration::{Anchor, Calibration, Estimate};
use planner::predict::POWER;
use planner::{Predictor, calibration};
use std::collections::BTreeMap;

/// The places of the cases that are further from what the others of their kind make of them than
/// `most`, a logarithm; the farthest first. Those over the fewest or the most connections have no
/// neighbour on one side, and are believed.
pub(super) fn odd<'a>(
    measured: impl Iterator<Item = (&'a Case, &'a Anchor)>,
    most: f64,
) -> Vec<usize> {
    let measured: Vec<(&Case, &Anchor)> = measured.collect();
    let mut organizations: BTreeMap<String, Vec<Anchor>> = BTreeMap::new();
    for (case, anchor) in &measured {
        organizations.entry(case.organization.clone()).or_default().push(**anchor);
    }
    let Ok(predictor) = Predictor::new(&bare(organizations)) else { return Vec::new() };
    let mut held_out = predictor.held_out();
    held_out.retain(|one| one.off.abs() > most);
    held_out.sort_by(|a, b| b.off.abs().total_cmp(&a.off.abs()));
    let place = |one: &planner::predict::HeldOut| {
        measured.iter().position(|(case, _)| {
            case.organization == one.organization
                && (case.work, case.processors) == (one.work, one.processors)
                && case.connections == one.connections
        })
    };
    held_out.iter().filter_map(place).collect()
}

/// A calibration of these cases and nothing else.
fn bare(organizations: BTreeMap<String, Vec<Anchor>>) -> Calibration {
    Calibration {
        version: calibration::VERSION,
        date: String::new(),
        took_s: 0.0,
        reference_ns: 0.0,
        machine: crate::machine::this(),
        primitives: calibration::Primitives::default(),
        layers: BTreeMap::new(),
        organizations,
        ipv6: BTreeMap::new(),
        other_state: None,
    }
}

/// Operations a second at the speed that the machine had at first.
fn rate(anchor: &Anchor) -> f64 {
    anchor.operations_per_s.value / paced(anchor)
}

/// What the machine's speed makes of a rate.
fn paced(anchor: &Anchor) -> f64 {
    anchor.speed.max(f64::MIN_POSITIVE).powf(POWER)
}

/// Do the least and the greatest of these samples differ by more than `most`, a logarithm?
pub(super) fn differ(samples: &[Anchor], most: f64) -> bool {
    let rates = || samples.iter().map(rate);
    let (least, greatest) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
    (greatest / least).ln() > most
}

/// The middle one of an odd number of samples of a case, by its rate; of an even number, the
/// lower one of the two, with the mean of both as its rate. Its interval reaches to the next samples
/// on both sides.
pub(super) fn middle(samples: &[Anchor]) -> Anchor {
    let mut sorted = samples.to_vec();
    sorted.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    let (place, last) = ((sorted.len() - 1) / 2, sorted.len() - 1);
    let mut anchor = sorted[place];
    let at = |place: usize| rate(&sorted[place.min(last)]) * paced(&anchor);
    let Estimate { low, high, .. } = anchor.operations_per_s;
    let even = sorted.len().is_multiple_of(2);
    anchor.operations_per_s = Estimate {
        value: if even { f64::midpoint(at(place), at(place + 1)) } else { at(place) },
        low: low.min(at(place.saturating_sub(1))),
        high: high.max(at(place + 1)),
    };
    anchor
}

#[cfg(test)]
mod tests {
    use super::*;
    use planner::Work;

    fn sample(connections: usize, rate: f64) -> (Case, Anchor) {
        let organization = "group-locks".to_owned();
        let case = Case { organization, work: Work::TcpRr, processors: 1, connections };
        let anchor = Anchor {
            work: Work::TcpRr,
            bytes: 64,
            processors: 1,
            connections,
            operations_per_s: Estimate { value: rate, low: rate * 0.99, high: rate * 1.01 },
            processor_ns: 1.0,
            switches: 0.0,
            hand_offs: 0.0,
            lock_wait_ns: 0.0,
            speed: 1.0,
        };
        (case, anchor)
    }

    #[test]
    fn what_does_not_fit_is_found() {
        let mut all: Vec<(Case, Anchor)> =
            [1, 8, 64, 512, 3072].map(|n| sample(n, 1e6)).into_iter().collect();
        let places = |all: &[(Case, Anchor)]| odd(all.iter().map(|(c, a)| (c, a)), 0.15);
        assert!(places(&all).is_empty());
        all[2] = sample(64, 0.5e6);
        assert_eq!(places(&all)[0], 2);
    }

    #[test]
    fn the_middle_of_three_is_taken_with_the_others_as_its_ends() {
        let [a, b, mut c] = [0.5e6, 1.0e6, 2.4e6].map(|rate| sample(64, rate).1);
        // The machine was faster.
        c.speed = 2f64.powf(1.0 / POWER);
        let taken = middle(&[a, b, c]);
        assert_eq!(taken.operations_per_s.value, 1.0e6);
        assert_eq!(taken.operations_per_s.low, 0.5e6);
        assert!((taken.operations_per_s.high - 1.2e6).abs() < 1.0);
        assert_eq!(middle(&[b]), b);
        let of_two = middle(&[b, a]).operations_per_s;
        assert_eq!((of_two.value, of_two.high), (0.75e6, 1.0e6));
        assert!(of_two.low < 0.5e6);
        assert!(differ(&[a, b], 0.6) && !differ(&[a, b], 0.7) && !differ(&[a], 0.0));
    }
}
