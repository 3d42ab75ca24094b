//! [`Network`]: a queueing network as data: classes of customers, the stations
//! that they visit, and the service there. [`mod@file`] reads one from TOML;
//! [`crate::open`] and [`crate::closed`] solve it.
//!
//! ```
//! let network = anabranch_planner::Network::from_toml(r#"
//!     name = "a stack under one lock"
//!     rate_per_s = 50_000                      # of all classes with a share
//!
//!     [[class]]
//!     name = "small"
//!     share = 0.8                              # or rate_per_s, or population and think_us
//!
//!     [[class]]
//!     name = "large"
//!     share = 0.2
//!
//!     [[station]]
//!     name = "protocol"
//!     kind = "delay"                           # enough processors: no waiting
//!     service_us = { small = 10, large = 18 }  # per visit; a number: all classes alike
//!
//!     [[station]]
//!     name = "stack"
//!     kind = "lock"                            # delay, queue, multi-server, split, lock
//!     visits = 2                               # 1 if left out; may be a table, too
//!     service_us = 4
//!     acquire_us = 0.1
//! "#)?;
//! let solution = network.solve()?;
//! assert!((solution.stations[1].utilization - 50_000.0 * 2.0 * 4.1e-6).abs() < 1e-9);
//! # Ok::<(), anabranch_planner::Error>(())
//! ```

use crate::Error;
use serde::Serialize;

pub mod centers;
pub mod file;
mod validate;

pub use centers::{Center, Service};

/// The greatest number that a field may have, in its own unit.
pub const LARGEST: f64 = 1e12;
/// The greatest number of servers of a station, or of its queues.
pub const MOST_SERVERS: u32 = 10_000;
/// The greatest population of a closed class.
pub const LARGEST_POPULATION: u32 = 1_000_000_000;
/// The greatest number of servers (a delay counts as one), times classes, of a
/// network.
pub const MOST_CELLS: usize = 1_000_000;

/// A queueing network. Its classes are all open or all closed; its figures are
/// finite and not negative, its names distinct.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Network {
    name: String,
    rate_per_s: f64,
    classes: Vec<Class>,
    stations: Vec<Station>,
}

/// A class of customers (of packets, say): those with the same demands.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// How its customers come.
    pub load: Load,
}

/// How customers of a class come.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Load {
    /// They come from outside, at random (Poisson), and leave again.
    Open {
        /// Its share of the network's total rate, of 1.
        share: f64,
    },
    /// A fixed number of customers, which think between two rounds.
    Closed {
        /// How many there are.
        population: u32,
        /// How long each thinks between two rounds, µs.
        think_us: f64,
    },
}

/// A station: where customers are served.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// How it serves.
    pub kind: Kind,
    /// How often a customer comes there on its way through the network, by class.
    pub visits: Vec<f64>,
    /// How long it is served at each visit, µs, by class.
    pub service_us: Vec<f64>,
}

/// How a station serves its customers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Kind {
    /// One at a time, first come, first served.
    Queue,
    /// All at once, without waiting.
    Delay,
    /// As many at a time as it has servers, first come, first served.
    MultiServer {
        /// Servers.
        servers: u32,
    },
    /// Several queues with a server each; a visit goes to one of them at random
    /// (Thekkath et al. 1992, 4.5).
    Split {
        /// The share of the visits that goes to each queue; they sum to 1.
        shares: Vec<f64>,
    },
    /// A lock, not preemptive: a [`Kind::Queue`] at which each visit holds the
    /// server for what the lock itself costs, too.
    Lock {
        /// To take it, µs.
        acquire_us: f64,
        /// To release it, µs.
        release_us: f64,
        /// To get it, and what it guards, from the processor that had it last, µs.
        transfer_us: f64,
    },
}

impl Kind {
    /// Its name in files.
    pub const fn name(&self) -> &'static str {
        match self {
            Kind::Queue => "queue",
            Kind::Delay => "delay",
            Kind::MultiServer { .. } => "multi-server",
            Kind::Split { .. } => "split",
            Kind::Lock { .. } => "lock",
        }
    }

    /// A split with `queues` equal shares.
    pub fn evenly(queues: u32) -> Kind {
        Kind::Split { shares: vec![1.0 / f64::from(queues); queues as usize] }
    }
}

impl Network {
    /// A network of these classes and stations. `rate_per_s` is the total rate of
    /// open classes, customers a second; closed networks take no notice of it.
    ///
    /// # Errors
    /// [`Error::File`] if something is missing, negative, not a number or too
    /// large, if classes and figures do not match, or if some classes are open and
    /// some closed.
    pub fn new(
        name: &str,
        rate_per_s: f64,
        classes: Vec<Class>,
        stations: Vec<Station>,
    ) -> Result<Network, Error> {
        let network = Network { name: name.to_owned(), rate_per_s, classes, stations };
        validate::network(&network)?;
        Ok(network)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its classes; all figures of stations are in this order.
    pub fn classes(&self) -> &[Class] {
        &self.classes
    }

    /// Its stations.
    pub fn stations(&self) -> &[Station] {
        &self.stations
    }

    /// Do customers come from outside (or else: circulate)?
    pub fn is_open(&self) -> bool {
        matches!(self.classes[0].load, Load::Open { .. })
    }

    /// The total rate of open classes, customers a second; 0 if it is closed.
    pub fn rate_per_s(&self) -> f64 {
        if self.is_open() { self.rate_per_s } else { 0.0 }
    }

    /// The rate of each open class, customers a second; 0 for closed ones.
    pub fn rates_per_s(&self) -> Vec<f64> {
        let rate = |class: &Class| match class.load {
            Load::Open { share } => share * self.rate_per_s,
            Load::Closed { .. } => 0.0,
        };
        self.classes.iter().map(rate).collect()
    }

    /// The population of each closed class; 0 for open ones.
    pub fn populations(&self) -> Vec<u32> {
        let population = |class: &Class| match class.load {
            Load::Open { .. } => 0,
            Load::Closed { population, .. } => population,
        };
        self.classes.iter().map(population).collect()
    }

    /// The think time of each closed class, µs; 0 for open ones.
    pub fn thinks_us(&self) -> Vec<f64> {
        let think = |class: &Class| match class.load {
            Load::Open { .. } => 0.0,
            Load::Closed { think_us, .. } => think_us,
        };
        self.classes.iter().map(think).collect()
    }

    /// The same with another total rate of its open classes, customers a second,
    /// in the same mix. 0 is light load, without waiting.
    ///
    /// # Errors
    /// [`Error::Asked`] if the network is closed, or the rate makes no sense.
    pub fn with_rate(&self, rate_per_s: f64) -> Result<Network, Error> {
        if !self.is_open() {
            let name = &self.name;
            return Err(Error::Asked(format!(
                "the network `{name}` is closed and has no rate; give a population instead"
            )));
        }
        validate::number("the rate", rate_per_s).map_err(Error::Asked)?;
        Ok(Network { rate_per_s, ..self.clone() })
    }

    /// The same with another population of its one closed class.
    ///
    /// # Errors
    /// [`Error::Asked`] if it has not just one closed class, or there are none or
    /// too many customers.
    pub fn with_population(&self, customers: u32) -> Result<Network, Error> {
        let [Class { name, load: Load::Closed { think_us, .. } }] = &self.classes[..] else {
            return Err(Error::Asked(format!(
                "the network `{}` has not just one closed class, so no population can be set; \
                 write populations into its file",
                self.name
            )));
        };
        validate::population(customers).map_err(Error::Asked)?;
        let load = Load::Closed { population: customers, think_us: *think_us };
        Ok(Network { classes: vec![Class { name: name.clone(), load }], ..self.clone() })
    }

    /// The same with another share of the rate for each open class.
    ///
    /// # Errors
    /// [`Error::Asked`] as for [`Network::new`].
    pub fn with_shares(&self, shares: &[f64]) -> Result<Network, Error> {
        if shares.len() != self.classes.len() || !self.is_open() {
            let (count, name) = (self.classes.len(), &self.name);
            return Err(Error::Asked(format!(
                "`{name}` has {count} classes; give a share for each, if they are open"
            )));
        }
        let mut network = self.clone();
        for (class, share) in network.classes.iter_mut().zip(shares) {
            class.load = Load::Open { share: *share };
        }
        validate::network(&network).map_err(asked)?;
        Ok(network)
    }

    /// The same with one station changed.
    ///
    /// # Errors
    /// [`Error::Asked`] if there is no such station, or it makes no sense then.
    pub fn with_station(
        &self,
        name: &str,
        change: impl FnOnce(&mut Station),
    ) -> Result<Network, Error> {
        let mut network = self.clone();
        let station = network.stations.iter_mut().find(|station| station.name == name);
        let Some(station) = station else {
            let names: Vec<&str> = self.stations.iter().map(|s| s.name.as_str()).collect();
            let names = names.join(", ");
            return Err(Error::Asked(format!("there is no station `{name}`; there are {names}")));
        };
        change(station);
        validate::network(&network).map_err(asked)?;
        Ok(network)
    }
}

fn asked(error: Error) -> Error {
    match error {
        Error::File(text) => Error::Asked(text),
        other => other,
    }
}

#[cfg(test)]
mod tests;
