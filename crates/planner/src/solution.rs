//! [`Solution`]: the result of solving a network.

use crate::network::{Center, Kind, Network};
use serde::Serialize;

/// The result of solving a network in steady state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Solution {
    /// The network's name.
    pub network: String,
    /// How it was solved.
    pub method: Method,
    /// What is approximate about it, a sentence each. If empty, the solution is exact
    /// for exponential service times and, in open networks, Poisson visits.
    pub approximations: Vec<String>,
    /// Customers that pass a second, over all classes.
    pub throughput_per_s: f64,
    /// Customers in the network on average, without those that think.
    pub number: f64,
    /// By class.
    pub classes: Vec<ClassFigures>,
    /// By station.
    pub stations: Vec<StationFigures>,
}

/// How a network was solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// Thekkath et al. 1992, equation 5, and Erlang's formula.
    Open,
    /// Mean value analysis, exact.
    ExactMva,
    /// Mean value analysis as Bard and Schweitzer approximate it.
    Schweitzer,
}

/// Figures of a class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassFigures {
    /// Its name.
    pub name: String,
    /// Customers a second.
    pub throughput_per_s: f64,
    /// Mean time of a customer in the network, waiting and in service, µs.
    pub residence_us: f64,
    /// The sum of its service demands at all stations, µs: the residence time
    /// without waiting.
    pub demand_us: f64,
    /// Customers in the network on average.
    pub number: f64,
}

/// Figures of a station.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StationFigures {
    /// Its name.
    pub name: String,
    /// Its kind.
    #[serde(flatten)]
    pub kind: Kind,
    /// The share of time that its server is busy, 0 to 1; the average over several
    /// servers or queues. For a delay station, the number of customers there.
    pub utilization: f64,
    /// Customers there on average, waiting and in service.
    pub number: f64,
    /// Mean waiting time of a visit before its service, µs.
    pub waiting_us: f64,
    /// By class, in the order of the classes.
    pub classes: Vec<ClassAtStation>,
}

/// Figures of a class at a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClassAtStation {
    /// Time of a customer there, over all its visits, µs.
    pub residence_us: f64,
    /// Its part of the station's utilization.
    pub utilization: f64,
    /// Its customers there on average.
    pub number: f64,
}

/// The result of a solver: throughput by class, and residence by center and class.
pub(crate) struct Found {
    pub method: Method,
    pub approximations: Vec<String>,
    /// Customers a second, by class.
    pub throughput_per_s: Vec<f64>,
    /// Time over all visits, µs, by center, then by class.
    pub residence_us: Vec<Vec<f64>>,
}

impl Found {
    /// Completes the figures by the utilization law and Little's law.
    pub fn solution(self, network: &Network, centers: &[Center]) -> Solution {
        let stations = self.stations(network, centers);
        let of_class = |index: usize, name: &str| {
            let throughput_per_s = self.throughput_per_s[index];
            let residence_us: f64 = self.residence_us.iter().map(|row| row[index]).sum();
            ClassFigures {
                name: name.to_owned(),
                throughput_per_s,
                residence_us,
                demand_us: centers.iter().map(|center| center.demand_us(index)).sum(),
                number: throughput_per_s * residence_us * 1e-6,
            }
        };
        let classes = network.classes().iter().enumerate();
        let classes: Vec<ClassFigures> =
            classes.map(|(index, class)| of_class(index, &class.name)).collect();
        Solution {
            network: network.name().to_owned(),
            method: self.method,
            approximations: self.approximations,
            throughput_per_s: self.throughput_per_s.iter().sum(),
            number: classes.iter().map(|class| class.number).sum(),
            classes,
            stations,
        }
    }

    fn stations(&self, network: &Network, centers: &[Center]) -> Vec<StationFigures> {
        let mut stations: Vec<StationFigures> = Vec::new();
        for station in network.stations() {
            stations.push(StationFigures {
                name: station.name.clone(),
                kind: station.kind.clone(),
                utilization: 0.0,
                number: 0.0,
                waiting_us: 0.0,
                classes: vec![ClassAtStation::default(); network.classes().len()],
            });
        }
        let mut visits_per_s = vec![0.0; stations.len()];
        let mut served = vec![0.0; stations.len()];
        for (center, residence_us) in centers.iter().zip(&self.residence_us) {
            let figures = &mut stations[center.station];
            let servers = match &figures.kind {
                Kind::Split { shares } => shares.len() as f64,
                _ => center.servers().unwrap_or(1.0),
            };
            for (class, at) in figures.classes.iter_mut().enumerate() {
                let throughput_per_s = self.throughput_per_s[class];
                at.residence_us += residence_us[class];
                at.number += throughput_per_s * residence_us[class] * 1e-6;
                let busy = throughput_per_s * center.demand_us(class) * 1e-6;
                at.utilization += busy / servers;
                served[center.station] += busy;
                visits_per_s[center.station] += throughput_per_s * center.visits[class];
            }
        }
        for (index, figures) in stations.iter_mut().enumerate() {
            figures.utilization = figures.classes.iter().map(|at| at.utilization).sum();
            figures.number = figures.classes.iter().map(|at| at.number).sum();
            if visits_per_s[index] > 0.0 {
                let waiting = (figures.number - served[index]).max(0.0);
                figures.waiting_us = waiting / visits_per_s[index] * 1e6;
            }
        }
        stations
    }
}
