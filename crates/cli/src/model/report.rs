//! Solutions as tables, for people.

use super::Solved;
use crate::table::{render_left, short, thousands};
use planner::bounds::{Bounds, ClosedBounds, OpenBounds};
use planner::network::Kind;
use planner::solution::{Method, StationFigures};
use planner::{Network, Solution};

/// Classes whose residence each table has room for.
const COLUMNS: usize = 6;

/// Figures with three digits that count, or whole.
pub fn number(value: f64) -> String {
    match value {
        v if v >= 1e15 => format!("{v:.3e}"),
        v if v >= 1000.0 => thousands(v),
        v if v > 0.0 && v < 0.1 => format!("{v:.2e}"),
        v => short(v),
    }
}

/// A network, solved.
pub fn one(network: &Network, solved: &Solved) -> String {
    let solution = &solved.solution;
    let mut text = format!("{}\n{}\n", title(network, solution), classes(solution));
    text += &stations(network, solution);
    text += &match &solved.bounds {
        Bounds::Open(open) => open_bounds(open, network),
        Bounds::Closed(classes) => classes.iter().map(closed_bounds).collect(),
    };
    for approximation in &solution.approximations {
        text += &format!("\napproximate: {approximation}");
    }
    text
}

fn title(network: &Network, solution: &Solution) -> String {
    let name = match network.name() {
        "" => "network",
        name => name,
    };
    let method = match solution.method {
        Method::Open => "open, first come, first served (equation 5)",
        Method::ExactMva => "closed, mean value analysis over all populations",
        Method::Schweitzer => "closed, approximate mean value analysis (Schweitzer)",
    };
    let (rate, customers) = (number(solution.throughput_per_s), number(solution.number));
    format!("{name}: {method}; {rate} customers/s, {customers} in the network")
}

fn classes(solution: &Solution) -> String {
    let header = ["class", "per s", "demand µs", "residence µs", "number"].map(str::to_owned);
    let row = |class: &planner::solution::ClassFigures| {
        let figures = [class.throughput_per_s, class.demand_us, class.residence_us, class.number];
        let mut row = vec![class.name.clone()];
        row.extend(figures.map(number));
        row
    };
    render_left(1, &header, &solution.classes.iter().map(row).collect::<Vec<_>>())
}

fn stations(network: &Network, solution: &Solution) -> String {
    let mut header = ["station", "kind", "busy", "waits µs", "number"].map(str::to_owned).to_vec();
    let shown = network.classes().len().min(COLUMNS);
    header.extend(network.classes()[..shown].iter().map(|class| format!("{} µs", class.name)));
    let row = |station: &StationFigures| {
        let busy = match station.kind {
            Kind::Delay => "-".to_owned(),
            _ => format!("{:.1} %", 100.0 * station.utilization),
        };
        let mut row = vec![station.name.clone(), kind(&station.kind), busy];
        row.extend([station.waiting_us, station.number].map(number));
        row.extend(station.classes[..shown].iter().map(|at| number(at.residence_us)));
        row
    };
    render_left(2, &header, &solution.stations.iter().map(row).collect::<Vec<_>>())
}

fn kind(kind: &Kind) -> String {
    match kind {
        Kind::MultiServer { servers } => format!("{servers} servers"),
        Kind::Split { shares } => format!("{} queues", shares.len()),
        other => other.name().to_owned(),
    }
}

fn open_bounds(open: &OpenBounds, network: &Network) -> String {
    match (&open.station, open.saturates_at_per_s) {
        (Some(station), Some(limit)) => format!(
            "\n`{station}` saturates first, at {} customers/s in this mix; now {:.1} % of that",
            number(limit),
            100.0 * network.rate_per_s() / limit
        ),
        _ => "\nnobody waits anywhere: no rate is too high".to_owned(),
    }
}

fn closed_bounds(of: &ClosedBounds) -> String {
    let mut text = format!("\n{}: at most {}/s", of.class, number(of.at_most_per_s));
    if let Some(least) = of.at_least_per_s {
        text += &format!(", at least {}/s", number(least));
    }
    if let Some((lower, upper)) = of.balanced_per_s {
        text += &format!("; balanced job bounds {} to {}/s", number(lower), number(upper));
    }
    if let (Some(station), Some(knee)) = (&of.station, of.knee_customers) {
        text += &format!("; `{station}` limits it, some wait from {} customers on", number(knee));
    }
    text
}

/// A network at several rates or populations.
pub fn sweep(network: &Network, solved: &[Solved]) -> String {
    let open = network.is_open();
    let first = if open { "per s" } else { "customers" };
    let mut header = vec![first.to_owned()];
    if !open {
        header.push("per s".to_owned());
    }
    header.extend(["busiest", "busy"].map(str::to_owned));
    let shown = network.classes().len().min(COLUMNS);
    header.extend(network.classes()[..shown].iter().map(|class| format!("{} µs", class.name)));
    let rows = solved.iter().map(|one| {
        let solution = &one.solution;
        let mut row = match one.rate_per_s {
            Some(rate) => vec![number(rate)],
            None => {
                let customers: f64 = one.populations.iter().map(|n| f64::from(*n)).sum();
                vec![thousands(customers), number(solution.throughput_per_s)]
            }
        };
        let queues = solution.stations.iter().filter(|station| station.kind != Kind::Delay);
        row.extend(match queues.max_by(|a, b| a.utilization.total_cmp(&b.utilization)) {
            Some(station) => {
                [station.name.clone(), format!("{:.1} %", 100.0 * station.utilization)]
            }
            None => ["-", "-"].map(str::to_owned),
        });
        row.extend(solution.classes[..shown].iter().map(|class| number(class.residence_us)));
        row
    });
    let Some(last) = solved.last() else { return String::new() };
    let mut text = format!("{}\n", network.name()).trim_start().to_owned();
    text += &render_left(0, &header, &rows.collect::<Vec<_>>());
    text += "residence: of each class, waiting and being served";
    for approximation in &last.solution.approximations {
        text += &format!("\napproximate: {approximation}");
    }
    text
}
