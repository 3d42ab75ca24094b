//! A sample against a simulated peer in windows, each with the machine's [`Pace`] before and after
//! it: what another guest of the host takes of a core comes and goes between them.

use crate::Error;
use crate::load::Totals;
use crate::measure::sample::{Mark, Sample};
use crate::measure::speed::{self, Pace};
use crate::measure::threads::{self, Stacks};
use crate::setup::bench_plan::{BenchPlan, Workload};
use crate::statistics::median;
use planner::predict::POWER;
use std::time::Instant;

/// How long a case is measured.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// From the last connection's establishment to the first window, seconds.
    pub warm_up: f64,
    /// One window, seconds.
    pub window: f64,
    /// Windows in a row.
    pub windows: usize,
    /// For the machine's pace, before the first window and after each, seconds.
    pub speed: f64,
}

/// What was counted at a moment.
#[derive(Clone, Copy)]
pub(crate) struct Look {
    at: Instant,
    totals: Totals,
    driver: traffic::Totals,
}

impl Look {
    fn now(stacks: &Stacks) -> Look {
        let driver = stacks.driver.as_ref().map(|driver| driver.totals()).unwrap_or_default();
        Look { at: Instant::now(), totals: stacks.meter.totals(), driver }
    }

    /// Bytes of payload of an operation, on average since the start.
    pub(crate) fn payload(&self, plan: &BenchPlan) -> f64 {
        let driver = &self.driver;
        let (bytes, packets) = match (plan.workload, plan.driver_begins()) {
            (Workload::Bulk, true) => (driver.bytes_sent, driver.packets_sent),
            (Workload::Bulk, false) => (driver.bytes_received, driver.packets_received),
            _ => return plan.bytes() as f64,
        };
        bytes as f64 / packets.max(1) as f64
    }

    /// Transactions, or packets of data whose bytes the receiver's application
    /// has, so far.
    pub(crate) fn operations(&self, plan: &BenchPlan, payload: f64) -> f64 {
        if plan.workload.is_transactions() {
            return self.totals.transactions as f64;
        }
        self.totals.received as f64 / payload
    }
}

/// A window.
pub(crate) struct Window {
    pub(crate) from: Look,
    pub(crate) to: Look,
    before: Pace,
    after: Pace,
}

/// What a window says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate {
    /// Operations a second.
    pub(crate) per_s: f64,
    /// What a piece took meanwhile, about, ns.
    pub(crate) piece_ns: f64,
    /// Did it take that before and after, on all processors?
    pub(crate) steady: bool,
}

impl Window {
    /// What it says, with so many bytes of payload an operation.
    pub(crate) fn rate(&self, plan: &BenchPlan, payload: f64) -> Rate {
        let operations = self.to.operations(plan, payload) - self.from.operations(plan, payload);
        let steady = Pace::steady(self.before, self.after);
        Rate {
            per_s: operations / self.to.at.duration_since(self.from.at).as_secs_f64(),
            piece_ns: steady.unwrap_or(f64::midpoint(self.before.piece_ns, self.after.piece_ns)),
            steady: steady.is_some(),
        }
    }

    /// Was the machine at this pace?
    fn is_at(&self, piece_ns: f64) -> bool {
        Pace::steady(self.before, self.after).is_some_and(|pace| speed::is_alike(pace, piece_ns))
    }
}

/// How many windows are taken, for each that is asked for, to get windows at the pace that is wanted.
pub(crate) const MOST: usize = 2;

/// One sample against a driver in the windows of `timing`; in more, if not as many are at the
/// pace that is `wanted`, ns a piece.
pub(crate) fn take(
    plan: &BenchPlan,
    organization: &str,
    timing: &Timing,
    wanted: Option<f64>,
) -> Result<(Vec<Window>, Sample), Error> {
    let stacks = threads::begin(plan, organization)?;
    let mark = Mark::now(&stacks.meter, stacks.instruments.as_ref());
    let mut spent = 0.0;
    let mut pace = || {
        let pace = Pace::now(plan.processors, timing.speed);
        spent += pace.spent_s;
        pace
    };
    let mut before = pace();
    let mut windows: Vec<Window> = Vec::new();
    let enough = |windows: &[Window]| match wanted {
        Some(wanted) if windows.len() < MOST * timing.windows => {
            windows.iter().filter(|window| window.is_at(wanted)).count() >= timing.windows
        }
        _ => windows.len() >= timing.windows,
    };
    while !enough(&windows) || mark.is_empty(&stacks.meter, plan) {
        let from = Look::now(&stacks);
        stacks.pass(timing.window);
        let to = Look::now(&stacks);
        let after = pace();
        windows.push(Window { from, to, before, after });
        before = after;
    }
    let mut sample = mark.sample(&stacks.meter, plan, organization)?;
    sample.processor = (sample.processor - spent).max(0.0);
    Ok((windows, sample))
}

/// So many windows of one pace are a figure.
const LEAST: usize = 2;

/// The rates that count of a sample: those at the pace that is `wanted`, or else at that of most
/// windows; all of them where fewer than [`LEAST`] windows had one pace. Brought to the median of what a
/// piece took in them, which is the second, ns; the third says if they are of one pace.
pub(crate) fn chosen(rates: &[Rate], wanted: Option<f64>) -> (Vec<f64>, f64, bool) {
    let steady = || rates.iter().filter(|rate| rate.steady);
    let at = |pace: f64| -> Vec<Rate> {
        steady().filter(|rate| speed::is_alike(rate.piece_ns, pace)).copied().collect()
    };
    let had = |rates: Vec<Rate>| (rates.len() >= LEAST).then_some(rates);
    let usual = || speed::usual(&steady().map(|rate| rate.piece_ns).collect::<Vec<f64>>());
    let counted = wanted.and_then(|wanted| had(at(wanted)));
    let counted = counted.or_else(|| usual().and_then(|usual| had(at(usual))));
    let is_of_one = counted.is_some();
    let counted = counted.unwrap_or_else(|| rates.to_vec());
    let piece_ns = median(&counted.iter().map(|rate| rate.piece_ns).collect::<Vec<f64>>());
    let brought = counted.iter().map(|rate| rate.per_s * (rate.piece_ns / piece_ns).powf(POWER));
    (brought.collect(), piece_ns, is_of_one)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(per_s: f64, piece_ns: f64, steady: bool) -> Rate {
        Rate { per_s, piece_ns, steady }
    }

    #[test]
    fn windows_of_one_pace_count() {
        let mixed = [
            rate(9.0, 50.0, true),
            rate(6.0, 75.0, true),
            rate(8.0, 60.0, false),
            rate(6.0, 75.0, true),
            rate(9.0, 50.0, true),
            rate(5.0, 80.0, true),
        ];
        // Most had a neighbour.
        let (rates, piece_ns, of_one) = chosen(&mixed, None);
        assert_eq!((rates.len(), piece_ns, of_one), (3, 75.0, true));
        assert!((rates[2] - 5.0 * (80.0_f64 / 75.0).powf(POWER)).abs() < 1e-9 && rates[0] == 6.0);
        // But the calibration is of a machine without.
        assert_eq!(chosen(&mixed, Some(48.0)), (vec![9.0, 9.0], 50.0, true));
        // A pace that was not met is no reason to have no figure.
        assert_eq!(chosen(&mixed, Some(20.0)).1, 75.0);
    }

    #[test]
    fn windows_without_a_pace_are_all_that_there_is() {
        let unsteady = [rate(6.0, 60.0, false), rate(8.0, 60.0, false), rate(9.0, 45.0, true)];
        let (rates, piece_ns, of_one) = chosen(&unsteady, None);
        assert_eq!((rates.len(), piece_ns, of_one), (3, 60.0, false));
        assert!((rates[2] - 9.0 * (45.0_f64 / 60.0).powf(POWER)).abs() < 1e-9);
    }
}
