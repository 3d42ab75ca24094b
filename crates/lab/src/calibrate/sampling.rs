//! A case as it was measured, and the state that the machine mostly was in meanwhile.

use super::Effort;
use super::anchors::{self, Taken};
use crate::Error;
use crate::measure::cacheline_latency::{self, CachelineLatency};
use crate::measure::case::Case;
use crate::measure::speed;
use planner::calibration::Anchor;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A case that was measured.
#[derive(Clone)]
pub(super) struct Measured {
    pub(super) case: Case,
    pub(super) anchor: Anchor,
    pub(super) cacheline: Option<CachelineLatency>,
    /// Was the machine at one pace?
    pub(super) steady: bool,
}

impl Measured {
    pub(super) fn new(case: &Case, taken: Taken) -> Measured {
        let Taken { anchor, cacheline, steady } = taken;
        Measured { case: case.clone(), anchor, cacheline, steady }
    }

    /// Were the processors as far apart as `usual`?
    pub(super) fn is_as_far(&self, usual: &Usual) -> bool {
        match (self.cacheline, usual.cacheline) {
            (Some(cacheline), Some(usual)) => cacheline.is(usual),
            _ => true,
        }
    }

    /// Was the machine in the state of `usual`?
    pub(super) fn fits(&self, usual: &Usual) -> bool {
        let speed = usual.speeds.get(&self.case.processors);
        let paced =
            speed.is_none_or(|&speed| self.steady && speed::is_alike(self.anchor.speed, speed));
        paced && self.is_as_far(usual)
    }

    pub(super) fn distance(&self) -> Option<f64> {
        self.cacheline.and_then(|cacheline| cacheline.steady())
    }
}

/// The state that the machine mostly was in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Usual {
    /// How far the processors were apart, ns.
    pub(super) cacheline: Option<f64>,
    /// How fast so many processors at once were.
    pub(super) speeds: BTreeMap<usize, f64>,
}

impl Usual {
    pub(super) fn of(measured: &[Measured]) -> Usual {
        let cacheline = distance(measured);
        let as_far = Usual { cacheline, ..Usual::default() };
        let mut speeds: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for one in measured.iter().filter(|one| one.steady && one.is_as_far(&as_far)) {
            speeds.entry(one.case.processors).or_default().push(one.anchor.speed);
        }
        let usual = |(processors, speeds): (usize, Vec<f64>)| {
            speed::usual(&speeds).map(|speed| (processors, speed))
        };
        Usual { cacheline, speeds: speeds.into_iter().filter_map(usual).collect() }
    }

    /// The pace at which a case is to be measured, ns a piece; `reference`: what a piece takes at
    /// speed 1.
    pub(super) fn pace(&self, case: &Case, reference: f64) -> Option<f64> {
        self.speeds.get(&case.processors).map(|speed| reference / speed)
    }
}

/// How far the processors mostly were apart.
pub(super) fn distance(measured: &[Measured]) -> Option<f64> {
    let ways: Vec<f64> = measured.iter().filter_map(Measured::distance).collect();
    cacheline_latency::usual(&ways)
}

/// How cases are measured.
pub(super) struct How<'a> {
    pub(super) effort: &'a Effort,
    /// What the piece of work took at first by which speeds are compared, ns.
    pub(super) reference: f64,
    /// When the calibration began.
    pub(super) begun: Instant,
}

impl How<'_> {
    /// A sample of `case`, at the pace of `usual` if there is some; `None` if it is no figure.
    ///
    /// # Errors
    /// [`Error::Plan`], if the case makes no sense.
    pub(super) fn sample(&self, case: &Case, usual: &Usual) -> Result<Option<Measured>, Error> {
        let wanted = usual.pace(case, self.reference);
        match anchors::measure(case, &self.effort.timing, self.reference, wanted) {
            Ok(taken) if is_figure(&taken.anchor) => Ok(Some(Measured::new(case, taken))),
            Err(error @ Error::Plan(_)) => Err(error),
            _ => Ok(None),
        }
    }

    /// Is this share of the effort's patience over?
    pub(super) fn is_past(&self, share: f64) -> bool {
        self.begun.elapsed() >= Duration::mul_f64(self.effort.patience, share)
    }
}

/// Does the interval stay above 0? If not, the case stood still in some windows each time
/// that it was measured.
pub(super) fn is_figure(anchor: &Anchor) -> bool {
    anchor.operations_per_s.low > 0.0
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use planner::Work;
    use planner::calibration::Estimate;

    pub(in crate::calibrate) fn case(organization: &str, connections: usize) -> Case {
        Case {
            organization: organization.to_owned(),
            work: Work::TcpRr,
            processors: 2,
            connections,
        }
    }

    /// Measured while the processors were so far apart before and after.
    pub(in crate::calibrate) fn measured(case: &Case, before: f64, after: f64) -> Measured {
        let rate = Estimate { value: 1e6, low: 1e6, high: 1e6 };
        let anchor = Anchor {
            work: case.work,
            bytes: 64,
            processors: case.processors,
            connections: case.connections,
            operations_per_s: rate,
            processor_ns: 1000.0,
            switches: 0.0,
            hand_offs: 0.0,
            lock_wait_ns: 0.0,
            speed: 1.0,
        };
        let case = case.clone();
        Measured { case, anchor, cacheline: Some(CachelineLatency { before, after }), steady: true }
    }
}
