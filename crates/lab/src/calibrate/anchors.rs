//! Whole stacks: every organization under every work.

use super::probe::estimate;
use super::{Effort, SETTLED};
use crate::Error;
use crate::case::{self, Case, Dice, Measured, Timing};
use planner::Work;
use planner::calibration::{Anchor, Estimate};

/// The cases of an effort, in an order that follows from its seed: what the
/// machine does to some of them must not look like an organization's doing.
pub(crate) fn cases(effort: &Effort) -> Vec<Case> {
    let mut cases = Vec::new();
    for &work in &effort.works {
        for &processors in &effort.processors {
            for &connections in &effort.connections {
                let names = case::organizations(processors);
                let names = names.filter(|name| effort.organizations.iter().any(|n| n == name));
                let names = names.filter(|name| !is_slow(name, work, connections));
                let names = names.filter(|_| processors > 1 || connections != NOT_ALONE);
                cases.extend(names.map(|organization| Case {
                    organization: organization.to_owned(),
                    work,
                    processors,
                    connections,
                }));
            }
        }
    }
    Dice(effort.seed).shuffle(&mut cases);
    cases
}

/// Connections that are left out on one processor, between whose neighbours there
/// is little.
const NOT_ALONE: usize = 512;

/// A thread for each of so many connections takes seconds to start and to stop.
fn is_slow(organization: &str, work: Work, connections: usize) -> bool {
    let most = if matches!(work, Work::UdpSend | Work::UdpRr) { 64 } else { MOST_THREADS };
    organization == "thread-per-connection" && connections > most
}

/// The most threads of connections that are started for a case.
const MOST_THREADS: usize = 512;

/// Measures a case; `reference`: what copying and summing a byte took when the
/// primitives were measured, ns.
pub(crate) fn measure(case: &Case, timing: &Timing, reference: f64) -> Result<Anchor, Error> {
    let warm_up = if case.processors > 1 { timing.warm_up.max(SETTLED) } else { timing.warm_up };
    let measured = case.measure(&Timing { warm_up, ..*timing }, true)?;
    Ok(anchor(case, &measured, reference))
}

fn anchor(case: &Case, measured: &Measured, reference: f64) -> Anchor {
    let operations = measured.operations.max(1.0);
    let sample = &measured.sample;
    let report = sample.details.as_ref().map(|details| &details.report);
    Anchor {
        work: case.work,
        bytes: measured.bytes,
        processors: case.processors,
        connections: case.connections,
        operations_per_s: rate(measured),
        processor_ns: sample.processor * 1e9 / operations,
        switches: sample.switches as f64 / operations,
        hand_offs: report.map_or(0.0, |report| report.handoffs() as f64 / operations),
        lock_wait_ns: report.map_or(0.0, |report| report.lock_wait_s() * 1e9 / operations),
        speed: reference / measured.ns_per_byte,
    }
}

/// Operations a second over all windows: where threads are many, a short window
/// has none or very many. The interval is that of the windows' median, widened to
/// hold the mean.
fn rate(measured: &Measured) -> Estimate {
    let median = estimate(&measured.rates);
    let value = measured.rates.iter().sum::<f64>() / measured.rates.len().max(1) as f64;
    Estimate { value, low: median.low.min(value), high: median.high.max(value) }
}

/// The works that calibrations measure, and those of which they know nothing.
pub(crate) const WORKS: [Work; 4] = [Work::TcpSend, Work::TcpRr, Work::UdpSend, Work::UdpRr];
