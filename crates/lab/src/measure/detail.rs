//! [`Detail`]: what instruments say of a case, over all its samples.

use crate::load::jain;
use crate::measure::sample::{Details, Sample};
use crate::setup::bench_plan::{BenchPlan, Peer};
use crate::statistics::{Spread, median};
use instrument::{Counted, Percentiles, Report};
use serde::Serialize;

/// What instruments say of the stack under test. Of figures that each sample
/// has, the median.
#[derive(Clone, Debug, Serialize)]
pub struct Detail {
    /// Context switches of its threads a second because they waited.
    pub voluntary_switches_per_s: f64,
    /// And because others had their turn.
    pub involuntary_switches_per_s: f64,
    /// Time that its threads waited for locks, all together, milliseconds a
    /// second.
    pub lock_wait_ms_per_s: f64,
    /// The same, of the time that the threads had.
    pub lock_wait_share: f64,
    /// The same, microseconds for 10^9 bytes of payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lock_wait_us_per_gb: Option<f64>,
    /// Uses of locks that found them taken, of all.
    pub lock_contended_share: f64,
    /// Packets handed from thread to thread, a second.
    pub handoffs_per_s: f64,
    /// Mean time that packets were in queues between threads, microseconds;
    /// none if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_residence_us: Option<f64>,
    /// `transaction`: from the first byte of a message to the last of its echo.
    /// `packet`: from when the stack took it from the device to the end of the
    /// turn in which its connection was served.
    pub latency_of: &'static str,
    /// That latency, over all samples.
    pub latency: Percentiles,
    /// Jain's index of fairness over the connections that carried something.
    pub jain: f64,
    /// Gbit/s of frames, in and out, of each thread in each sample.
    pub gbit_per_thread: Spread,
    /// Payload in Gbit/s, or transactions a second, of each connection in each
    /// sample.
    pub per_connection: Spread,
    /// Everything, sample by sample.
    pub samples: Vec<SampleDetail>,
}

/// What instruments say of one sample.
#[derive(Clone, Debug, Serialize)]
pub struct SampleDetail {
    /// Threads, locks and queues.
    pub report: Report,
    /// Gbit/s or transactions a second of each connection that carries something.
    pub connections: Vec<f64>,
}

impl Detail {
    /// Of samples that were taken with instruments; `None` if there are none.
    pub(crate) fn new(plan: &BenchPlan, samples: &[Sample]) -> Option<Detail> {
        let all: Vec<(&Sample, &Details)> =
            samples.iter().filter_map(|sample| Some((sample, sample.details.as_ref()?))).collect();
        if all.is_empty() {
            return None;
        }
        let of = |f: &dyn Fn(&Sample, &Report) -> f64| {
            median(&all.iter().map(|(s, d)| f(s, &d.report)).collect::<Vec<f64>>())
        };
        let transactions = plan.workload.is_transactions();
        // Only stacks take the time of theirs.
        let timed = transactions && plan.peer == Peer::Stack;
        let rates = |sample: &Sample, details: &Details| -> Vec<f64> {
            let scale = if transactions { 1.0 } else { 8.0 / 1e9 };
            let rate = |n: &u64| *n as f64 * scale / sample.seconds;
            details.connections.iter().map(rate).collect()
        };
        let threads = all.iter().flat_map(|(_, d)| {
            let seconds = d.report.seconds.max(1e-9);
            let threads = d.report.threads.iter();
            threads.map(move |t| (t.bytes_in + t.bytes_out) as f64 * 8.0 / 1e9 / seconds)
        });
        let fair: Vec<f64> = all.iter().map(|(s, d)| jain(&rates(s, d))).collect();
        Some(Detail {
            voluntary_switches_per_s: of(&|_, r| {
                let switches = r.threads.iter().map(|t| t.voluntary_switches);
                switches.sum::<u64>() as f64 / r.seconds
            }),
            involuntary_switches_per_s: of(&|_, r| {
                let switches = r.threads.iter().map(|t| t.involuntary_switches);
                switches.sum::<u64>() as f64 / r.seconds
            }),
            lock_wait_ms_per_s: of(&|_, r| 1e3 * r.lock_wait_s() / r.seconds),
            lock_wait_share: of(&|_, r| {
                r.lock_wait_s() / (r.seconds * r.threads.len().max(1) as f64)
            }),
            lock_wait_us_per_gb: (!transactions)
                .then(|| of(&|s, r| r.lock_wait_s() * 1e6 * 1e9 / s.bytes.max(1) as f64)),
            lock_contended_share: of(&|_, r| {
                let uses: u64 = r.locks.iter().map(|lock| lock.uses).sum();
                let contended: u64 = r.locks.iter().map(|lock| lock.contended).sum();
                contended as f64 / uses.max(1) as f64
            }),
            handoffs_per_s: of(&|_, r| r.handoffs() as f64 / r.seconds),
            queue_residence_us: residence(&all),
            latency_of: if timed { "transaction" } else { "packet" },
            latency: latency(&all, timed),
            jain: median(&fair),
            gbit_per_thread: Spread::of(threads),
            per_connection: Spread::of(all.iter().flat_map(|(s, d)| rates(s, d))),
            samples: all
                .iter()
                .map(|(s, d)| SampleDetail { report: d.report.clone(), connections: rates(s, d) })
                .collect(),
        })
    }
}

fn residence(all: &[(&Sample, &Details)]) -> Option<f64> {
    let mut sum = Counted::default();
    all.iter().for_each(|(_, d)| sum.add(&d.report.residences));
    (!sum.is_empty()).then(|| sum.mean() / 1e3)
}

fn latency(all: &[(&Sample, &Details)], transactions: bool) -> Percentiles {
    let mut sum = Counted::default();
    for (_, details) in all {
        sum.add(if transactions { &details.latency } else { &details.report.latencies });
    }
    Percentiles::new(&sum)
}
