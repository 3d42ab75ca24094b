//! Bounds that no load can exceed. They follow from demands alone (Lazowska,
//! Zahorjan, Graham and Sevcik 1984, *Quantitative System Performance*, chapter 5;
//! Thekkath et al. 1992, 4.1).

use crate::Error;
use crate::network::{Center, Load, Network, Service};
use serde::Serialize;

/// The bounds of a network.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bounds {
    /// The network is open.
    Open(OpenBounds),
    /// The network is closed; a bound for each class.
    Closed(Vec<ClosedBounds>),
}

/// The bounds of an open network, in the mix of its classes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OpenBounds {
    /// The station that saturates first; none if no station has a queue.
    pub station: Option<String>,
    /// The total rate at which it saturates, customers a second; none if no station
    /// has a queue.
    pub saturates_at_per_s: Option<f64>,
    /// Residence at light load, by class: the sum of the demands, µs.
    pub light_load_us: Vec<f64>,
}

/// The bounds of a class of a closed network.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClosedBounds {
    /// The class.
    pub class: String,
    /// The station with the greatest demand of a server; none if no station has a queue.
    pub station: Option<String>,
    /// Throughput is at most this, customers a second: the throughput without
    /// waiting, and at most what that station can serve.
    pub at_most_per_s: f64,
    /// Throughput is at least this, customers a second: the throughput if each
    /// customer found all others, of all classes, before it in every queue. None
    /// where service at a queue differs by class.
    pub at_least_per_s: Option<f64>,
    /// Residence is at least this, µs.
    pub residence_at_least_us: f64,
    /// With more customers than this, some must wait: (D + Z) / D_max. None if no
    /// station has a queue.
    pub knee_customers: Option<f64>,
    /// Balanced job bounds of throughput, customers a second: lower and upper. Only
    /// for one class, and queues with one server.
    pub balanced_per_s: Option<(f64, f64)>,
}

/// The bounds of `network`.
pub fn bounds(network: &Network) -> Bounds {
    let centers = network.centers();
    let demand = |class: usize| centers.iter().map(|center| center.demand_us(class)).sum();
    if network.is_open() {
        let first = saturation(network);
        return Bounds::Open(OpenBounds {
            station: first.map(|(station, _)| network.stations()[station].name.clone()),
            saturates_at_per_s: first.map(|(_, limit_per_s)| limit_per_s),
            light_load_us: (0..network.classes().len()).map(demand).collect(),
        });
    }
    let classes = 0..network.classes().len();
    Bounds::Closed(classes.map(|class| closed(network, &centers, class)).collect())
}

/// The index of the station of an open network that saturates first, and the total
/// rate in the mix of its classes at which it does, customers a second. `None` if no
/// station has a queue with demand.
pub fn saturation(network: &Network) -> Option<(usize, f64)> {
    let share = |class: usize| match network.classes()[class].load {
        Load::Open { share } => share,
        Load::Closed { .. } => 0.0,
    };
    let mut first: Option<(usize, f64)> = None;
    for center in network.centers() {
        let Some(servers) = center.servers() else { continue };
        let demand_us: f64 =
            (0..network.classes().len()).map(|class| share(class) * center.demand_us(class)).sum();
        let limit_per_s = servers / (demand_us * 1e-6);
        if demand_us > 0.0 && first.is_none_or(|(_, least)| limit_per_s < least) {
            first = Some((center.station, limit_per_s));
        }
    }
    first
}

/// Utilization this near to 1 counts as saturated: rounding errors are of that size.
const ROUNDING: f64 = 1e-12;

/// Checks that every station of an open network can serve the network's rate.
///
/// # Errors
/// [`Error::Saturated`] names the station that saturates first.
pub(crate) fn check_saturation(network: &Network) -> Result<(), Error> {
    let asked_per_s = network.rate_per_s();
    match saturation(network) {
        Some((station, limit_per_s)) if asked_per_s >= limit_per_s * (1.0 - ROUNDING) => {
            let station = network.stations()[station].name.clone();
            Err(Error::Saturated { station, limit_per_s, asked_per_s })
        }
        _ => Ok(()),
    }
}

/// Asymptotic bounds (table 5.2 there) and balanced job bounds (table 5.4).
fn closed(network: &Network, centers: &[Center], class: usize) -> ClosedBounds {
    let populations = network.populations();
    let customers = f64::from(populations[class]);
    let everybody: f64 = populations.iter().map(|n| f64::from(*n)).sum();
    let demand_us: f64 = centers.iter().map(|center| center.demand_us(class)).sum();
    let think_us = network.thinks_us()[class];
    let mut most: Option<(usize, f64)> = None;
    let mut queueing_us = 0.0;
    for center in centers {
        let Some(servers) = center.servers() else { continue };
        queueing_us += center.demand_us(class);
        let by_server_us = center.demand_us(class) / servers;
        if by_server_us > 0.0 && most.is_none_or(|(_, greatest)| by_server_us > greatest) {
            most = Some((center.station, by_server_us));
        }
    }
    let delay_us = think_us + demand_us - queueing_us;
    let most_us = most.map(|(_, demand_us)| demand_us);
    let limit = most_us.map_or(f64::INFINITY, |most_us| 1e6 / most_us);
    let mut light = customers * 1e6 / (think_us + demand_us);
    light = light.min(limit);
    let alike = centers.iter().all(|c| c.servers().is_none() || c.serves_all_alike());
    let least = customers * 1e6 / (delay_us + queueing_us * everybody);
    let residence_us = most_us.map_or(0.0, |most_us| customers * most_us - think_us);
    ClosedBounds {
        class: network.classes()[class].name.clone(),
        station: most.map(|(station, _)| network.stations()[station].name.clone()),
        at_most_per_s: light,
        at_least_per_s: alike.then_some(least),
        residence_at_least_us: residence_us.max(demand_us),
        knee_customers: most_us.map(|most_us| (think_us + demand_us) / most_us),
        balanced_per_s: balanced(centers, populations.len(), customers, delay_us),
    }
}

/// Balanced job bounds of throughput, customers a second, of one class.
fn balanced(
    centers: &[Center],
    classes: usize,
    customers: f64,
    delay_us: f64,
) -> Option<(f64, f64)> {
    let one = Service::Queue { servers: 1 };
    let queues: Vec<f64> =
        centers.iter().filter(|c| c.service == one).map(|c| c.demand_us(0)).collect();
    let several = centers.iter().any(|c| c.servers().is_some_and(|servers| servers > 1.0));
    let total_us: f64 = queues.iter().sum();
    if classes != 1 || several || total_us == 0.0 {
        return None;
    }
    let most_us = queues.iter().copied().fold(0.0, f64::max);
    // A queue without demand does not count.
    let average_us = total_us / queues.iter().filter(|demand| **demand > 0.0).count() as f64;
    let others = customers - 1.0;
    let lower = delay_us + total_us + others * most_us / (1.0 + delay_us / (customers * total_us));
    let upper = delay_us + total_us + others * average_us / (1.0 + delay_us / total_us);
    Some((customers * 1e6 / lower, (customers * 1e6 / upper).min(1e6 / most_us)))
}

#[cfg(test)]
mod tests;
