//! What established connections cost that have nothing to do, and whether all can have something
//! to do at once.

use crate::Error;
use crate::measure::sample::{check, failed};
use crate::measure::single::Pair;
use crate::measure::threads::Stacks;
use crate::measure::usage::resident;
use crate::setup::bench_plan::{BenchPlan, Workload};
use net::Counters;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How long the last timer of a connection takes to come, after which it rests.
const REST: Duration = Duration::from_millis(1500);
/// How long all connections may take for their messages.
const PATIENCE: Duration = Duration::from_secs(120);

/// What idle connections cost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Idle {
    /// The organization's name.
    pub organization: String,
    /// Processors of each stack; of `uniprocessor`, one for both.
    pub processors: usize,
    /// Connections.
    pub connections: usize,
    /// Seconds until all were established.
    pub opening_s: f64,
    /// Seconds in which each carried a message and its echo, all at once.
    pub burst_s: f64,
    /// Packets of the burst that did not come to the other end, or were dropped there.
    pub lost: u64,
    /// Bytes of memory for each, both ends together.
    pub both_ends: f64,
    /// Bytes of memory for each at one end: half of that, since both are alike.
    pub one_end: f64,
}

impl Idle {
    /// Bytes of memory of all of them at one end.
    pub fn one_end_of_all(&self) -> f64 {
        self.one_end * self.connections as f64
    }
}

/// Two hosts, in one thread or with threads of their own.
enum Hosts {
    Single(Box<Pair>),
    Threads(Stacks),
}

impl Hosts {
    fn start(plan: &BenchPlan, organization: &str) -> Result<Hosts, Error> {
        Ok(match plan.is_single(organization) {
            true => Hosts::Single(Box::new(Pair::new(plan)?)),
            false => Hosts::Threads(Stacks::start(plan, organization)?),
        })
    }

    fn open(&mut self, plan: &BenchPlan, organization: &str) -> Result<(), Error> {
        match self {
            Hosts::Single(pair) => pair.open_held(plan),
            Hosts::Threads(stacks) => stacks.open_held(plan, organization),
        }
    }

    /// Lets each connection carry its message. Returns whether all did.
    fn burst(&mut self, messages: u64) -> bool {
        match self {
            Hosts::Single(pair) => {
                pair.release();
                pair.run_until(PATIENCE, |meter| {
                    meter.has_failed() || meter.totals().transactions >= messages
                })
            }
            Hosts::Threads(stacks) => {
                stacks.release();
                let end = Instant::now() + PATIENCE;
                let meter = stacks.meter.clone();
                while meter.totals().transactions < messages && !meter.has_failed() {
                    if Instant::now() > end {
                        return false;
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
                true
            }
        }
    }

    fn rest(&mut self, time: Duration) {
        match self {
            Hosts::Single(pair) => pair.run(time),
            Hosts::Threads(stacks) => stacks.pass(time.as_secs_f64()),
        }
    }

    fn check(&self, plan: &BenchPlan, organization: &str) -> Result<(), Error> {
        match self {
            Hosts::Single(pair) => check(&pair.meter, plan, organization),
            Hosts::Threads(stacks) => check(&stacks.meter, plan, organization),
        }
    }

    /// Packets on their way that have not come, or have been dropped.
    fn lost(&self) -> u64 {
        let [a, b] = match self {
            Hosts::Single(pair) => pair.counters(),
            Hosts::Threads(stacks) => stacks.counters(),
        };
        let way = |from: &Counters, to: &Counters| from.packets_out.abs_diff(to.packets_in);
        let dropped = |c: &Counters| c.out_dropped + c.dropped_in_all();
        way(&a, &b) + way(&b, &a) + dropped(&a) + dropped(&b)
    }
}

/// Opens `connections` in memory under `uniprocessor` ([`measure_under`]).
///
/// # Errors
/// [`Error`].
pub fn measure(connections: usize) -> Result<Idle, Error> {
    measure_under("uniprocessor", 1, connections, &organizations::Options::default())
}

/// Opens `connections` in memory, lets each carry a message there and back, all at once, lets
/// them rest, and measures by how much the process has grown. What a process has had before, it
/// keeps: it can measure this only once.
///
/// # Errors
/// [`Error`].
pub fn measure_under(
    organization: &str,
    processors: usize,
    connections: usize,
    options: &organizations::Options,
) -> Result<Idle, Error> {
    let few = BenchPlan {
        workload: Workload::Rr,
        organizations: vec![organization.to_owned()],
        processors,
        options: options.clone(),
        resting: true,
        ..BenchPlan::default()
    };
    let plan = BenchPlan { connections, ..few.clone() };
    plan.check()?;
    // What does not grow with connections is there before.
    let mut hosts = Hosts::start(&few, organization)?;
    hosts.open(&few, organization)?;
    hosts.burst(1);
    drop(hosts);
    let before = resident();
    let mut hosts = Hosts::start(&plan, organization)?;
    let start = Instant::now();
    hosts.open(&plan, organization)?;
    let opening_s = start.elapsed().as_secs_f64();
    hosts.rest(REST);
    let lost_before = hosts.lost();
    let start = Instant::now();
    if !hosts.burst(connections as u64) {
        return Err(failed(&plan, organization, "not all connections had their message in time"));
    }
    let burst_s = start.elapsed().as_secs_f64();
    hosts.rest(REST);
    hosts.check(&plan, organization)?;
    let grown = resident().saturating_sub(before) as f64 / connections as f64;
    Ok(Idle {
        organization: organization.to_owned(),
        processors,
        connections,
        opening_s,
        burst_s,
        lost: hosts.lost() - lost_before,
        both_ends: grown,
        one_end: grown / 2.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_have_a_message_at_once_and_none_is_lost() {
        for (organization, processors) in [("uniprocessor", 1), ("group-locks", 2)] {
            let options = organizations::Options::default();
            let idle = measure_under(organization, processors, 3000, &options).expect("figures");
            assert_eq!((idle.connections, idle.lost), (3000, 0), "{organization}");
            assert!(idle.opening_s > 0.0 && idle.burst_s > 0.0, "{idle:?}");
        }
    }
}
