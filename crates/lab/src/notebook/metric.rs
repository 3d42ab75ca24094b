//! [`METRICS`]: what a run yields.

/// What a run yields.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in files.
    pub name: &'static str,
    /// What axes call it.
    pub label: &'static str,
    /// Its unit, as axes have it.
    pub unit: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Why it cannot be had here; none: it can.
    pub missing: Option<&'static str>,
}

const fn metric(
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    about: &'static str,
) -> Metric {
    Metric { name, label, unit, about, missing: None }
}

const fn missing(
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    why: &'static str,
) -> Metric {
    Metric { name, label, unit, about: "", missing: Some(why) }
}

impl Metric {
    /// What an axis says: the label, and the unit if that is no mere number.
    pub fn axis(&self) -> String {
        match self.unit {
            "share" | "ratio" | "index" | "share of the bound" => self.label.to_owned(),
            unit => format!("{}, {unit}", self.label),
        }
    }
}

/// All of them.
pub const METRICS: &[Metric] = &[
    metric("gbit_per_s", "payload", "Gbit/s", "payload that applications received"),
    metric("transactions_per_s", "transactions", "transactions/s", "messages and their echoes"),
    metric("operations_per_s", "operations", "operations/s", "packets with data, or transactions"),
    metric(
        "of_bound",
        "payload, of the bound",
        "share of the bound",
        "payload, of what one core can copy and sum",
    ),
    metric(
        "bound_gbit_per_s",
        "the bound",
        "Gbit/s",
        "what one core can copy and sum, measured just before",
    ),
    metric("cpu_s_per_gb", "processor time", "s/GB", "processor time for 10^9 bytes"),
    metric("cpu_s_per_100k", "processor time", "s/100k", "processor time for 100,000 transactions"),
    metric("switches_per_s", "context switches", "1/s", "context switches"),
    metric(
        "voluntary_switches_per_gb",
        "voluntary context switches",
        "1/GB",
        "context switches of threads that waited",
    ),
    metric(
        "lock_wait_us_per_gb",
        "waiting for locks",
        "µs/GB",
        "waiting for locks, all threads, for 10^9 bytes",
    ),
    metric(
        "lock_wait_share",
        "waiting for locks, of the time of threads",
        "share",
        "waiting for locks, of the time that threads had",
    ),
    metric(
        "lock_contended_share",
        "uses of locks that found them taken",
        "share",
        "uses of locks that found them taken",
    ),
    metric(
        "handoffs_per_gb",
        "packets handed on",
        "1/GB",
        "packets handed from thread to thread, for 10^9 bytes",
    ),
    metric(
        "queue_residence_us",
        "time in queues between threads",
        "µs",
        "mean time of packets in queues between threads",
    ),
    metric("latency_p50_us", "latency, median", "µs", "latency, median"),
    metric("latency_p99_us", "latency, 99th percentile", "µs", "latency, 99th percentile"),
    metric("jain", "Jain's index", "index", "Jain's index of fairness over connections"),
    metric(
        "connection_spread",
        "most of a connection, of the least",
        "ratio",
        "the most that a connection had, of the least",
    ),
    metric(
        "thread_time_spread",
        "most time of a thread, of the least",
        "ratio",
        "the most processor time of a thread, of the least",
    ),
    metric(
        "thread_latency_spread",
        "most time of a packet in a thread, of the least",
        "ratio",
        "the most that a packet spends in a thread on average, of the least, by Little's law",
    ),
    metric(
        "thread_latency_slowest_us",
        "time of a packet in the slowest thread",
        "µs",
        "mean time of a packet in the thread that carries least, by Little's law",
    ),
    metric("begun_per_s", "short-lived connections begun", "1/s", "short-lived connections begun"),
    metric(
        "completed_per_s",
        "short-lived connections completed",
        "1/s",
        "short-lived connections completed",
    ),
    metric("offered_requests_per_s", "offered requests", "1/s", "requests that were due"),
    metric(
        "completed_requests_per_s",
        "completed requests",
        "1/s",
        "requests that were answered in the time that counts",
    ),
    metric("completed_share", "completed, of offered", "share", "requests answered, of those due"),
    metric("residence_us", "residence time", "µs", "time of a packet in the machine"),
    metric(
        "capacity_us",
        "time between packets at capacity",
        "µs",
        "time between packets at the greatest rate",
    ),
    metric("software_us", "software", "µs", "software's time for a packet"),
    metric("lock_us", "controller lock", "µs", "the controller lock's time for a packet"),
    metric("bus_us", "bus", "µs", "the bus's time for a packet"),
    missing(
        "cache_misses_per_kb",
        "cache misses",
        "1/KB",
        "hardware counters of cache misses are not read",
    ),
    missing(
        "measured_residence_us",
        "residence time, measured",
        "µs",
        "it needs the paper's machine: a model and a simulator are all that is left of it",
    ),
];

/// The metric of this name; otherwise a line with those there are.
pub(super) fn find(name: &str) -> Result<&'static Metric, String> {
    METRICS.iter().find(|metric| metric.name == name).ok_or_else(|| {
        let known: Vec<&str> = METRICS.iter().map(|metric| metric.name).collect();
        format!("there is no metric '{name}': choose from {}", known.join(", "))
    })
}
