//! [`Case`]: an organization under a load against a simulated peer, as
//! calibrations and validations measure it, in planner's terms.

use crate::apart::Apart;
use crate::plan::{Direction, Peer, Plan, Workload};
use crate::run::Sample;
use crate::{Error, speed, threads};
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

/// How long a case is measured.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// From the last connection's establishment to the first window, seconds.
    pub warm_up: f64,
    /// One window, seconds.
    pub window: f64,
    /// Windows in a row.
    pub windows: usize,
    /// For the machine's speed, just before, seconds.
    pub speed: f64,
}

/// What was measured of a case.
#[derive(Clone, Debug)]
pub struct Measured {
    /// Operations a second, window by window.
    pub rates: Vec<f64>,
    /// Bytes of a message, of a datagram's payload, or of a segment's on average.
    pub bytes: usize,
    /// What a fixed piece of work took just before, ns ([`speed::piece_ns_on`]).
    pub piece_ns: f64,
    /// How far the processors were apart, if there were several.
    pub apart: Option<Apart>,
    /// Operations in all windows.
    pub operations: f64,
    pub(crate) sample: Sample,
}

impl Measured {
    /// Operations a second over all windows: where threads are many, or the machine
    /// is busy with something else, a short window has none or very many.
    pub(crate) fn rate(&self) -> f64 {
        self.rates.iter().sum::<f64>() / self.rates.len().max(1) as f64
    }
}

/// Bytes of a transaction's message.
const MESSAGE: usize = 64;

impl Case {
    /// The plan by which it is measured.
    pub(crate) fn plan(&self, timing: &Timing, instruments: bool) -> Plan {
        let (workload, direction) = match self.work {
            Work::TcpSend => (Workload::Bulk, Direction::Send),
            Work::TcpReceive => (Workload::Bulk, Direction::Receive),
            Work::TcpRr => (Workload::Rr, Direction::Send),
            Work::UdpSend => (Workload::Udp, Direction::Send),
            Work::UdpReceive => (Workload::Udp, Direction::Receive),
            Work::UdpRr => (Workload::UdpRr, Direction::Send),
        };
        Plan {
            workload,
            direction,
            organizations: vec![self.organization.clone()],
            processors: self.processors,
            connections: self.connections,
            bytes: self.work.is_transactions().then_some(MESSAGE),
            peer: Peer::Driver,
            warm_up: timing.warm_up,
            seconds: timing.window,
            instruments,
            confine: true,
            ..Plan::default()
        }
    }

    /// Measures it once, with connections of its own.
    ///
    /// # Errors
    /// [`Error`].
    pub fn measure(&self, timing: &Timing, instruments: bool) -> Result<Measured, Error> {
        let plan = self.plan(timing, instruments);
        plan.check()?;
        let piece_ns = speed::piece_ns_on(self.processors, timing.speed);
        let windows = || threads::windows(&plan, &self.organization, timing.windows);
        let (apart, measured) = Apart::around(self.processors, windows);
        let (looks, sample) = measured?;
        let payload = looks.last().map_or(1.0, |last| last.payload(&plan).max(1.0));
        let counts: Vec<f64> = looks.iter().map(|look| look.operations(&plan, payload)).collect();
        let rate = |n: usize| {
            let seconds = looks[n + 1].at.duration_since(looks[n].at).as_secs_f64();
            (counts[n + 1] - counts[n]) / seconds
        };
        let operations = match &counts[..] {
            [first, .., last] => last - first,
            _ => 0.0,
        };
        Ok(Measured {
            rates: (0..counts.len().saturating_sub(1)).map(rate).collect(),
            bytes: payload.round() as usize,
            piece_ns,
            apart,
            operations,
            sample,
        })
    }
}

/// All organizations that can run on so many processors, in the catalog's order.
pub fn organizations(processors: usize) -> impl Iterator<Item = &'static str> {
    let fits = move |entry: &&organizations::Entry| processors == 1 || !entry.single;
    organizations::CATALOG.iter().filter(fits).map(|entry| entry.name)
}

/// Numbers that follow from a seed (Steele, Lea and Flood 2014, SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    /// The next number.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// From 0 to below 1, evenly.
    pub(crate) fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Puts things into any order (Fisher and Yates).
    pub(crate) fn shuffle<T>(&mut self, things: &mut [T]) {
        for n in (1..things.len()).rev() {
            let other = (self.uniform() * (n + 1) as f64) as usize;
            things.swap(n, other.min(n));
        }
    }
}

#[cfg(test)]
mod tests;
