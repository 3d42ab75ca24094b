use super::*;
use crate::network::{Class, Kind, Load, Station};
use proptest::prelude::*;

/// An open network: rates, and for each station its kind, visits and service.
fn network(rates_per_s: &[f64], stations: &[(Kind, Vec<f64>, Vec<f64>)]) -> Network {
    let total: f64 = rates_per_s.iter().sum();
    let class = |(index, rate): (usize, &f64)| Class {
        name: format!("class {index}"),
        load: Load::Open { share: rate / total },
    };
    let station =
        |(index, (kind, visits, service_us)): (usize, &(Kind, Vec<f64>, Vec<f64>))| Station {
            name: format!("station {index}"),
            kind: kind.clone(),
            visits: visits.clone(),
            service_us: service_us.clone(),
        };
    let classes = rates_per_s.iter().enumerate().map(class).collect();
    let stations = stations.iter().enumerate().map(station).collect();
    Network::new("test", total, classes, stations).expect("a network")
}

#[track_caller]
fn same(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()), "{a} and {b}");
}

/// Residence of each class at the first station, µs.
fn residences(network: &Network) -> Vec<f64> {
    let solution = solve(network).expect("stable");
    solution.stations[0].classes.iter().map(|at| at.residence_us).collect()
}

#[test]
fn one_server_and_one_class() {
    for load in [0.001, 0.1, 0.5, 0.9, 0.999] {
        let one = network(&[load * 1e6 / 80.0], &[(Kind::Queue, vec![1.0], vec![80.0])]);
        let solution = solve(&one).expect("stable");
        same(solution.classes[0].residence_us, 80.0 / (1.0 - load));
        same(solution.number, load / (1.0 - load));
        same(solution.stations[0].utilization, load);
        same(solution.stations[0].waiting_us, 80.0 * load / (1.0 - load));
        assert!(solution.approximations.is_empty());
    }
}

/// Equation (5) as the paper has it.
fn equation_5(rates: &[f64], visits: &[f64], services: &[f64], class: usize) -> f64 {
    let terms = || rates.iter().zip(visits).zip(services);
    let utilization: f64 = terms().map(|((rate, v), s)| rate * v * s).sum();
    let difference: f64 = terms().map(|((rate, v), s)| s * rate * v * (s - services[class])).sum();
    visits[class] / (1.0 - utilization) * (services[class] + difference)
}

#[test]
fn equation_5_as_it_is_written() {
    let (rates, visits) = ([1000.0, 300.0, 50.0], [2.0, 1.0, 3.5]);
    let services_us = [120.0, 400.0, 900.0];
    let one = network(&rates, &[(Kind::Queue, visits.to_vec(), services_us.to_vec())]);
    let services_s = services_us.map(|us| us * 1e-6);
    for (class, residence_us) in residences(&one).into_iter().enumerate() {
        same(residence_us, 1e6 * equation_5(&rates, &visits, &services_s, class));
    }
    assert_eq!(solve(&one).expect("stable").approximations.len(), 1);
}

/// Pollaczek and Khinchine: waiting is Λ E[S²] / 2 (1 − ρ), and E[S²] of a mixture
/// of exponentials is the mixture of 2 S².
#[test]
fn hyperexponential_service_at_one_visit_is_exact() {
    let (rates, services_us) = ([700.0, 200.0, 30.0], [300.0, 900.0, 4000.0]);
    let one = network(&rates, &[(Kind::Queue, vec![1.0; 3], services_us.to_vec())]);
    let total: f64 = rates.iter().sum();
    let second_moment: f64 =
        rates.iter().zip(services_us).map(|(rate, s)| rate / total * 2.0 * s * s).sum();
    let load: f64 = rates.iter().zip(services_us).map(|(rate, s)| rate * s * 1e-6).sum();
    let waiting_us = total * 1e-6 * second_moment / 2.0 / (1.0 - load);
    for (residence_us, service_us) in residences(&one).into_iter().zip(services_us) {
        same(residence_us, service_us + waiting_us);
    }
}

/// M/M/m from the probabilities of its states, one by one.
fn erlang_c_by_states(servers: u32, load: f64) -> f64 {
    let m = f64::from(servers);
    let mut term = 1.0;
    let mut sum = 0.0;
    for n in 0..servers {
        sum += term;
        term *= load / f64::from(n + 1);
    }
    let waiting = term / (1.0 - load / m);
    waiting / (sum + waiting)
}

#[test]
fn several_servers() {
    for (servers, load) in [(2, 1.5), (3, 0.2), (16, 14.0), (64, 63.0)] {
        let m = f64::from(servers);
        same(erlang_c(m, load), erlang_c_by_states(servers, load));
        let kind = Kind::MultiServer { servers };
        let one = network(&[load * 1e6 / 50.0], &[(kind, vec![1.0], vec![50.0])]);
        let waiting_us = erlang_c_by_states(servers, load) * 50.0 / (m - load);
        same(residences(&one)[0], 50.0 + waiting_us);
        same(solve(&one).expect("stable").stations[0].utilization, load / m);
    }
    // Two servers: R = S / (1 − ρ²).
    let two =
        network(&[1.2e6 / 10.0], &[(Kind::MultiServer { servers: 2 }, vec![1.0], vec![10.0])]);
    same(residences(&two)[0], 10.0 / (1.0 - 0.36));
    assert_eq!(erlang_c(10_000.0, 1e-6), 0.0);
}

#[test]
fn one_of_several_servers_is_a_queue() {
    let (rates, visits, service) = ([1000.0, 200.0], vec![1.0, 2.0], vec![100.0, 1500.0]);
    let of = |kind| residences(&network(&rates, &[(kind, visits.clone(), service.clone())]));
    let (queue, servers) = (of(Kind::Queue), of(Kind::MultiServer { servers: 1 }));
    let split = of(Kind::Split { shares: vec![1.0] });
    for class in 0..2 {
        same(queue[class], servers[class]);
        same(queue[class], split[class]);
    }
}

#[test]
fn a_split_station_is_stations_with_parts_of_the_demand() {
    let rates = [400.0, 300.0];
    let service = vec![537.0, 800.0];
    let split = network(&rates, &[(Kind::evenly(2), vec![1.0; 2], service.clone())]);
    // As in section 4.5: two centers, each with half the demand.
    let half: Vec<f64> = service.iter().map(|us| us / 2.0).collect();
    let center = (Kind::Queue, vec![1.0; 2], half);
    let two = network(&rates, &[center.clone(), center]);
    let (split, two) = (solve(&split).expect("stable"), solve(&two).expect("stable"));
    for class in 0..2 {
        same(split.classes[class].residence_us, two.classes[class].residence_us);
    }
    same(split.stations[0].utilization, two.stations[1].utilization);
}

#[test]
fn a_lock_costs_what_it_costs() {
    let lock = Kind::Lock { acquire_us: 1.0, release_us: 0.5, transfer_us: 2.5 };
    let lock = network(&[20_000.0], &[(lock, vec![2.0], vec![6.0])]);
    let queue = network(&[20_000.0], &[(Kind::Queue, vec![2.0], vec![10.0])]);
    same(residences(&lock)[0], residences(&queue)[0]);
    same(residences(&lock)[0], 2.0 * 10.0 / (1.0 - 0.4));
}

#[test]
fn nobody_waits_at_a_delay() {
    let delay = network(&[1e6], &[(Kind::Delay, vec![3.0], vec![1e4])]);
    let solution = solve(&delay).expect("never saturated");
    same(solution.classes[0].residence_us, 3e4);
    same(solution.stations[0].utilization, 3e4);
}

#[test]
fn light_load_is_the_sum_of_demands() {
    let stations = [
        (Kind::Queue, vec![2.0, 1.0], vec![10.0, 30.0]),
        (Kind::MultiServer { servers: 3 }, vec![1.0, 0.0], vec![7.0, 0.0]),
    ];
    let solution = network(&[3.0, 1.0], &stations).with_rate(0.0).expect("open").solve();
    let solution = solution.expect("stable");
    assert_eq!(solution.classes[0].residence_us, 27.0);
    assert_eq!(solution.classes[1].residence_us, 30.0);
    assert_eq!(solution.number, 0.0);
}

#[test]
fn a_saturated_station_is_named_with_its_rate() {
    let stations = [
        (Kind::Queue, vec![1.0], vec![100.0]),
        (Kind::MultiServer { servers: 2 }, vec![1.0], vec![400.0]),
    ];
    let error = solve(&network(&[6000.0], &stations)).expect_err("saturated");
    let Error::Saturated { station, limit_per_s, asked_per_s } = &error else { panic!("{error}") };
    assert_eq!((station.as_str(), *asked_per_s), ("station 1", 6000.0));
    same(*limit_per_s, 5000.0);
    assert!(
        error.to_string().starts_with("station `station 1` saturates at 5000 a second"),
        "{error}"
    );
    for rate_per_s in [5000.0, 5000.0 * (1.0 - 1e-15), 1e12] {
        let full = network(&[rate_per_s], &stations);
        assert!(matches!(solve(&full), Err(Error::Saturated { .. })), "{rate_per_s}");
    }
    solve(&network(&[4999.999], &stations)).expect("just not saturated");
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Queue),
        Just(Kind::Delay),
        (1..20u32).prop_map(|servers| Kind::MultiServer { servers }),
        (1..5u32).prop_map(Kind::evenly),
        (0.0..3.0f64).prop_map(|us| Kind::Lock { acquire_us: us, release_us: us, transfer_us: us }),
    ]
}

fn networks() -> impl Strategy<Value = Network> {
    (1..4usize, 1..6usize).prop_flat_map(|(classes, stations)| {
        let figures = |range: std::ops::Range<f64>| prop::collection::vec(range, classes);
        let station = (kinds(), figures(0.1..4.0), figures(0.5..200.0));
        let rates = prop::collection::vec(1.0..100.0f64, classes);
        (rates, prop::collection::vec(station, stations)).prop_map(|(rates, s)| network(&rates, &s))
    })
}

proptest! {
    #[test]
    fn laws_hold(network in networks(), load in 0.01..0.99f64) {
        let limit = bounds::saturation(&network).map_or(1e6, |(_, limit)| limit);
        let at = |load: f64| solve(&network.with_rate(load * limit).expect("open")).expect("stable");
        let (solution, more) = (at(load), at(load + (1.0 - load) / 2.0));
        // Little's law, over the whole network.
        let by_station: f64 = solution.stations.iter().map(|station| station.number).sum();
        prop_assert!((by_station - solution.number).abs() <= 1e-9 * by_station);
        for (index, class) in solution.classes.iter().enumerate() {
            let by_rate = class.throughput_per_s * class.residence_us * 1e-6;
            prop_assert!((by_rate - class.number).abs() <= 1e-9 * by_rate);
            // Never faster than alone, and slower with each further customer.
            prop_assert!(class.residence_us >= class.demand_us * (1.0 - 1e-12));
            prop_assert!(more.classes[index].residence_us >= class.residence_us);
        }
        for (station, figures) in network.stations().iter().zip(&solution.stations) {
            // The utilization law; the busiest station is as busy as the load says.
            let servers = match station.kind { Kind::Delay => f64::INFINITY, _ => 1.0 };
            prop_assert!(figures.utilization < servers);
            prop_assert!(figures.waiting_us >= 0.0);
        }
        let queues = || solution.stations.iter().filter(|station| station.kind != Kind::Delay);
        let busiest = queues().map(|station| station.utilization).fold(0.0, f64::max);
        prop_assert!(queues().count() == 0 || (busiest - load).abs() < 1e-9);
    }
}
