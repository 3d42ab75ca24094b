//! Samples: how many, in which order, and what becomes of them.

use crate::apart::Apart;
use crate::load::Meter;
use crate::load::Totals;
use crate::plan::{Plan, Workload};
use crate::row::Row;
use crate::usage::Usage;
use crate::{Error, bound, single, threads};
use instrument::{Counted, Instruments, Report, Snapshot};
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// One sample.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) seconds: f64,
    /// Bytes of payload that applications have received.
    pub(crate) bytes: u64,
    pub(crate) transactions: u64,
    /// Processor seconds.
    pub(crate) processor: f64,
    /// Context switches.
    pub(crate) switches: u64,
    /// The bound, measured just before, Gbit/s.
    pub(crate) bound: f64,
    /// That of as many processors at once; of one, the same.
    pub(crate) bound_of_all: f64,
    /// How far the processors were apart, if there are several.
    pub(crate) apart: Option<Apart>,
    /// What the instruments say, if the plan has any.
    pub(crate) details: Option<Details>,
}

/// What instruments say of a sample.
#[derive(Clone, Debug)]
pub(crate) struct Details {
    pub(crate) report: Report,
    /// Bytes or transactions of each connection that carries something.
    pub(crate) connections: Vec<u64>,
    /// How long transactions took.
    pub(crate) latency: Counted,
}

impl Sample {
    /// Transactions a second.
    pub(crate) fn rate(&self) -> f64 {
        self.transactions as f64 / self.seconds
    }
    /// Payload.
    pub(crate) fn gbit_per_s(&self) -> f64 {
        self.bytes as f64 * 8.0 / self.seconds / 1e9
    }
}

/// How long a sample goes on in which nothing moves, before it is an error.
const STARVED: Duration = Duration::from_secs(20);

/// The state of things at the beginning of a sample.
pub(crate) struct Mark {
    at: Instant,
    usage: Usage,
    totals: Totals,
    details: Option<Look>,
}

/// What the instruments had counted at the beginning.
struct Look {
    instruments: Arc<Instruments>,
    snapshot: Snapshot,
    connections: Vec<u64>,
    latency: Counted,
}

impl Look {
    fn now(instruments: &Arc<Instruments>, meter: &Meter) -> Look {
        Look {
            instruments: instruments.clone(),
            snapshot: instruments.snapshot(),
            connections: meter.parts(),
            latency: meter.latency(),
        }
    }

    /// What has happened since.
    fn details(&self, meter: &Meter) -> Details {
        let now = meter.parts();
        let before = self.connections.iter();
        Details {
            report: self.instruments.snapshot().since(&self.snapshot),
            connections: now.iter().zip(before).map(|(now, then)| now - then).collect(),
            latency: meter.latency().since(&self.latency),
        }
    }
}

impl Mark {
    /// Now.
    pub(crate) fn now(meter: &Meter, instruments: Option<&Arc<Instruments>>) -> Mark {
        let details = instruments.map(|instruments| Look::now(instruments, meter));
        Mark { details, usage: Usage::now(), totals: meter.totals(), at: Instant::now() }
    }

    /// Is a sample of `plan` that began here still without anything in it, on a
    /// machine that may be too busy to have let it begin?
    pub(crate) fn is_empty(&self, meter: &Meter, plan: &Plan) -> bool {
        let totals = meter.totals();
        let moved = if plan.workload.is_transactions() {
            totals.transactions - self.totals.transactions
        } else {
            totals.received - self.totals.received
        };
        moved == 0 && !meter.has_failed() && self.at.elapsed() < STARVED
    }

    /// What has happened until now; an error if it is nothing.
    pub(crate) fn sample(
        self,
        meter: &Meter,
        plan: &Plan,
        organization: &str,
    ) -> Result<Sample, Error> {
        let totals = meter.totals();
        let seconds = self.at.elapsed().as_secs_f64();
        let usage = Usage::now().since(self.usage);
        let details = self.details.map(|look| look.details(meter));
        check(meter, plan, organization)?;
        let sample = Sample {
            seconds,
            bytes: totals.received - self.totals.received,
            transactions: totals.transactions - self.totals.transactions,
            processor: usage.processor.as_secs_f64(),
            switches: usage.switches,
            bound: 0.0,
            bound_of_all: 0.0,
            apart: None,
            details,
        };
        let moved =
            if plan.workload.is_transactions() { sample.transactions } else { sample.bytes };
        if moved == 0 {
            return Err(failed(plan, organization, "nothing moved for a whole sample"));
        }
        Ok(sample)
    }
}

/// The error of a load that failed.
pub(crate) fn failed(plan: &Plan, organization: &str, what: &str) -> Error {
    Error::Load {
        organization: organization.to_owned(),
        workload: plan.workload.name(),
        what: what.to_owned(),
    }
}

/// An error if a load has failed.
pub(crate) fn check(meter: &Meter, plan: &Plan, organization: &str) -> Result<(), Error> {
    meter.failure().map_or(Ok(()), |what| Err(failed(plan, organization, &what)))
}

/// Measures what `plan` says: sample by sample, the organizations in turn, each
/// sample with connections of its own and just after a bound of its own. Calls
/// `progress` before each sample and at the end.
///
/// # Errors
/// [`Error`], at the first one.
pub fn run(plan: &Plan, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Vec<Row>, Error> {
    plan.check()?;
    let cases: Vec<(&str, Plan)> =
        plan.organizations.iter().map(|name| (name.as_str(), plan.on(name))).collect();
    let total = plan.repeat * cases.len();
    let mut samples = vec![Vec::new(); cases.len()];
    let mut done = 0;
    for _ in 0..plan.repeat {
        for ((organization, plan), samples) in cases.iter().zip(&mut samples) {
            progress(Progress { done, total, organization });
            let time = Duration::from_secs_f64(plan.bound.max(0.001));
            let bound = bound_of(plan, time);
            let bound_of_all = match plan.processors {
                2.. if plan.checksum => {
                    bound::measure_many(plan.payload_in_packet(), time, plan.processors)
                }
                processors => bound * processors as f64,
            };
            let (apart, sample) =
                Apart::around(plan.processors, || match plan.is_single(organization) {
                    true => single::sample(plan, organization),
                    false => threads::sample(plan, organization),
                });
            samples.push(Sample { bound, bound_of_all, apart, ..sample? });
            done += 1;
        }
    }
    progress(Progress { done, total, organization: "" });
    let rows = cases.iter().zip(&samples);
    Ok(rows.map(|((name, case), samples)| Row::new(case, name, samples)).collect())
}

/// The bound of what `plan` has one core do.
fn bound_of(plan: &Plan, time: Duration) -> f64 {
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
    let plan = Plan {
        organizations: names.map(|name| (*name).to_owned()).collect(),
        processors,
        connections: 16,
        seconds,
        repeat: 3,
        warm_up: 0.1,
        bound: 0.05,
        ..Plan::default()
    };
    let mut rows = run(&plan, &mut |_| {})?;
    rows.extend(run(&Plan { workload: Workload::Rr, ..plan }, &mut |_| {})?);
    Ok(rows)
}
