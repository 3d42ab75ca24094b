//! [`Solution`]: what a model says of a network.

use crate::network::{Center, Kind, Network};
use serde::Serialize;

/// What a model says of a network in steady state.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Solution {
    /// The network's name.
    pub network: String,
    /// How it was solved.
    pub method: Method,
    /// What is approximate about it, a sentence each; empty: nothing, if
    /// service times are exponential and, in open networks, visits come at random.
    pub approximations: Vec<String>,
    /// Customers a second that pass, of all classes.
    pub throughput_per_s: f64,
    /// Customers in the network on average, those that think not counted.
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
    /// How long one is in the network, waiting and being served, µs.
    pub residence_us: f64,
    /// Its service demands at all stations together, µs: the residence time if it
    /// meets nobody.
    pub demand_us: f64,
    /// Customers in the network on average.
    pub number: f64,
}

/// Figures of a station.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StationFigures {
    /// Its name.
    pub name: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: Kind,
    /// How busy its server is, of 1; with several servers or queues, each on
    /// average. Of a delay station: the number of customers there.
    pub utilization: f64,
    /// Customers there on average, waiting and being served.
    pub number: f64,
    /// How long a visit waits there before it is served, on average, µs.
    pub waiting_us: f64,
    /// By class, in the order of the classes.
    pub classes: Vec<ClassAtStation>,
}

/// Figures of a class at a station.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct ClassAtStation {
    /// How long a customer is there, all visits together, µs.
    pub residence_us: f64,
    /// Its part of the utilization, of 1.
    pub utilization: f64,
    /// Its customers there on average.
    pub number: f64,
}

/// What solvers find: throughput by class, and residence by center and class.
pub(crate) struct Found {
    pub method: Method,
    pub approximations: Vec<String>,
    /// Customers a second, by class.
    pub throughput_per_s: Vec<f64>,
    /// µs, all visits together, by center, then by class.
    pub residence_us: Vec<Vec<f64>>,
}

impl Found {
    /// The rest follows by the laws of utilization and of Little.
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
