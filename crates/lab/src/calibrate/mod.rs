//! What things cost on this machine: measures what `planner::Calibration` holds,
//! in about four minutes on a machine with two processors.
//!
//! Four parts, from the small to the whole: costs by themselves
//! (`primitives`), what an operation takes in each layer (`layers`) and over IPv6 (`families`), and
//! every organization under every work (`anchors`). Samples are short and stand in turn
//! with those of other things, so that a machine that changes its speed changes it
//! for all; figures are medians, with order statistics as their intervals.

mod anchors;
mod families;
mod held_out;
mod layers;
mod primitives;
mod probe;
mod refine;
mod sampling;
mod states;

use crate::measure::cacheline_latency::is_alike;
use crate::measure::case::Timing;
use crate::measure::speed::Pace;
use crate::setup::{affinity, machine};
use crate::{Error, Family};
use planner::Work;
use planner::calibration::{Calibration, Estimate, VERSION};
use std::collections::BTreeMap;
use std::time::{Duration, Instant, SystemTime};

/// How much is measured.
#[derive(Clone, Debug)]
pub struct Effort {
    /// The organizations that are measured as a whole.
    pub organizations: Vec<String>,
    /// What their connections do.
    pub works: Vec<Work>,
    /// On how many processors.
    pub processors: Vec<usize>,
    /// Over how many connections.
    pub connections: Vec<usize>,
    /// And over how many besides, where processors are several: between one connection,
    /// which keeps one processor busy, and some for each, no curve is known.
    pub besides: Vec<usize>,
    /// How long each case is measured.
    pub timing: Timing,
    /// How often, at most; of several samples the middle one counts.
    pub samples: usize,
    /// How often each work is measured over IPv6 beside IPv4; 0: not at all.
    pub pairs: usize,
    /// How long cases may take that are measured again, for the processors were moved or they
    /// do not fit to their neighbours, and those that are added beside these: until so long after
    /// the start.
    pub patience: Duration,
    /// The seed of the order of cases.
    pub seed: u64,
}

/// The timing of a case: windows are few and short, since cases are many.
const TIMING: Timing = Timing { warm_up: 0.012, window: 0.006, windows: 5, speed: 0.001 };

/// The time before the first window where processors are several, seconds: threads that
/// contend for a lock settle meanwhile.
pub(crate) const SETTLED: f64 = 0.03;

/// The timing of [`layers`], of which there are few.
const LAYERS: Timing = Timing { warm_up: 0.02, window: 0.02, windows: 5, speed: 0.002 };

impl Default for Effort {
    /// All organizations, on one processor, two, and all there are.
    fn default() -> Effort {
        let most = affinity::processors();
        let mut processors: Vec<usize> = [1, 2, most].into_iter().filter(|&p| p <= most).collect();
        processors.dedup();
        Effort {
            organizations: organizations::CATALOG.iter().map(|e| e.name.to_owned()).collect(),
            works: Work::ALL.to_vec(),
            processors,
            // About steps of the same factor, up to what the papers have; and a number on each side of
            // a batch. None is a multiple of a batch: all its batches would be full, which those of
            // other numbers are not, and that makes a difference of a third where processors share.
            connections: vec![1, 7, 61, 93, 487, 3067],
            besides: vec![2],
            timing: TIMING,
            samples: 1,
            pairs: 9,
            patience: Duration::from_secs(220),
            seed: 1,
        }
    }
}

impl Effort {
    /// Less: what `anabranch calibrate --quick` measures.
    pub fn quick() -> Effort {
        let patience = Duration::from_secs(95);
        Effort { connections: vec![1, 61, 1021], pairs: 6, patience, ..Effort::default() }
    }

    /// More: what `anabranch calibrate --full` measures. Steps between numbers of connections
    /// are smaller than a prediction's usual error, and no case hangs on one moment.
    pub fn full() -> Effort {
        Effort {
            connections: vec![1, 2, 3, 4, 6, 10, 17, 31, 61, 93, 157, 397, 1021, 3067],
            besides: vec![5, 8],
            samples: 3,
            pairs: 15,
            patience: Duration::from_secs(585),
            ..Effort::default()
        }
    }
}

/// How far a calibration is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The share that is done, from 0 to 1.
    pub share: f64,
    /// What is measured next.
    pub what: &'a str,
}

/// What was measured, and what could not be.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The figures.
    pub calibration: Calibration,
    /// Cases that could not be measured, and why, a line each.
    pub left_out: Vec<String>,
}

/// Measures this machine.
///
/// # Errors
/// [`Error`], if the system refuses what primitives need, or no case at all could
/// be measured.
pub fn run(effort: &Effort, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Outcome, Error> {
    crate::setup::bench_plan::check_names(&effort.organizations)?;
    let (start, date) = (Instant::now(), SystemTime::now());
    let machine = machine::this();
    let cases = anchors::cases(effort);
    // Their parts of the time, about.
    let (first, second) = (0.06, 0.1);
    let mut tell = |share: f64, what: &str| progress(Progress { share, what });
    tell(0.0, "primitives");
    let primitives = primitives::measure(&machine, &mut |done| tell(done * first, "primitives"))?;
    let mut by_layer = BTreeMap::new();
    for (n, &work) in Work::ALL.iter().enumerate() {
        tell(first + 0.3 * second * n as f64 / Work::ALL.len() as f64, "layers");
        by_layer.insert(work, layers::measure(work, Family::V4, &LAYERS)?);
    }
    let mut calibration = Calibration {
        version: VERSION,
        date: humantime::format_rfc3339_seconds(date).to_string(),
        took_s: 0.0,
        reference_ns: 0.0,
        machine,
        primitives,
        layers: by_layer,
        organizations: BTreeMap::new(),
        ipv6: BTreeMap::new(),
        other_state: None,
    };
    let reference = Pace::now(1, 0.01).piece_ns;
    calibration.ipv6 = families::measure(&effort.works, effort.pairs, reference, &mut |done| {
        tell(first + second * (0.3 + 0.7 * done), "IPv6");
    })?;
    let how = sampling::How { effort, reference, begun: start };
    let mut all = states::measure(&cases, &how, &mut |done, what| {
        tell(first + second + (1.0 - first - second) * done, what);
    })?;
    calibration.organizations = std::mem::take(&mut all.anchors);
    calibration.other_state = all.other_state.take();
    let other = calibration.other_state.iter_mut().flat_map(|other| &mut other.organizations);
    let tables = calibration.organizations.iter_mut().chain(other);
    tables.for_each(|(_, anchors)| anchors::spread_waits(anchors));
    if let Some(cacheline) = all.cacheline {
        all.left_out.extend(fit_primitives(&mut calibration, cacheline)?);
    }
    let left_out = all.left_out;
    settle(&mut calibration, reference);
    let scale = calibration.reference_ns / reference;
    families::scale(&mut calibration.ipv6, if scale > 0.0 { scale } else { 1.0 });
    calibration.took_s = start.elapsed().as_secs_f64();
    tell(1.0, "");
    match left_out.first() {
        Some(why) if calibration.organizations.is_empty() => {
            Err(Error::Plan(format!("nothing could be measured: {why}")))
        }
        _ => Ok(Outcome { calibration, left_out }),
    }
}

/// Measures the primitives again if the processors were not as far apart then as for the rest,
/// which was `cacheline`; a line if they still are not.
fn fit_primitives(
    calibration: &mut Calibration,
    cacheline: Estimate,
) -> Result<Option<String>, Error> {
    let way = |of: &Calibration| of.primitives.line_transfer_ns;
    if !is_alike(way(calibration).value, cacheline.value) {
        calibration.primitives = primitives::measure(&calibration.machine, &mut |_| {})?;
    }
    if is_alike(way(calibration).value, cacheline.value) {
        return Ok(None);
    }
    let line = format!(
        "primitives: the processors were {:.0} ns apart then, and {:.0} ns for the rest",
        way(calibration).value,
        cacheline.value,
    );
    calibration.primitives.line_transfer_ns = cacheline;
    Ok(Some(line))
}

/// Brings the speeds of all cases to their median: they were relative to a
/// moment's, `reference`, ns ([`Pace`]).
fn settle(calibration: &mut Calibration, reference: f64) {
    let all = || calibration.organizations.values().flatten().map(|anchor| anchor.speed);
    let median = crate::statistics::median(&all().collect::<Vec<f64>>());
    if median > 0.0 {
        calibration.reference_ns = reference / median;
        let other = calibration.other_state.iter_mut().flat_map(|other| &mut other.organizations);
        let anchors = calibration.organizations.iter_mut().chain(other);
        anchors.flat_map(|(_, anchors)| anchors).for_each(|anchor| anchor.speed /= median);
    }
}

#[cfg(test)]
mod tests;
