//! Simulates a [`Network`], to check the analytic models, and to get figures that
//! they only approximate.
//!
//! ```
//! use anabranch_planner::simulator::network::{Asked, simulate};
//! let network = anabranch_planner::Network::from_toml(r#"
//!     rate_per_s = 50_000
//!     [[class]]
//!     name = "packet"
//!     share = 1
//!     [[station]]
//!     name = "stack"
//!     kind = "lock"
//!     service_us = 10
//! "#)?;
//! let simulated = simulate(&network, &Asked { customers: 2_000, ..Asked::default() })?;
//! assert!(simulated.stations[0].utilization.contains(0.5));
//! # Ok::<(), anabranch_planner::Error>(())
//! ```

use super::Random;
use super::statistics::{Interval, Tally};
use crate::network::Network;
use crate::{Error, bounds};
use rayon::prelude::*;
use serde::Serialize;

mod replication;

use replication::Replication;

/// The most events of a simulation: about an hour's work.
const MOST_EVENTS: f64 = 2e10;
/// The most customers that may be in a network at a time.
pub const MOST_CUSTOMERS: usize = 10_000_000;

/// How customers get from station to station. Both ways give each station its
/// visits, which need not be integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// In rounds, as packets do. Each round visits, in order, all stations that have
    /// visits left. A station with 2.4 visits gets one in the first round, one in the
    /// second, and one in the third with probability 0.4.
    #[default]
    InRounds,
    /// Without memory. With V visits in all, a customer that enters or ends a visit goes
    /// to station *k* with probability V_k / (1 + V), and leaves with 1 / (1 + V).
    AtRandom,
}

/// The distribution of service times at every station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Service {
    /// Exponential, as in the analytic models.
    #[default]
    Exponential,
    /// Constant.
    Deterministic,
}

/// How to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Asked {
    /// The seed: the same seed gives the same figures.
    pub seed: u64,
    /// Independent replications, at least 2. Intervals come from their differences.
    pub replications: u32,
    /// Customers that pass the network while it is observed, in each replication.
    pub customers: u64,
    /// Customers that pass it before that, as a share of `customers`. The network is
    /// empty at the start.
    pub warm_up: f64,
    /// How customers get from station to station.
    pub routing: Routing,
    /// How service times are distributed.
    pub service: Service,
}

impl Default for Asked {
    fn default() -> Self {
        Asked {
            seed: 1,
            replications: 10,
            customers: 20_000,
            warm_up: 0.2,
            routing: Routing::default(),
            service: Service::default(),
        }
    }
}

/// The result of a simulation: means with 95 % confidence intervals.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Simulated {
    /// The network's name.
    pub network: String,
    /// The request.
    pub asked: Asked,
    /// Events, of all replications.
    pub events: u64,
    /// Simulated time, of all replications, s.
    pub simulated_s: f64,
    /// Customers that pass a second, over all classes.
    pub throughput_per_s: Interval,
    /// Customers in the network, without those that think.
    pub number: Interval,
    /// By class.
    pub classes: Vec<ClassFigures>,
    /// By station.
    pub stations: Vec<StationFigures>,
}

/// Figures of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassFigures {
    /// Its name.
    pub name: String,
    /// Customers a second.
    pub throughput_per_s: Interval,
    /// Time of a customer in the network, waiting and in service, µs.
    pub residence_us: Interval,
}

/// Figures of a station.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StationFigures {
    /// Its name.
    pub name: String,
    /// The share of time that its server is busy, 0 to 1; the average over several
    /// servers or queues. For a delay station, the number of customers there.
    pub utilization: Interval,
    /// Waiting time of a visit before its service, µs.
    pub waiting_us: Interval,
    /// Time of a customer there over all its visits, µs, by class.
    pub residence_us: Vec<Interval>,
}

/// Simulates `network`, with its replications on all processors. The figures do not
/// depend on the number of processors.
///
/// # Errors
/// [`Error::Saturated`] if a station of an open network cannot serve all that
/// arrives; [`Error::Asked`] if the request makes no sense, or would take too long.
pub fn simulate(network: &Network, asked: &Asked) -> Result<Simulated, Error> {
    check(network, asked)?;
    let random = Random::new(asked.seed);
    let replications: Result<Vec<Seen>, Error> = (0..asked.replications)
        .into_par_iter()
        .map(|number| Replication::new(network, asked, random.split(u64::from(number))).run())
        .collect();
    Ok(summary(network, asked, &replications?))
}

/// The figures of one replication. The mean of no observations is NaN.
#[derive(Clone, Debug)]
struct Seen {
    events: u64,
    simulated_s: f64,
    number: f64,
    classes: Vec<SeenClass>,
    stations: Vec<SeenStation>,
}

#[derive(Clone, Debug)]
struct SeenClass {
    throughput_per_s: f64,
    residence_us: f64,
}

#[derive(Clone, Debug)]
struct SeenStation {
    utilization: f64,
    waiting_us: f64,
    residence_us: Vec<f64>,
}

fn check(network: &Network, asked: &Asked) -> Result<(), Error> {
    let no = |text: String| Err(Error::Asked(text));
    if !(2..=10_000).contains(&asked.replications) {
        return no(format!("{} replications: give 2 to 10000", asked.replications));
    }
    if asked.customers == 0 || !(asked.warm_up >= 0.0 && asked.warm_up <= 100.0) {
        let (customers, warm_up) = (asked.customers, asked.warm_up);
        return no(format!(
            "{customers} customers after a warm-up of {warm_up} times that many: \
             give at least one customer, and a warm-up of 0 to 100"
        ));
    }
    let name = network.name();
    if network.is_open() {
        if network.rate_per_s() <= 0.0 {
            return no(format!("nobody comes to the network `{name}`: give a rate above 0"));
        }
        bounds::check_saturation(network)?;
    } else {
        let customers: u64 = network.populations().iter().copied().map(u64::from).sum();
        if customers > MOST_CUSTOMERS as u64 {
            return no(format!(
                "{customers} customers in the network `{name}` are too many to simulate: \
                 at most {MOST_CUSTOMERS}"
            ));
        }
    }
    let events = f64::from(asked.replications)
        * (asked.customers as f64)
        * (1.0 + asked.warm_up)
        * (2.0 + most_visits(network));
    if events > MOST_EVENTS {
        return no(format!(
            "that would take some {events:.0e} events, more than {MOST_EVENTS:.0e}: \
             ask for fewer customers or replications"
        ));
    }
    Ok(())
}

/// The visits of the class that makes the most.
fn most_visits(network: &Network) -> f64 {
    let visits = |class: usize| network.stations().iter().map(|at| at.visits[class]).sum();
    (0..network.classes().len()).map(visits).fold(0.0, f64::max)
}

fn summary(network: &Network, asked: &Asked, seen: &[Seen]) -> Simulated {
    // Replications without an observation do not count.
    let interval = |figure: &dyn Fn(&Seen) -> f64| {
        let mut tally = Tally::default();
        seen.iter().map(figure).filter(|value| !value.is_nan()).for_each(|value| tally.add(value));
        tally.interval(0.95)
    };
    let class = |(index, name): (usize, &String)| ClassFigures {
        name: name.clone(),
        throughput_per_s: interval(&|seen| seen.classes[index].throughput_per_s),
        residence_us: interval(&|seen| seen.classes[index].residence_us),
    };
    let classes = 0..network.classes().len();
    let station = |(index, name): (usize, &String)| StationFigures {
        name: name.clone(),
        utilization: interval(&|seen| seen.stations[index].utilization),
        waiting_us: interval(&|seen| seen.stations[index].waiting_us),
        residence_us: (classes.clone())
            .map(|class| interval(&|seen| seen.stations[index].residence_us[class]))
            .collect(),
    };
    let names = network.classes().iter().map(|class| &class.name);
    let station_names = network.stations().iter().map(|station| &station.name);
    Simulated {
        network: network.name().to_owned(),
        asked: *asked,
        events: seen.iter().map(|seen| seen.events).sum(),
        simulated_s: seen.iter().map(|seen| seen.simulated_s).sum(),
        throughput_per_s: interval(&|seen| {
            seen.classes.iter().map(|class| class.throughput_per_s).sum()
        }),
        number: interval(&|seen| seen.number),
        classes: names.enumerate().map(class).collect(),
        stations: station_names.enumerate().map(station).collect(),
    }
}

#[cfg(test)]
mod tests;
