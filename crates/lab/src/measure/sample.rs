//! [`Sample`]: what is counted between two moments of a running load.

use crate::Error;
use crate::load::{Meter, Totals};
use crate::measure::cacheline_latency::CachelineLatency;
use crate::measure::speed::Paces;
use crate::measure::usage::{Usage, resident};
use crate::setup::bench_plan::BenchPlan;
use instrument::{Counted, Instruments, Report, Snapshot};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long all connections may take until they are established.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Connections whose opening may be under way at once: the link's queue is not
/// to overflow with SYNs.
pub(crate) const OPENING: usize = 128;

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
    pub(crate) cacheline: Option<CachelineLatency>,
    /// How fast they were.
    pub(crate) paces: Option<Paces>,
    /// Bytes that the process had resident at the end.
    pub(crate) resident: usize,
    /// Bytes by which the process grew for each connection; of the process's first sample.
    pub(crate) memory: Option<f64>,
    /// What the second half carried, of what the first did; none if that was nothing.
    pub(crate) drift: Option<f64>,
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
    /// When the first half ended, and what it carried.
    half: Option<(Instant, u64)>,
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
        let (usage, totals) = (Usage::now(), meter.totals());
        Mark { details, usage, totals, half: None, at: Instant::now() }
    }

    /// What a sample of `plan` has carried so far: transactions or bytes.
    fn moved(&self, totals: &Totals, plan: &BenchPlan) -> u64 {
        if plan.workload.is_transactions() {
            totals.transactions - self.totals.transactions
        } else {
            totals.received - self.totals.received
        }
    }

    /// The first half of the sample ends here.
    pub(crate) fn half(&mut self, meter: &Meter, plan: &BenchPlan) {
        self.half = Some((Instant::now(), self.moved(&meter.totals(), plan)));
    }

    /// What the second half, which ends after `seconds` of the sample, carried of what the
    /// first did.
    fn drift(&self, seconds: f64, moved: u64) -> Option<f64> {
        let (at, first) = self.half?;
        let first_s = at.duration_since(self.at).as_secs_f64();
        let rate = first as f64 / first_s;
        (rate > 0.0).then(|| (moved - first) as f64 / (seconds - first_s) / rate)
    }

    /// Is a sample of `plan` that began here still without anything in it, on a
    /// machine that may be too busy to have let it begin?
    pub(crate) fn is_empty(&self, meter: &Meter, plan: &BenchPlan) -> bool {
        self.moved(&meter.totals(), plan) == 0 && !meter.has_failed() && self.at.elapsed() < STARVED
    }

    /// What has happened until now; an error if it is nothing.
    pub(crate) fn sample(
        self,
        meter: &Meter,
        plan: &BenchPlan,
        organization: &str,
    ) -> Result<Sample, Error> {
        let totals = meter.totals();
        let seconds = self.at.elapsed().as_secs_f64();
        let usage = Usage::now().since(self.usage);
        let moved = self.moved(&totals, plan);
        let drift = self.drift(seconds, moved);
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
            cacheline: None,
            paces: None,
            resident: resident(),
            memory: None,
            drift,
            details,
        };
        if moved == 0 {
            return Err(failed(plan, organization, "nothing moved for a whole sample"));
        }
        Ok(sample)
    }
}

/// The error of a load that failed.
pub(crate) fn failed(plan: &BenchPlan, organization: &str, what: &str) -> Error {
    Error::Load {
        organization: organization.to_owned(),
        workload: plan.workload.name(),
        what: what.to_owned(),
    }
}

/// An error if a load has failed.
pub(crate) fn check(meter: &Meter, plan: &BenchPlan, organization: &str) -> Result<(), Error> {
    meter.failure().map_or(Ok(()), |what| Err(failed(plan, organization, &what)))
}
