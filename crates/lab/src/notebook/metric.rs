//! [`METRICS`]: what a run yields.

/// What a run yields.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// Its name in files.
    pub name: &'static str,
    /// Its unit, as axes have it.
    pub unit: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Why it cannot be had here; none: it can.
    pub missing: Option<&'static str>,
}

const fn metric(name: &'static str, unit: &'static str, about: &'static str) -> Metric {
    Metric { name, unit, about, missing: None }
}

const fn missing(name: &'static str, unit: &'static str, why: &'static str) -> Metric {
    Metric { name, unit, about: "", missing: Some(why) }
}

/// All of them.
pub const METRICS: &[Metric] = &[
    metric("gbit_per_s", "Gbit/s", "payload that applications received"),
    metric("transactions_per_s", "transactions/s", "messages and their echoes"),
    metric("operations_per_s", "operations/s", "packets with data, or transactions"),
    metric("of_bound", "share of the bound", "payload, of what one core can copy and sum"),
    metric("bound_gbit_per_s", "Gbit/s", "what one core can copy and sum, measured just before"),
    metric("cpu_s_per_gb", "s/GB", "processor time for 10^9 bytes"),
    metric("cpu_s_per_100k", "s/100k", "processor time for 100,000 transactions"),
    metric("switches_per_s", "1/s", "context switches"),
    metric("voluntary_switches_per_gb", "1/GB", "context switches of threads that waited"),
    metric("lock_wait_us_per_gb", "µs/GB", "waiting for locks, all threads, for 10^9 bytes"),
    metric("lock_wait_share", "share", "waiting for locks, of the time that threads had"),
    metric("lock_contended_share", "share", "uses of locks that found them taken"),
    metric("handoffs_per_gb", "1/GB", "packets handed from thread to thread, for 10^9 bytes"),
    metric("queue_residence_us", "µs", "mean time of packets in queues between threads"),
    metric("latency_p50_us", "µs", "latency, median"),
    metric("latency_p99_us", "µs", "latency, 99th percentile"),
    metric("jain", "index", "Jain's index of fairness over connections"),
    metric("connection_spread", "ratio", "the most that a connection had, of the least"),
    metric("thread_time_spread", "ratio", "the most processor time of a thread, of the least"),
    metric("begun_per_s", "1/s", "short-lived connections begun"),
    metric("completed_per_s", "1/s", "short-lived connections completed"),
    metric("residence_us", "µs", "time of a packet in the machine"),
    metric("capacity_us", "µs", "time between packets at the greatest rate"),
    metric("software_us", "µs", "software's time for a packet"),
    metric("lock_us", "µs", "the controller lock's time for a packet"),
    metric("bus_us", "µs", "the bus's time for a packet"),
    missing("cache_misses_per_kb", "1/KB", "hardware counters of cache misses are not read"),
    missing(
        "completed_requests_per_s",
        "1/s",
        "it needs a web server over a TAP device, which takes rights that this run does not ask for",
    ),
    missing(
        "measured_residence_us",
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
