//! [`Row`]: the figures of one case.

use crate::measure::cacheline_latency::CachelineLatency;
use crate::measure::detail::Detail;
use crate::measure::sample::Sample;
use crate::measure::speed::Paces;
use crate::setup::bench_plan::BenchPlan;
use crate::statistics::median;
use serde::Serialize;

/// The fewest connections whose memory is told.
pub const MANY: usize = 1000;

/// The figures of one organization under one plan.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// `bulk`, `rr`, `crr` or `udp`.
    pub workload: &'static str,
    /// The organization's name.
    pub organization: String,
    /// Processors of the stack under test.
    pub processors: usize,
    /// It runs on one processor only, and stands here for comparison.
    pub reference: bool,
    /// Threads that carried packets, those of the peer included.
    pub threads: usize,
    /// Connections, or flows of UDP.
    pub connections: usize,
    /// How many of them carried something.
    pub active: usize,
    /// Bytes of the application's reads and writes, messages or datagrams.
    pub payload_bytes: usize,
    /// Bytes of the link's largest IP datagram.
    pub mtu: usize,
    /// `4` or `6`: the family of the addresses.
    pub family: &'static str,
    /// `send`, `receive` or `both`.
    pub direction: &'static str,
    /// `stack` or `driver`.
    pub peer: &'static str,
    /// `Gbit/s` or `transactions/s`.
    pub unit: &'static str,
    /// Median of the samples, in the unit.
    pub median: f64,
    /// The least sample.
    pub min: f64,
    /// The greatest sample.
    pub max: f64,
    /// All samples, in the order in which they were taken.
    pub samples: Vec<f64>,
    /// Processor seconds of both ends for 10^9 bytes of payload; median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s_per_gb: Option<f64>,
    /// Processor seconds of both ends for 100,000 transactions; median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_s_per_100k: Option<f64>,
    /// Bytes by which the process grew for each connection from before they were opened to the end of a sample, both ends:
    /// of the first sample of all, since a process keeps memory for the next ones, and where
    /// connections are a thousand at least.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_connection: Option<f64>,
    /// Context switches a second, voluntary and not; median.
    pub context_switches_per_s: f64,
    /// What one core can do at all with this payload ([`crate::bound`]); median.
    pub bound_gbit_per_s: f64,
    /// What all the processors can do at once ([`crate::bound::measure_many`]; without
    /// checksums, that of one times their number); median. No organization can give back
    /// what this lacks to the bound of one times their number.
    pub bound_of_processors_gbit_per_s: f64,
    /// Payload carried, of the bound, each sample of its own; median.
    pub ratio_to_bound: f64,
    /// The same for each second of processor time instead of each second.
    pub ratio_to_bound_per_core: f64,
    /// How far the processors were apart at each sample, if there are several: samples
    /// of different states of the machine are not to be compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cacheline_ns: Vec<CachelineLatency>,
    /// What a fixed piece of work took before and after each sample, the least and the greatest over
    /// processors: samples of different paces are not to be compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub piece_ns: Vec<Paces>,
    /// What the instruments say, if the plan has any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<Detail>,
}

impl Row {
    pub(crate) fn new(plan: &BenchPlan, organization: &str, samples: &[Sample]) -> Row {
        let transactions = plan.workload.is_transactions();
        let of = |f: &dyn Fn(&Sample) -> f64| samples.iter().map(f).collect::<Vec<f64>>();
        let values = of(&|s| if transactions { s.rate() } else { s.gbit_per_s() });
        let single = plan.is_single(organization);
        let driver = plan.peer == crate::Peer::Driver;
        Row {
            workload: plan.workload.name(),
            organization: organization.to_owned(),
            processors: plan.processors,
            reference: plan.reference,
            threads: if single || driver { plan.processors } else { 2 * plan.processors },
            connections: plan.connections,
            active: plan.active(),
            payload_bytes: plan.bytes(),
            mtu: plan.mtu,
            family: plan.family.name(),
            direction: plan.direction.name(),
            peer: plan.peer.name(),
            unit: plan.workload.unit(),
            median: median(&values),
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(0.0, f64::max),
            samples: values,
            cpu_s_per_gb: (!transactions)
                .then(|| median(&of(&|s| s.processor * 1e9 / s.bytes as f64))),
            cpu_s_per_100k: transactions
                .then(|| median(&of(&|s| s.processor * 1e5 / s.transactions as f64))),
            bytes_per_connection: samples.iter().find_map(|s| s.memory),
            context_switches_per_s: median(&of(&|s| s.switches as f64 / s.seconds)),
            bound_gbit_per_s: median(&of(&|s| s.bound)),
            bound_of_processors_gbit_per_s: median(&of(&|s| s.bound_of_all)),
            ratio_to_bound: median(&of(&|s| s.gbit_per_s() / s.bound)),
            ratio_to_bound_per_core: median(&of(&|s| {
                s.gbit_per_s() * s.seconds / s.processor.max(1e-9) / s.bound
            })),
            cacheline_ns: samples.iter().filter_map(|sample| sample.cacheline).collect(),
            piece_ns: samples.iter().filter_map(|sample| sample.paces).collect(),
            detail: Detail::new(plan, samples),
        }
    }
}
