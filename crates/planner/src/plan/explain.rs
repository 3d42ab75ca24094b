//! A plan in words, and as a figure.

use super::words::{latency, rate, time};
use super::{Considered, Judged, Plan, Target};
use crate::Error;
use crate::figure::{Figure, Series};
use crate::predict::SURE;
use crate::simulator::outcome::Latency;

/// What it carries, from the lower to the upper end.
fn interval(one: &Judged) -> String {
    format!("{:.0} %: {} to {}", 100.0 * SURE, rate(one.low_per_s), rate(one.high_per_s))
}

fn judged(one: &Judged, asked: Option<f64>) -> String {
    let carries = rate(one.carries_per_s);
    let interval = interval(one);
    if !one.carried {
        return format!("carries {carries} ({interval}), which is not enough");
    }
    let misses = if one.meets { "" } else { ", which misses the targets" };
    let when = if asked.is_some() { "at the rate asked for" } else { "with all connections busy" };
    format!(
        "carries {carries} ({interval}); {when} {}{misses}, processors {:.0} % busy",
        latency(&one.latency),
        100.0 * one.utilization
    )
}

/// What the figures of a plan are of. Calibrations know no other set-up.
pub const SCOPE: &str = "the stack in memory, before a simulated peer, without an application, a \
                         device or the kernel. To put their times in, write them into a queueing \
                         network: `anabranch help model`";

/// The plan in words, a line each.
pub fn lines(plan: &Plan) -> Vec<String> {
    let best = &plan.best;
    let mut lines = vec![
        format!("take:        {}", best.configuration),
        format!("prediction:  {}", judged(best, plan.rate_per_s)),
    ];
    if plan.rate_per_s.is_some() {
        let within = if plan.targets.is_empty() { "" } else { " within the targets" };
        lines.push(format!(
            "headroom:    {:.0} % of what it carries; up to {}{within}",
            100.0 * best.headroom,
            rate(plan.carries_per_s)
        ));
    }
    lines.push(format!("saturates:   {} first, at {}", best.saturates, rate(best.carries_per_s)));
    if plan.rate_per_s.is_some() {
        lines.push(format!(
            "sure to:     {} that it carries the load so, if predictions are off as their {:.0} % intervals say",
            percent(plan.sureness),
            100.0 * SURE
        ));
    }
    lines.push(match &plan.runner_up {
        Some(second) => {
            format!("runner-up:   {}: {}", second.configuration, judged(second, plan.rate_per_s))
        }
        None => "runner-up:   none".into(),
    });
    if let Some(more) = &plan.one_more {
        let times = more.carries_per_s / best.carries_per_s;
        lines.push(format!(
            "one more:    {}: {} ({times:.2} times)",
            more.configuration,
            judged(more, plan.rate_per_s)
        ));
    }
    lines.push(format!("figures of:  {SCOPE}"));
    lines.extend(plan.notes.iter().map(|note| format!("note:        {note}")));
    lines
}

fn percent(share: f64) -> String {
    match 100.0 * share {
        p if p > 99.0 => "more than 99 %".into(),
        p if p < 1.0 => "less than 1 %".into(),
        p => format!("{p:.0} %"),
    }
}

impl Plan {
    /// A line for each configuration that was considered: its bounds, its simulation, and
    /// the result.
    pub fn explanation(&self) -> Vec<String> {
        self.considered.iter().map(Considered::line).collect()
    }
}

impl Considered {
    fn line(&self) -> String {
        let mut line = format!("{}:", self.configuration);
        if let Some(bound) = &self.bound {
            line += &format!(
                " bound {} ({} to {})",
                rate(bound.carries_per_s),
                rate(bound.low_per_s),
                rate(bound.high_per_s)
            );
            if let Some(residence_ns) = bound.residence_ns {
                line += &format!(", mean by the open model {}", time(residence_ns));
            }
            line += ";";
        }
        if let Some(judged) = &self.judged {
            line += &format!(
                " simulated {}, {:.0} % busy",
                latency(&judged.latency),
                100.0 * judged.utilization
            );
            let [lock, hand_off, cache, scheduling] = judged.lost_ns;
            line += &format!(
                ", an operation loses {lock:.0} ns to locks, {hand_off:.0} to hand-offs, {cache:.0} to caches, {scheduling:.0} to scheduling;"
            );
        }
        line + " " + &self.verdict
    }
}

/// Latency against rate of the best and of the runner-up, as SVG, with the rate that was
/// asked for, the lower end of what the best carries, and the targets; `note` says where the figures are from.
///
/// # Errors
/// If there is nothing to draw: the load has no rate.
pub fn figure(plan: &Plan, note: &str) -> Result<String, Error> {
    let mut series = Vec::new();
    for (number, curve) in plan.curves.iter().enumerate() {
        let name =
            format!("{}, {}", curve.configuration.organization, curve.configuration.processors);
        let of = |measure: super::Measure| {
            let point = |(rate, latency): &(f64, Latency)| (rate / 1e3, measure.of(latency) / 1e3);
            let points = curve.points.iter().map(point).collect();
            Series::new(format!("{name}: {}", measure.name()), points)
        };
        let (p50, p99) = (of(super::Measure::P50), of(super::Measure::P99));
        series.extend([p50.styled(number, 1), p99.styled(number, 0)]);
    }
    if series.is_empty() {
        return Err(Error::Asked(
            "a load without a rate has no figure of latency against rate: give it one, like 400k/s"
                .into(),
        ));
    }
    let mut figure =
        Figure::new(&plan.load, "operations, thousands a second", "latency, µs").log_y().note(note);
    if let Some(asked) = plan.rate_per_s {
        figure = figure.at_x(asked / 1e3, format!("asked for: {}", rate(asked)));
        let low = plan.best.low_per_s;
        let share = 100.0 * (1.0 + SURE) / 2.0;
        figure = figure.at_x(low / 1e3, format!("{share:.0} % sure to carry {}", rate(low)));
    }
    for target in plan.targets.iter().filter_map(|words| words.parse::<Target>().ok()) {
        figure = figure.at_y(target.at_most_ns / 1e3, target.to_string());
    }
    figure.draw(&series)
}
