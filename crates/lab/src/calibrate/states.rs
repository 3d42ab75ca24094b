//! All cases of a calibration, those of several processors in one state of the
//! machine, the most common one ([`crate::cacheline_latency`]).

use super::probe::estimate;
use super::{Effort, anchors, held_out};
use crate::Error;
use crate::measure::cacheline_latency::{self, CachelineLatency};
use crate::measure::case::{Case, TRIES as TRIES_OF_CASE, Timing};
use planner::calibration::{Anchor, Estimate, OtherState};
use std::collections::BTreeMap;
use std::time::Instant;

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
struct Measured<'a> {
    case: &'a Case,
    anchor: Anchor,
    cacheline: Option<CachelineLatency>,
}

impl Measured<'_> {
    /// Was the machine in the state of `usual`?
    fn fits(&self, usual: Option<f64>) -> bool {
        match (self.cacheline, usual) {
            (Some(cacheline), Some(usual)) => cacheline.is(usual),
            _ => true,
        }
    }

    fn steady(&self) -> Option<f64> {
        self.cacheline.and_then(|cacheline| cacheline.steady())
    }
}

/// Measures all `cases`; those for which the machine was in another state than
/// mostly, again, until `deadline`. Calls `progress` with the share that is done and
/// what comes next.
///
/// # Errors
/// [`Error::Plan`], if a case makes no sense.
pub(super) fn measure(
    cases: &[Case],
    effort: &Effort,
    reference: f64,
    deadline: Instant,
    progress: &mut dyn FnMut(f64, &str),
) -> Result<All, Error> {
    let timing = &effort.timing;
    let mut measured = Vec::new();
    let mut left_out = Vec::new();
    let share = FIRST / (effort.samples.max(1) * cases.len().max(1)) as f64;
    for (n, case) in cases.iter().enumerate() {
        progress(share * n as f64, &case.organization);
        match anchors::measure(case, timing, reference) {
            Ok((anchor, _)) if !is_figure(&anchor) => left_out.push(format!(
                "{}, {} over {} connections on {} processors: nothing happened in some windows, \
                 {TRIES_OF_CASE} times in turn",
                case.organization, case.work, case.connections, case.processors
            )),
            Ok((anchor, cacheline)) => measured.push(Measured { case, anchor, cacheline }),
            Err(error @ Error::Plan(_)) => return Err(error),
            Err(error) => left_out.push(error.to_string()),
        }
    }
    let usual = usual(&measured);
    // What was met in another state is kept aside.
    let mut aside = Vec::new();
    for _ in 0..TRIES {
        for again in measured.iter_mut().filter(|measured| !measured.fits(usual)) {
            if Instant::now() >= deadline {
                break;
            }
            progress(share * cases.len() as f64, &again.case.organization);
            if let Ok((anchor, cacheline)) = anchors::measure(again.case, timing, reference)
                && is_figure(&anchor)
            {
                let case = again.case;
                aside.push(std::mem::replace(again, Measured { case, anchor, cacheline }));
            }
        }
    }
    let mut done = share * cases.len() as f64;
    let others = more_samples(&mut measured, effort, reference, usual, &mut |organization| {
        progress(done, organization);
        done += share;
    })?;
    aside.extend(others);
    aside.extend(measured.iter().filter(|m| !m.fits(usual)).cloned());
    measured_again(&mut measured, timing, reference, deadline, usual)?;
    left_out.extend(leave_out(&mut measured, usual));
    let ways: Vec<f64> =
        measured.iter().filter(|m| m.fits(usual)).filter_map(Measured::steady).collect();
    let cacheline = usual.map(|_| estimate(&ways));
    let other_state = other_state(aside);
    Ok(All { anchors: by_organization(measured), cacheline, other_state, left_out })
}

/// Cases that another state needs to be kept: a tenth of what two processors have in all.
const MET: usize = 40;

/// The most common state of what was set aside, if enough was measured in it.
fn other_state(mut aside: Vec<Measured<'_>>) -> Option<OtherState> {
    let other = usual(&aside)?;
    aside.retain(|measured| measured.fits(Some(other)));
    let ways: Vec<f64> = aside.iter().filter_map(Measured::steady).collect();
    // Of several samples of a case, the last one.
    let mut known = Vec::new();
    aside.reverse();
    aside.retain(|measured| {
        let new = !known.contains(&measured.case);
        known.push(measured.case);
        new
    });
    (aside.len() >= MET).then(|| OtherState {
        line_transfer_ns: estimate(&ways),
        organizations: by_organization(aside),
    })
}

/// Measures all again, as often as `effort` says, in rounds, and takes the middle of what was
/// had in the usual state of the machine. Returns what was had in others.
fn more_samples<'a>(
    measured: &mut [Measured<'a>],
    effort: &Effort,
    reference: f64,
    usual: Option<f64>,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Measured<'a>>, Error> {
    let mut others = Vec::new();
    let first = |m: &Measured<'_>| Vec::from_iter(m.fits(usual).then_some(m.anchor));
    let mut samples: Vec<Vec<Anchor>> = measured.iter().map(first).collect();
    for _ in 1..effort.samples {
        for (one, samples) in measured.iter_mut().zip(&mut samples) {
            progress(&one.case.organization);
            let (anchor, cacheline) = match anchors::measure(one.case, &effort.timing, reference) {
                Ok((anchor, cacheline)) if is_figure(&anchor) => (anchor, cacheline),
                Err(error @ Error::Plan(_)) => return Err(error),
                _ => continue,
            };
            let again = Measured { case: one.case, anchor, cacheline };
            if again.fits(usual) {
                samples.push(anchor);
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

/// By how much a case may be off from what its neighbours make of it, as a logarithm, before it
/// is measured again.
const ODD: f64 = 0.15;
/// How often it is, then.
const MORE: usize = 2;

/// Measures those again that do not fit to their neighbours, and takes the median: one sample of
/// a case can be of a moment in which the machine did something else, and all predictions near it
/// would believe it.
fn measured_again(
    measured: &mut [Measured<'_>],
    timing: &Timing,
    reference: f64,
    deadline: Instant,
    usual: Option<f64>,
) -> Result<(), Error> {
    let odd = held_out::odd(measured.iter().map(|m| (m.case, &m.anchor)), ODD);
    for place in odd {
        let one = &mut measured[place];
        let mut samples = vec![one.anchor];
        for _ in 0..MORE {
            if Instant::now() >= deadline {
                return Ok(());
            }
            match anchors::measure(one.case, timing, reference) {
                Ok((anchor, cacheline)) if is_figure(&anchor) => {
                    let again = Measured { case: one.case, anchor, cacheline };
                    samples.extend(again.fits(usual).then_some(again.anchor));
                }
                Err(error @ Error::Plan(_)) => return Err(error),
                _ => {}
            }
        }
        one.anchor = held_out::middle(&samples);
    }
    Ok(())
}

/// Does the interval stay above 0? If not, the case stood still in some windows each time
/// that it was measured.
fn is_figure(anchor: &Anchor) -> bool {
    anchor.operations_per_s.low > 0.0
}

/// The share of the work that measuring each case once is.
const FIRST: f64 = 0.9;

/// How far the processors mostly were apart.
fn usual(measured: &[Measured<'_>]) -> Option<f64> {
    cacheline_latency::usual(&measured.iter().filter_map(Measured::steady).collect::<Vec<f64>>())
}

/// Leaves out what was measured in another state, but where there would be nothing
/// left: a line that says how many, and what may be done.
fn leave_out(measured: &mut Vec<Measured<'_>>, usual: Option<f64>) -> Option<String> {
    let kind = |m: &Measured<'_>| (m.case.organization.clone(), m.case.work, m.case.processors);
    let known: Vec<_> = measured.iter().filter(|m| m.fits(usual)).map(kind).collect();
    let before = measured.len();
    measured.retain(|m| m.fits(usual) || !known.contains(&kind(m)));
    let kept = measured.iter().filter(|m| !m.fits(usual)).count();
    let strange = before - measured.len() + kept;
    (strange > 0).then(|| {
        format!(
            "{strange} cases: the machine's processors were not {:.0} ns apart, as mostly, while they were measured ({kept} are kept, for want of others): calibrate again when the machine is quiet",
            usual.unwrap_or_default(),
        )
    })
}

fn by_organization(measured: Vec<Measured<'_>>) -> BTreeMap<String, Vec<Anchor>> {
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
mod tests;
