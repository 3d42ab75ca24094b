//! [`Case`]: an organization under a load against a simulated peer, as
//! calibrations and validations measure it, in planner's terms.

use crate::Error;
use crate::measure::cacheline_latency::CachelineLatency;
use crate::measure::sample::Sample;
pub use crate::measure::windows::Timing;
use crate::measure::windows::{self, Rate};
use crate::setup::bench_plan::{BenchPlan, Direction, Family, Peer, Workload};
use planner::Work;

/// What is measured. All its threads are confined to as many processors as it
/// has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// The organization's name.
    pub organization: String,
    /// What connections do.
    pub work: Work,
    /// Processors.
    pub processors: usize,
    /// Connections, all busy.
    pub connections: usize,
}

/// What was measured of a case.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Operations a second, window by window: of those of one pace, if there are, and brought to
    /// `piece_ns`.
    pub rates: Vec<f64>,
    /// Bytes of a message, of a datagram's payload, or of a segment's on average.
    pub bytes: usize,
    /// What a fixed piece of work took meanwhile, ns ([`crate::speed`]).
    pub piece_ns: f64,
    /// Did it take that all the time, on all processors?
    pub steady: bool,
    /// How far the processors were apart, if there were several.
    pub cacheline: Option<CachelineLatency>,
    /// Operations in all windows.
    pub operations: f64,
    pub(crate) sample: Sample,
}

impl Measured {
    /// Were there operations in every window?
    pub fn is_moving(&self) -> bool {
        self.rates.iter().all(|&rate| rate > 0.0)
    }

    /// Operations a second over all windows: where threads are many, or the machine
    /// is busy with something else, a short window has none or very many.
    pub(crate) fn rate(&self) -> f64 {
        self.rates.iter().sum::<f64>() / self.rates.len().max(1) as f64
    }
}

/// How often a case is measured that stands still in some of its windows.
pub const TRIES: usize = 3;

/// The first that `measure` gives without a window in which nothing happened; after
/// [`TRIES`], the last.
fn moving(mut measure: impl FnMut() -> Result<Measured, Error>) -> Result<Measured, Error> {
    let mut measured = measure()?;
    for _ in 1..TRIES {
        if measured.is_moving() {
            break;
        }
        measured = measure()?;
    }
    Ok(measured)
}

/// Bytes of a transaction's message.
const MESSAGE: usize = 64;

impl Case {
    /// The plan by which it is measured.
    pub(crate) fn plan(&self, timing: &Timing, instruments: bool) -> BenchPlan {
        let (workload, direction) = match self.work {
            Work::TcpSend => (Workload::Bulk, Direction::Send),
            Work::TcpReceive => (Workload::Bulk, Direction::Receive),
            Work::TcpRr => (Workload::Rr, Direction::Send),
            Work::UdpSend => (Workload::Udp, Direction::Send),
            Work::UdpReceive => (Workload::Udp, Direction::Receive),
            Work::UdpRr => (Workload::UdpRr, Direction::Send),
            Work::TcpCrr => (Workload::Crr, Direction::Send),
        };
        // A driver's connections stay.
        let peer = if self.work == Work::TcpCrr { Peer::Stack } else { Peer::Driver };
        BenchPlan {
            workload,
            direction,
            organizations: vec![self.organization.clone()],
            processors: self.processors,
            connections: self.connections,
            bytes: self.work.is_transactions().then_some(MESSAGE),
            peer,
            warm_up: timing.warm_up,
            seconds: timing.window,
            instruments,
            confine: true,
            ..BenchPlan::default()
        }
    }

    /// Measures it, with connections of its own; anew, with new ones, if it stood still
    /// in some windows: up to [`TRIES`] times in all. At the pace that is `wanted`, ns a piece, if
    /// the machine is at that in some windows.
    ///
    /// # Errors
    /// [`Error`].
    pub fn measure(
        &self,
        timing: &Timing,
        wanted: Option<f64>,
        instruments: bool,
    ) -> Result<Measured, Error> {
        self.measure_over(Family::V4, timing, wanted, instruments)
    }

    /// The same, over this family.
    ///
    /// # Errors
    /// [`Error`].
    pub fn measure_over(
        &self,
        family: Family,
        timing: &Timing,
        wanted: Option<f64>,
        instruments: bool,
    ) -> Result<Measured, Error> {
        let plan = BenchPlan { family, ..self.plan(timing, instruments) };
        moving(|| self.measure_once(&plan, timing, wanted))
    }

    fn measure_once(
        &self,
        plan: &BenchPlan,
        timing: &Timing,
        wanted: Option<f64>,
    ) -> Result<Measured, Error> {
        plan.check()?;
        let take = || windows::take(plan, &self.organization, timing, wanted);
        let (cacheline, measured) = CachelineLatency::around(self.processors, take);
        let (windows, sample) = measured?;
        let last = windows.last().map(|window| window.to);
        let payload = last.map_or(1.0, |last| last.payload(plan).max(1.0));
        let rates: Vec<Rate> = windows.iter().map(|window| window.rate(plan, payload)).collect();
        let (rates, piece_ns, steady) = windows::chosen(&rates, wanted);
        let first = windows.first().map(|window| window.from);
        let count = |look: windows::Look| look.operations(plan, payload);
        let operations = last.map_or(0.0, count) - first.map_or(0.0, count);
        let bytes = payload.round() as usize;
        Ok(Measured { rates, bytes, piece_ns, steady, cacheline, operations, sample })
    }
}

/// All organizations that can run on `processors`, in the catalog's order.
pub fn organizations(processors: usize) -> impl Iterator<Item = &'static str> {
    let fits = move |entry: &&organizations::Entry| processors == 1 || !entry.single;
    organizations::CATALOG.iter().filter(fits).map(|entry| entry.name)
}

#[cfg(test)]
mod tests;
