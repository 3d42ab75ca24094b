//! All cases of a calibration in one state of the machine, the most common one: at one pace
//! ([`crate::speed`]), and those of several processors with these as far apart as mostly
//! ([`crate::cacheline_latency`]).

use super::anchors;
use super::probe::estimate;
use super::sampling::{How, Measured, Usual, distance, is_figure};
use super::{held_out, refine};
use crate::Error;
use crate::measure::case::{Case, TRIES as TRIES_OF_CASE};
use planner::calibration::{Anchor, Estimate, OtherState};
use std::collections::BTreeMap;

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
