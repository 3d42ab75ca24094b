//! Which samples are taken, and in which order.

use crate::Error;
use crate::measure::cacheline_latency::CachelineLatency;
use crate::measure::row::{MANY, Row};
use crate::measure::sample::Sample;
use crate::measure::speed::Paces;
use crate::measure::usage::resident;
use crate::measure::{bound, single, threads};
use crate::setup::bench_plan::{BenchPlan, Workload};
use std::time::Duration;

/// How far an experiment is.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// Samples taken.
    pub done: usize,
    /// Samples in all.
    pub total: usize,
    /// The organization whose sample is taken next; empty at the end.
    pub organization: &'a str,
}

/// Measures what `plan` says: sample by sample, the organizations in turn, each
/// sample with connections of its own and just after a bound of its own. Calls
/// `progress` before each sample and at the end.
///
/// # Errors
/// [`Error`], at the first one.
pub fn run(plan: &BenchPlan, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Vec<Row>, Error> {
    plan.check()?;
    let cases: Vec<(&str, BenchPlan)> =
        plan.organizations.iter().map(|name| (name.as_str(), plan.on(name))).collect();
    let total = plan.repeat * cases.len();
    let mut samples = vec![Vec::new(); cases.len()];
    let mut done = 0;
    for _ in 0..plan.repeat {
        for ((organization, plan), samples) in cases.iter().zip(&mut samples) {
            progress(Progress { done, total, organization });
            let before = (done == 0 && plan.connections >= MANY).then(resident);
            let sample = one(plan, organization)?;
            let grown = before.map(|before| sample.resident.saturating_sub(before));
            let memory = grown.map(|bytes| bytes as f64 / plan.connections as f64);
            samples.push(Sample { memory, ..sample });
            done += 1;
        }
    }
    progress(Progress { done, total, organization: "" });
    let rows = cases.iter().zip(&samples);
    Ok(rows.map(|((name, case), samples)| Row::new(case, name, samples)).collect())
}

/// One sample of an organization, just after its bound.
///
/// # Errors
/// [`Error`].
pub(crate) fn one(plan: &BenchPlan, organization: &str) -> Result<Sample, Error> {
    let time = Duration::from_secs_f64(plan.bound.max(0.001));
    let bound = bound_of(plan, time);
    let bound_of_all = match plan.processors {
        2.. if plan.checksum => {
            bound::measure_many(plan.payload_in_packet(), time, plan.processors)
        }
        processors => bound * processors as f64,
    };
    let take = || match plan.is_single(organization) {
        true => single::sample(plan, organization),
        false => threads::sample(plan, organization),
    };
    let (cacheline, (paces, sample)) =
        CachelineLatency::around(plan.processors, || Paces::around(plan.processors, take));
    Ok(Sample { bound, bound_of_all, cacheline, paces: Some(paces), ..sample? })
}

/// The bound of what `plan` has one core do.
fn bound_of(plan: &BenchPlan, time: Duration) -> f64 {
    let measure = if plan.checksum { bound::measure } else { bound::measure_unsummed };
    measure(plan.payload_in_packet(), time)
}

/// A short look at organizations: `bulk` and `rr` over 16 connections, three
/// samples of `seconds` each. Organizations that run on one processor only are
/// passed over if there are more.
///
/// # Errors
/// [`Error`].
pub fn quick(organizations: &[&str], processors: usize, seconds: f64) -> Result<Vec<Row>, Error> {
    let fits =
        |name: &str| processors == 1 || organizations::find(name).is_none_or(|entry| !entry.single);
    let names = organizations.iter().filter(|name| fits(name));
    let plan = BenchPlan {
        organizations: names.map(|name| (*name).to_owned()).collect(),
        processors,
        connections: 16,
        seconds,
        repeat: 3,
        warm_up: 0.1,
        bound: 0.05,
        ..BenchPlan::default()
    };
    let mut rows = run(&plan, &mut |_| {})?;
    rows.extend(run(&BenchPlan { workload: Workload::Rr, ..plan }, &mut |_| {})?);
    Ok(rows)
}
