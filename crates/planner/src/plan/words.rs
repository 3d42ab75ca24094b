//! Times, rates and latencies in words.

use crate::simulator::outcome::Latency;

/// A time with its unit.
pub(super) fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e4 => format!("{:.2} us", ns / 1e3),
        ns if ns < 1e6 => format!("{:.1} us", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.1} s", ns / 1e9),
    }
}

/// A rate with its unit.
pub(super) fn rate(per_s: f64) -> String {
    match per_s {
        r if r < 1e3 => format!("{r:.0}/s"),
        r if r < 1e6 => format!("{:.0}k/s", r / 1e3),
        r if r < 1e9 => format!("{:.2}M/s", r / 1e6),
        r => format!("{:.2}G/s", r / 1e9),
    }
}

/// The median and the 99th percentile.
pub(super) fn latency(latency: &Latency) -> String {
    format!("p50 {}, p99 {}", time(latency.p50_ns), time(latency.p99_ns))
}
