//! Whole stacks: every organization under every work.

use super::probe::estimate;
use super::{Effort, SETTLED};
use crate::Error;
use crate::measure::cacheline_latency::CachelineLatency;
use crate::measure::case::{self, Case, Measured, Timing};
use crate::random::SplitMix64;
use planner::Work;
use planner::calibration::{Anchor, Estimate};

/// The cases of an effort, in an order that follows from its seed: what the
/// machine does to some of them must not look like an organization's doing.
pub(crate) fn cases(effort: &Effort) -> Vec<Case> {
    let mut cases = Vec::new();
    for &work in &effort.works {
        for &processors in &effort.processors {
            let besides = if processors > 1 { &effort.besides[..] } else { &[] };
            for connections in connections(effort, work, besides) {
                let names = case::organizations(processors);
                let names = names.filter(|name| effort.organizations.iter().any(|n| n == name));
                let names = names.filter(|name| !is_slow(name, work, connections));
                cases.extend(names.map(|organization| Case {
                    organization: organization.to_owned(),
                    work,
                    processors,
                    connections,
                }));
            }
        }
    }
    SplitMix64(effort.seed).shuffle(&mut cases);
    cases
}

/// Over how many connections a work is measured: all that the effort has, every other where
/// data is received and the effort has many ([`MANY`]) or connections are opened all the time,
/// and no more than [`MOST_SHORT`] there.
fn connections(effort: &Effort, work: Work, besides: &[usize]) -> Vec<usize> {
    let receives = matches!(work, Work::TcpReceive | Work::UdpReceive);
    let halved = work == Work::TcpCrr || (receives && effort.connections.len() > MANY);
    let mut all: Vec<usize> = match !halved {
        true => effort.connections.iter().chain(besides).copied().collect(),
        false => {
            let most = effort.connections.iter().max();
            let last = most.filter(|_| effort.connections.len().is_multiple_of(2));
            effort.connections.iter().step_by(2).chain(last).copied().collect()
        }
    };
    if work == Work::TcpCrr {
        all.iter_mut().for_each(|n| *n = (*n).min(MOST_SHORT));
    }
    if is_of_few(work) && !besides.is_empty() {
        all.push(FEW);
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// So many numbers of connections leave no gap in which a curve is unknown if every other is left
/// out.
const MANY: usize = 8;

/// Does a work of few connections depend on how they are spread?
fn is_of_few(work: Work) -> bool {
    matches!(work, Work::TcpRr | Work::UdpRr)
}

/// Where processors are several, transactions over so few connections are measured, too: a
/// connection more or less is a processor more or less that sleeps.
const FEW: usize = 4;

/// The most short-lived connections at a time: each leaves a TIME-WAIT behind.
const MOST_SHORT: usize = 487;

/// A thread for each of very many flows that send without end takes seconds to start and
/// to stop; and more flows than a mailbox holds frames, all with one thread, do not all
/// come to their turn.
fn is_slow(organization: &str, work: Work, connections: usize) -> bool {
    let udp = matches!(work, Work::UdpSend | Work::UdpReceive | Work::UdpRr);
    organization == "thread-per-connection" && udp && connections > 512
}

/// A case as it was measured.
pub(crate) struct Taken {
    pub(crate) anchor: Anchor,
    /// How far the processors were apart meanwhile.
    pub(crate) cacheline: Option<CachelineLatency>,
    /// Was the machine at one pace?
    pub(crate) steady: bool,
}

/// Measures a case; `reference`: what the piece of work took at first by which speeds are
/// compared, ns. At the pace that is `wanted`, ns a piece, if there is some.
pub(crate) fn measure(
    case: &Case,
    timing: &Timing,
    reference: f64,
    wanted: Option<f64>,
) -> Result<Taken, Error> {
    let receives = case.work == Work::TcpReceive;
    let settled = if case.processors > 1 || receives { SETTLED } else { 0.0 };
    let each = if receives { WARM_UP_RECEIVING } else { WARM_UP_EACH };
    let warm_up = timing.warm_up.max(settled) + each * case.connections as f64;
    let timing = Timing { warm_up, ..*timing };
    // Rates without instruments, as those who are predicted for have none.
    let measured = case.measure(&timing, wanted, false)?;
    let mut anchor = anchor(case, &measured, reference);
    if case.processors > 1 && case.connections == WATCHED {
        let watched = case.measure(&Timing { windows: 2, ..timing }, None, true)?;
        anchor = with_waits(anchor, &watched);
    }
    Ok(Taken { anchor, cacheline: measured.cacheline, steady: measured.steady })
}

/// For each connection the time before the first window is longer by this, seconds:
/// all begin at once, and it takes a while until they come evenly.
const WARM_UP_EACH: f64 = 15e-6;

/// The same where TCP receives: the windows of connections grow meanwhile, and what is measured
/// before they have is less by a fifth.
const WARM_UP_RECEIVING: f64 = 60e-6;

fn anchor(case: &Case, measured: &Measured, reference: f64) -> Anchor {
    let operations = measured.operations.max(1.0);
    let sample = &measured.sample;
    Anchor {
        work: case.work,
        bytes: measured.bytes,
        processors: case.processors,
        connections: case.connections,
        operations_per_s: rate(measured),
        processor_ns: sample.processor * 1e9 / operations,
        switches: sample.switches as f64 / operations,
        hand_offs: 0.0,
        lock_wait_ns: 0.0,
        speed: reference / measured.piece_ns,
    }
}

/// The connections over which several processors are measured once more, with
/// instruments.
const WATCHED: usize = 61;

/// With what the instruments say of hand-offs and of waits for locks.
fn with_waits(anchor: Anchor, watched: &Measured) -> Anchor {
    let operations = watched.operations.max(1.0);
    let Some(details) = &watched.sample.details else { return anchor };
    Anchor {
        hand_offs: details.report.handoffs() as f64 / operations,
        lock_wait_ns: details.report.lock_wait_s() * 1e9 / operations,
        ..anchor
    }
}

/// Gives what the instruments said of one number of connections to the others.
pub(crate) fn spread_waits(anchors: &mut [Anchor]) {
    let watched: Vec<Anchor> =
        anchors.iter().filter(|anchor| anchor.connections == WATCHED).copied().collect();
    for anchor in anchors {
        let same = |of: &&Anchor| (of.work, of.processors) == (anchor.work, anchor.processors);
        if let Some(of) = watched.iter().find(same) {
            (anchor.hand_offs, anchor.lock_wait_ns) = (of.hand_offs, of.lock_wait_ns);
        }
    }
}

/// Operations a second. The interval is that of the windows' median, widened to
/// hold the mean.
fn rate(measured: &Measured) -> Estimate {
    let median = estimate(&measured.rates);
    let value = measured.rate();
    Estimate { value, low: median.low.min(value), high: median.high.max(value) }
}
