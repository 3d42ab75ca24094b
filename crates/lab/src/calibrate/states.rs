//! All cases of a calibration in one state of the machine, the most common one: at one pace
//! ([`crate::speed`]), and those of several processors with these as far apart as mostly
//! ([`crate::cacheline_latency`]).

use super::anchors::{self, Taken};
use super::probe::estimate;
use super::{Effort, held_out, refine};
use crate::Error;
use crate::measure::cacheline_latency::{self, CachelineLatency};
use crate::measure::case::{Case, TRIES as TRIES_OF_CASE};
use crate::measure::speed;
use planner::calibration::{Anchor, Estimate, OtherState};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How often a case is measured again, at most.
const TRIES: usize = 4;

/// What was measured, and what not.
pub(super) struct All {
    /// Figures by organization.
    pub(super) anchors: BTreeMap<String, Vec<Anchor>>,
    /// How far the processors were apart, ns.
    pub(super) cacheline: Option<Estimate>,
    /// What was measured of several processors in another state, if enough was.
    pub(super) other_state: Option<OtherState>,
    /// Cases that could not be measured, and why, a line each.
    pub(super) left_out: Vec<String>,
}

/// A case that was measured.
#[derive(Clone)]
pub(super) struct Measured {
    pub(super) case: Case,
    pub(super) anchor: Anchor,
    cacheline: Option<CachelineLatency>,
    /// Was the machine at one pace?
    steady: bool,
}

impl Measured {
    fn new(case: &Case, taken: Taken) -> Measured {
        let Taken { anchor, cacheline, steady } = taken;
        Measured { case: case.clone(), anchor, cacheline, steady }
    }

    /// Were the processors as far apart as `usual`?
    fn is_as_far(&self, usual: &Usual) -> bool {
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

    fn distance(&self) -> Option<f64> {
        self.cacheline.and_then(|cacheline| cacheline.steady())
    }
}

/// The state that the machine mostly was in.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Usual {
    /// How far the processors were apart, ns.
    cacheline: Option<f64>,
    /// How fast so many processors at once were.
    speeds: BTreeMap<usize, f64>,
}

impl Usual {
    fn of(measured: &[Measured]) -> Usual {
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
    fn pace(&self, case: &Case, reference: f64) -> Option<f64> {
        self.speeds.get(&case.processors).map(|speed| reference / speed)
    }
}

/// How far the processors mostly were apart.
fn distance(measured: &[Measured]) -> Option<f64> {
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

/// Measures all `cases`; those for which the machine was in another state than
/// mostly, again, while the effort's patience lasts; and more cases where the curves through these
/// miss. Calls `progress` with the share that is done and what comes next.
///
/// # Errors
/// [`Error::Plan`], if a case makes no sense.
pub(super) fn measure(
    cases: &[Case],
    how: &How<'_>,
    progress: &mut dyn FnMut(f64, &str),
) -> Result<All, Error> {
    let mut measured = Vec::new();
    let mut left_out = Vec::new();
    let share = FIRST / (how.effort.samples.max(1) * cases.len().max(1)) as f64;
    for (n, case) in cases.iter().enumerate() {
        progress(share * n as f64, &case.organization);
        match anchors::measure(case, &how.effort.timing, how.reference, None) {
            Ok(taken) if !is_figure(&taken.anchor) => left_out.push(format!(
                "{}, {} over {} connections on {} processors: nothing happened in some windows, \
                 {TRIES_OF_CASE} times in turn",
                case.organization, case.work, case.connections, case.processors
            )),
            Ok(taken) => measured.push(Measured::new(case, taken)),
            Err(error @ Error::Plan(_)) => return Err(error),
            Err(error) => left_out.push(error.to_string()),
        }
    }
    let usual = Usual::of(&measured);
    // What was met with the processors otherwise apart is kept aside.
    let mut aside = Vec::new();
    for _ in 0..TRIES {
        for again in measured.iter_mut().filter(|measured| !measured.fits(&usual)) {
            if how.is_past(AGAIN) {
                break;
            }
            progress(share * cases.len() as f64, &again.case.organization);
            if let Some(sample) = how.sample(&again.case, &usual)? {
                aside.push(std::mem::replace(again, sample));
            }
        }
    }
    let mut done = share * cases.len() as f64;
    let others = more_samples(&mut measured, how, &usual, &mut |organization| {
        progress(done, organization);
        done += share;
    })?;
    aside.extend(others);
    aside.extend(measured.iter().cloned());
    aside.retain(|one| !one.is_as_far(&usual));
    refine::refine(&mut measured, how, &usual, &mut |organization| progress(FIRST, organization))?;
    left_out.extend(leave_out(&mut measured, &usual));
    let near = measured.iter().filter(|m| m.is_as_far(&usual));
    let ways: Vec<f64> = near.filter_map(Measured::distance).collect();
    let cacheline = usual.cacheline.map(|_| estimate(&ways));
    let other_state = other_state(aside);
    Ok(All { anchors: by_organization(measured), cacheline, other_state, left_out })
}

/// Cases that another state needs to be kept: a tenth of what two processors have in all.
const MET: usize = 40;

/// The most common state of what was set aside, if enough was measured in it.
fn other_state(mut aside: Vec<Measured>) -> Option<OtherState> {
    let other = Usual { cacheline: Some(distance(&aside)?), ..Usual::default() };
    aside.retain(|measured| measured.is_as_far(&other));
    let ways: Vec<f64> = aside.iter().filter_map(Measured::distance).collect();
    // Of several samples of a case, the last one.
    let mut known = Vec::new();
    aside.reverse();
    aside.retain(|measured| {
        let new = !known.contains(&measured.case);
        known.push(measured.case.clone());
        new
    });
    (aside.len() >= MET).then(|| OtherState {
        line_transfer_ns: estimate(&ways),
        organizations: by_organization(aside),
    })
}

/// Measures all again, as often as the effort says, in rounds, and takes the middle of what was
/// had in the usual state of the machine. From the third round on, only those whose samples differ
/// by more than [`DIFFER`]. Returns what was had in others.
fn more_samples(
    measured: &mut [Measured],
    how: &How<'_>,
    usual: &Usual,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measured>, Error> {
    let mut others = Vec::new();
    let first = |m: &Measured| Vec::from_iter(m.fits(usual).then_some(m.anchor));
    let mut samples: Vec<Vec<Anchor>> = measured.iter().map(first).collect();
    for _ in 1..how.effort.samples {
        for (one, samples) in measured.iter_mut().zip(&mut samples) {
            progress(&one.case.organization);
            if how.is_past(SAMPLES) || samples.len() > 1 && !held_out::differ(samples, DIFFER) {
                continue;
            }
            let Some(again) = how.sample(&one.case, usual)? else { continue };
            if again.fits(usual) {
                samples.push(again.anchor);
                *one = again;
            } else {
                others.push(again);
            }
        }
    }
    for (one, samples) in measured.iter_mut().zip(&samples) {
        if samples.len() > 1 {
            one.anchor = held_out::middle(samples);
        }
    }
    Ok(others)
}

/// The share of the patience after which no case is measured again because of the machine's state.
const AGAIN: f64 = 0.55;
/// The share after which no further samples are taken of all cases.
const SAMPLES: f64 = 0.75;
/// By how much two samples of a case may differ, as a logarithm, before there is a third.
const DIFFER: f64 = 0.04;

/// Does the interval stay above 0? If not, the case stood still in some windows each time
/// that it was measured.
fn is_figure(anchor: &Anchor) -> bool {
    anchor.operations_per_s.low > 0.0
}

/// The share of the work that measuring each case once is.
const FIRST: f64 = 0.9;

/// Leaves out what was measured with the processors otherwise apart, but where there would be
/// nothing left: a line that says how many, and what may be done. What was measured at another pace
/// stays, corrected by it.
fn leave_out(measured: &mut Vec<Measured>, usual: &Usual) -> Option<String> {
    let kind = |m: &Measured| (m.case.organization.clone(), m.case.work, m.case.processors);
    let known: Vec<_> = measured.iter().filter(|m| m.is_as_far(usual)).map(kind).collect();
    let before = measured.len();
    measured.retain(|m| m.is_as_far(usual) || !known.contains(&kind(m)));
    let kept = measured.iter().filter(|m| !m.is_as_far(usual)).count();
    let strange = before - measured.len() + kept;
    (strange > 0).then(|| {
        format!(
            "{strange} cases: the machine's processors were not {:.0} ns apart, as mostly, while they were measured ({kept} are kept, for want of others): calibrate again when the machine is quiet",
            usual.cacheline.unwrap_or_default(),
        )
    })
}

fn by_organization(measured: Vec<Measured>) -> BTreeMap<String, Vec<Anchor>> {
    let mut all: BTreeMap<String, Vec<Anchor>> = BTreeMap::new();
    for Measured { case, anchor, .. } in measured {
        all.entry(case.organization.clone()).or_default().push(anchor);
    }
    for anchors in all.values_mut() {
        anchors.sort_by_key(|a| (a.work, a.processors, a.connections));
    }
    all
}

#[cfg(test)]
pub(super) mod tests;
