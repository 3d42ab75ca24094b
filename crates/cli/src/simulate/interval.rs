//! [`Interval`]: how far off a simulated row may be.

use crate::failure::Failure;
use planner::predict::SURE;
use planner::simulator::{Arrivals, Outcome, Scenario, sweep};
use serde::Serialize;

/// Ends of intervals, the lower one first.
type Ends = [f64; 2];

/// How far off a simulated row may be, if its costs are off as far as predictions of this
/// machine are.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The share of cases that are inside.
    pub confidence: f64,
    /// Operations a second.
    pub operations_per_s: Ends,
    /// The median of the latency, ns.
    pub p50_ns: Ends,
    /// The 99th percentile, ns.
    pub p99_ns: Ends,
}

impl Interval {
    /// A factor on all costs is one on all times of a closed load.
    fn scaled(outcome: &Outcome, doubt: f64) -> Interval {
        let factor = doubt.exp();
        let ends = |value: f64| [value / factor, value * factor];
        Interval {
            confidence: SURE,
            operations_per_s: ends(outcome.operations_per_s),
            p50_ns: ends(outcome.latency.p50_ns),
            p99_ns: ends(outcome.latency.p99_ns),
        }
    }

    /// Round a row, and the same with lower and with higher costs.
    fn round(all: [&Outcome; 3]) -> Interval {
        let ends = |of: fn(&Outcome) -> f64| {
            let values = all.map(of);
            [
                values.into_iter().fold(f64::INFINITY, f64::min),
                values.into_iter().fold(0.0, f64::max),
            ]
        };
        Interval {
            confidence: SURE,
            operations_per_s: ends(|outcome| outcome.operations_per_s),
            p50_ns: ends(|outcome| outcome.latency.p50_ns),
            p99_ns: ends(|outcome| outcome.latency.p99_ns),
        }
    }
}

/// The intervals of all rows, whose times may be off by `doubts`. Where time is more than
/// costs (arrivals from outside, pauses, what is sent again), rows are simulated anew with
/// costs as low and as high as that.
///
/// # Errors
/// If one cannot be simulated.
pub fn of(
    scenarios: &[Scenario],
    outcomes: &[Outcome],
    doubts: &[f64],
    done: impl Fn(usize, usize) + Sync,
) -> Result<Vec<Interval>, Failure> {
    let is_scaled = |scenario: &Scenario, outcome: &Outcome| {
        let closed = matches!(scenario.arrivals, Arrivals::Closed { think_ns: 0.0, .. });
        closed && outcome.dropped_in_all == 0
    };
    let rows = || scenarios.iter().zip(outcomes).zip(doubts);
    let anew: Vec<Scenario> = rows()
        .filter(|((scenario, outcome), _)| !is_scaled(scenario, outcome))
        .flat_map(|((scenario, _), doubt)| [-doubt, *doubt].map(|ln| scenario.slower(ln.exp())))
        .collect();
    let ends: Result<Vec<Outcome>, planner::Error> =
        sweep(&anew, |count| done(count, anew.len())).into_iter().collect();
    let ends = ends.map_err(Failure::failed)?;
    let mut ends = ends.chunks_exact(2);
    let interval = |((scenario, outcome), doubt): ((&Scenario, &Outcome), &f64)| {
        if is_scaled(scenario, outcome) {
            return Interval::scaled(outcome, *doubt);
        }
        match ends.next() {
            Some([low, high]) => Interval::round([outcome, low, high]),
            _ => Interval::round([outcome; 3]),
        }
    };
    Ok(rows().map(interval).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use planner::Work;
    use planner::simulator::{Costs, MACHINES};

    fn scenario(arrivals: Arrivals) -> Scenario {
        let costs: Costs = MACHINES[0].costs().expect("good");
        let mut scenario = Scenario::new("group-locks", 4, 64, Work::TcpRr, costs);
        (scenario.arrivals, scenario.operations) = (arrivals, 20_000);
        scenario
    }

    fn intervals(scenarios: &[Scenario], doubt: f64) -> (Vec<Outcome>, Vec<Interval>) {
        let outcomes: Vec<Outcome> =
            sweep(scenarios, |_| ()).into_iter().map(|outcome| outcome.expect("runs")).collect();
        let doubts = vec![doubt; scenarios.len()];
        let intervals = of(scenarios, &outcomes, &doubts, |_, _| ()).expect("run");
        (outcomes, intervals)
    }

    #[test]
    fn a_closed_load_needs_no_further_runs() {
        let scenario = scenario(Arrivals::Closed { window: 1, think_ns: 0.0 });
        let ends = [0.8_f64.recip(), 0.8].map(|factor| scenario.slower(factor));
        let (_, intervals) = intervals(&[scenario], 0.8_f64.recip().ln());
        let ran = sweep(&ends, |_| ());
        let ran = ran.into_iter().map(|outcome| outcome.expect("runs").operations_per_s);
        for (simulated, scaled) in ran.zip(intervals[0].operations_per_s) {
            assert!((simulated / scaled - 1.0).abs() < 0.02, "{simulated} {scaled}");
        }
    }

    #[test]
    fn beyond_what_it_carries_latency_grows_by_more_than_costs() {
        let closed = scenario(Arrivals::Closed { window: 1, think_ns: 0.0 });
        let (outcomes, _) = intervals(std::slice::from_ref(&closed), 0.1);
        // With costs a quarter higher, this is more than it carries.
        let rate_per_s = 0.9 * outcomes[0].operations_per_s;
        let (outcomes, intervals) =
            intervals(&[scenario(Arrivals::Poisson { rate_per_s })], 1.25_f64.ln());
        let ([low, high], p99_ns) = (intervals[0].p99_ns, outcomes[0].latency.p99_ns);
        assert!(low < p99_ns / 1.2 && high > 2.0 * p99_ns, "{low} {p99_ns} {high}");
        let [low, high] = intervals[0].operations_per_s;
        assert!(low < 0.95 * rate_per_s && high <= 1.05 * rate_per_s, "{low} {high}");
    }
}
