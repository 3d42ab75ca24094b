//! [`Center`]: a station as solvers see it: one queue, with or without waiting.

use super::{Kind, Network};

/// A service center: a station, or one queue of a split one.
#[derive(Clone, Debug, PartialEq)]
pub struct Center {
    /// The station that it belongs to, by index.
    pub station: usize,
    /// How it serves.
    pub service: Service,
    /// Visits of a customer, by class.
    pub visits: Vec<f64>,
    /// Service of a visit, µs, by class; a lock's own cost is in it.
    pub service_us: Vec<f64>,
}

/// How a center serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Customers do not wait.
    Delay,
    /// First come, first served, by this many servers.
    Queue {
        /// Servers, at least one.
        servers: u32,
    },
}

impl Center {
    /// Its service demand: visits times service, µs.
    pub fn demand_us(&self, class: usize) -> f64 {
        self.visits[class] * self.service_us[class]
    }

    /// Servers; `None` if customers do not wait.
    pub fn servers(&self) -> Option<f64> {
        match self.service {
            Service::Delay => None,
            Service::Queue { servers } => Some(f64::from(servers)),
        }
    }

    /// True if a visit's service is the same for all classes that visit the center.
    pub(crate) fn serves_all_alike(&self) -> bool {
        let visiting =
            self.visits.iter().zip(&self.service_us).filter(|(visits, _)| **visits > 0.0);
        let mut services = visiting.map(|(_, service_us)| service_us);
        let Some(first) = services.next() else { return true };
        services.all(|service_us| service_us == first)
    }
}

impl Network {
    /// Its service centers, in the order of stations; those of a split station
    /// stand together, each with its share of the visits.
    pub fn centers(&self) -> Vec<Center> {
        let mut centers = Vec::new();
        for (index, station) in self.stations.iter().enumerate() {
            let center = |service, share: f64, more_us: f64| Center {
                station: index,
                service,
                visits: station.visits.iter().map(|visits| visits * share).collect(),
                service_us: station.service_us.iter().map(|service| service + more_us).collect(),
            };
            let one = Service::Queue { servers: 1 };
            match &station.kind {
                Kind::Queue => centers.push(center(one, 1.0, 0.0)),
                Kind::Delay => centers.push(center(Service::Delay, 1.0, 0.0)),
                Kind::MultiServer { servers } => {
                    centers.push(center(Service::Queue { servers: *servers }, 1.0, 0.0));
                }
                Kind::Split { shares } => {
                    let sum: f64 = shares.iter().sum();
                    centers.extend(shares.iter().map(|share| center(one, share / sum, 0.0)));
                }
                Kind::Lock { acquire_us, release_us, transfer_us } => {
                    centers.push(center(one, 1.0, acquire_us + release_us + transfer_us));
                }
            }
        }
        centers
    }
}
