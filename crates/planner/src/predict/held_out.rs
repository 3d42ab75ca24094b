//! [`HeldOut`]: each measured case, predicted from its neighbours as if it had not been
//! measured. So a calibration tells by itself how far its interpolations miss.
//!
//! The windows of a sample tell what varies within a run. What varies from run to run (which
//! flows share a group, where threads landed) and what a curve of a few points cannot know is in
//! none of them, and it differs from organization to organization by ten times.

use super::{Basis, Case, Measured, Predictor, SURE, Steering, rate};
use crate::Work;
use std::collections::BTreeMap;

/// A measured case, and what its neighbours make of it.
#[derive(Clone, Debug, PartialEq)]
pub struct HeldOut {
    /// The organization's name.
    pub organization: String,
    /// What connections do.
    pub work: Work,
    /// Processors.
    pub processors: usize,
    /// Connections.
    pub connections: usize,
    /// The logarithm of what was predicted, of what was measured.
    pub off: f64,
    /// The half-width of the prediction's interval, in logarithms.
    pub error: f64,
}

/// Without a case, its neighbours are about twice as far from it as predictions ever are, and
/// midway between them. What noise adds stays, what a curve misses is a quarter. This is between
/// the two.
const NEARER: f64 = 0.6;

/// The most that intervals are wider for it, in logarithms.
const MOST: f64 = 0.7;

impl Predictor {
    /// Each measured case that has neighbours on both sides, predicted from the others.
    pub fn held_out(&self) -> Vec<HeldOut> {
        let mut all = Vec::new();
        for ((organization, work, processors), measured) in &self.measured {
            for anchor in &measured.anchors {
                let others =
                    measured.anchors.iter().filter(|a| a.connections != anchor.connections);
                let others: Vec<_> = others.copied().collect();
                if others.is_empty() {
                    continue;
                }
                let case = Case {
                    organization: organization.clone(),
                    options: catalog::Options::default(),
                    work: *work,
                    bytes: anchor.bytes,
                    processors: *processors,
                    connections: anchor.connections,
                    steering: Steering::Even,
                };
                let figure = self.out_of(&case, *processors, &Measured::of(others, self.powers));
                if figure.basis != Basis::Interpolated {
                    continue;
                }
                all.push(HeldOut {
                    organization: organization.clone(),
                    work: *work,
                    processors: *processors,
                    connections: anchor.connections,
                    off: figure.value.ln - rate(anchor, self.powers).ln,
                    error: figure
                        .value
                        .error
                        .hypot(rate(anchor, self.powers).error)
                        .hypot(super::FLOOR),
                });
            }
        }
        all
    }
}

/// How much predictions miss beyond what their parts say, in logarithms: by organization, on one
/// processor and on several.
#[derive(Clone, Debug, Default)]
pub(super) struct Restless(BTreeMap<(String, bool), f64>);

impl Restless {
    pub(super) fn of(held_out: &[HeldOut]) -> Restless {
        let mut groups: BTreeMap<(String, bool), Vec<f64>> = BTreeMap::new();
        for one in held_out {
            let beyond = (one.off.powi(2) - one.error.powi(2)).max(0.0);
            let key = (one.organization.clone(), one.processors > 1);
            groups.entry(key).or_default().push(beyond.sqrt());
        }
        let quantile = |mut beyond: Vec<f64>| {
            beyond.sort_by(f64::total_cmp);
            let place = (SURE * (beyond.len() - 1) as f64).round() as usize;
            (NEARER * beyond[place]).min(MOST)
        };
        Restless(groups.into_iter().map(|(key, beyond)| (key, quantile(beyond))).collect())
    }

    pub(super) fn at(&self, organization: &str, several: bool) -> f64 {
        self.0.get(&(organization.to_owned(), several)).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{case, synthetic};
    use super::*;
    use crate::Calibration;

    /// Half-width of the interval over 200 connections, in logarithms.
    fn width(calibration: &Calibration, processors: usize) -> f64 {
        let predictor = Predictor::new(calibration).expect("good");
        let predicted = predictor.predict(&case(processors, 200)).expect("known");
        (predicted.high / predicted.low).ln() / 2.0
    }

    #[test]
    fn smooth_measurements_are_believed() {
        let calibration = synthetic(0.2, 64, &[1, 2]);
        let predictor = Predictor::new(&calibration).expect("good");
        // The least and the greatest number of connections have no neighbour on one side.
        let held_out = predictor.held_out();
        assert_eq!(held_out.len(), 3 * 3);
        assert!(held_out.iter().all(|one| one.off.abs() < 0.3), "{held_out:?}");
        assert!(width(&calibration, 1) < 0.12, "{}", width(&calibration, 1));
    }

    #[test]
    fn erratic_measurements_widen_intervals_of_their_organization() {
        let smooth = synthetic(0.2, 64, &[1, 2]);
        let mut erratic = smooth.clone();
        for anchor in erratic.organizations.get_mut("group-locks").expect("there") {
            if anchor.processors == 2 && anchor.connections == 64 {
                let rate = &mut anchor.operations_per_s;
                (rate.value, rate.low, rate.high) =
                    (rate.value / 2.0, rate.low / 2.0, rate.high / 2.0);
            }
        }
        let predictor = Predictor::new(&erratic).expect("good");
        let worst = predictor.held_out().into_iter().max_by(|a, b| a.off.total_cmp(&b.off));
        let worst = worst.expect("some");
        assert_eq!((worst.processors, worst.connections), (2, 64), "{worst:?}");
        assert!(worst.off > 0.4, "{worst:?}");
        assert!(width(&erratic, 2) > 2.0 * width(&smooth, 2));
        assert!((width(&erratic, 1) - width(&smooth, 1)).abs() < 1e-9);
    }
}
