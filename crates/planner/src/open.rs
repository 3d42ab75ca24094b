//! Open networks: several classes, first come, first served, with service times
//! that differ by class.
//!
//! Visits come at random, so a visit finds at a station, on average, the average
//! number of customers. A visit to station *k* therefore waits for a time that is
//! the same for all classes (Thekkath et al. 1992, appendix, *T_k*),
//!
//! > T_k = Σ_j λ_j V_jk S_jk² / (1 − U_k),  U_k = Σ_j λ_j V_jk S_jk,
//!
//! and a customer's residence is R_ik = V_ik (S_ik + T_k). This is the appendix's
//! equation (5), rearranged. It is exact for one station, if visits are Poisson and
//! service times are exponential for each class (the formula of Pollaczek and
//! Khinchine for M/H/1). In a network, streams between first-come-first-served
//! stations whose service differs by class are not quite Poisson.
//!
//! With several servers, the waiting time is that of M/M/m (Erlang's C) at the
//! station's mean service time, times half of `E[S²]/E[S]²` (Lee and Longton 1959,
//! "Queueing processes associated with airline passenger check-in"): exact where
//! service is the same for all classes, and equation (5) for one server.

use crate::network::{Center, Network};
use crate::solution::{Found, Method, Solution};
use crate::{Error, bounds};

/// Solves an open network.
///
/// # Errors
/// [`Error::Saturated`] if a station cannot serve all that arrives,
/// [`Error::Asked`] if the network is closed.
pub fn solve(network: &Network) -> Result<Solution, Error> {
    if !network.is_open() {
        let name = network.name();
        return Err(Error::Asked(format!("the network `{name}` is closed; solve it as such")));
    }
    let rates_per_s = network.rates_per_s();
    let centers = network.centers();
    bounds::check_saturation(network)?;
    let found = Found {
        method: Method::Open,
        approximations: approximations(&centers, network),
        residence_us: centers.iter().map(|center| residence_us(center, &rates_per_s)).collect(),
        throughput_per_s: rates_per_s,
    };
    Ok(found.solution(network, &centers))
}

/// Residence by class over all visits, µs.
fn residence_us(center: &Center, rates_per_s: &[f64]) -> Vec<f64> {
    let waiting_us = waiting_us(center, rates_per_s);
    let stays = center.visits.iter().zip(&center.service_us);
    stays.map(|(visits, service_us)| visits * (service_us + waiting_us)).collect()
}

/// The waiting time of each visit, *T_k*, µs.
fn waiting_us(center: &Center, rates_per_s: &[f64]) -> f64 {
    let Some(servers) = center.servers() else { return 0.0 };
    // Arriving work, seconds a second, and its second moment, µs.
    let (mut load, mut moment_us) = (0.0, 0.0);
    for (class, rate_per_s) in rates_per_s.iter().enumerate() {
        let work = rate_per_s * center.demand_us(class) * 1e-6;
        load += work;
        moment_us += work * center.service_us[class];
    }
    if load == 0.0 {
        return 0.0;
    }
    if servers == 1.0 {
        return moment_us / (1.0 - load);
    }
    // M/M/m with mean service time E[S]: C E[S] / (m − a); times E[S²] / 2 E[S]²,
    // where moment = a E[S²] / 2 E[S].
    erlang_c(servers, load) * moment_us / load / (servers - load)
}

/// Erlang's C: the probability that a visit waits. The offered load `load` is in
/// servers, and below their number. The recursion for Erlang's B adds only positive
/// terms (Kleinrock 1975, *Queueing Systems* I, 3.5).
pub fn erlang_c(servers: f64, load: f64) -> f64 {
    let mut inverse_b = 1.0;
    let mut server = 1.0;
    while server <= servers {
        inverse_b = 1.0 + inverse_b * server / load;
        if inverse_b == f64::INFINITY {
            return 0.0;
        }
        server += 1.0;
    }
    let b = 1.0 / inverse_b;
    b / (1.0 - load / servers * (1.0 - b))
}

fn approximations(centers: &[Center], network: &Network) -> Vec<String> {
    let name = |center: &Center| network.stations()[center.station].name.as_str();
    let mut list = Vec::new();
    let mut differ: Vec<&str> = Vec::new();
    let mut several: Vec<&str> = Vec::new();
    for center in centers.iter().filter(|center| !center.serves_all_alike()) {
        match center.servers() {
            None => {}
            Some(1.0) => differ.push(name(center)),
            Some(_) => several.push(name(center)),
        }
    }
    differ.dedup();
    if !differ.is_empty() {
        list.push(format!(
            "visits are taken to come at random to {}, where service differs by class \
             (equation 5)",
            differ.join(", ")
        ));
    }
    if !several.is_empty() {
        list.push(format!(
            "waiting at {} is that of equal service times, scaled by their second moment",
            several.join(", ")
        ));
    }
    list
}

#[cfg(test)]
mod tests;
