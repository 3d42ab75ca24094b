//! A load of so much work, in virtual time: it takes the same instructions each time, so
//! that a count of them tells what a change costs, whatever else the machine does.

use super::sample::PATIENCE;
use super::single::Pair;
use crate::load::Meter;
use crate::{BenchPlan, Error};
use organizations::Clock;
use platform::VirtualTime;

/// Opens the connections of `plan` and lets them do `least` of work, both ends polled
/// by this thread. Work is transactions, or bytes received. Returns how much was done:
/// a little more.
///
/// # Errors
/// If the plan makes no sense, connections fail, or the work is not done in a minute.
pub fn counted(plan: &BenchPlan, least: u64) -> Result<u64, Error> {
    plan.check()?;
    let mut pair = Pair::with_clock(plan, Clock::moved_by(VirtualTime::start()))?;
    pair.open(plan)?;
    let count = |meter: &Meter| {
        let totals = meter.totals();
        if plan.workload.is_transactions() { totals.transactions } else { totals.received }
    };
    let before = count(&pair.meter);
    let end = before + least;
    let done = pair.run_until(6 * PATIENCE, |meter| meter.has_failed() || count(meter) >= end);
    super::sample::check(&pair.meter, plan, "uniprocessor")?;
    if !done {
        return Err(super::sample::failed(plan, "uniprocessor", "the work was not done in time"));
    }
    Ok(count(&pair.meter) - before)
}
