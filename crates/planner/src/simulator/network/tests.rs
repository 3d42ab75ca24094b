use super::*;
use crate::network::{Class, Kind, Load, Station};

fn station(name: &str, kind: Kind, visits: &[f64], service_us: &[f64]) -> Station {
    Station { name: name.into(), kind, visits: visits.into(), service_us: service_us.into() }
}

fn open(rate_per_s: f64, shares: &[f64], stations: Vec<Station>) -> Network {
    let class = |(index, share): (usize, &f64)| Class {
        name: format!("class {index}"),
        load: Load::Open { share: *share },
    };
    let classes = shares.iter().enumerate().map(class).collect();
    Network::new("open", rate_per_s, classes, stations).unwrap()
}

fn closed(population: u32, think_us: f64, stations: Vec<Station>) -> Network {
    let load = Load::Closed { population, think_us };
    Network::new("closed", 0.0, vec![Class { name: "all".into(), load }], stations).unwrap()
}

/// Pollaczek and Khinchine: with constant service, a visit waits half as long as with
/// exponential service.
#[test]
fn deterministic_service_waits_half_as_long() {
    let network = open(70_000.0, &[1.0], vec![station("a", Kind::Queue, &[1.0], &[10.0])]);
    let asked = Asked { customers: 10_000, ..Asked::default() };
    for (service, waiting_us) in
        [(Service::Exponential, 0.7 / 0.3 * 10.0), (Service::Deterministic, 0.7 / 0.3 * 10.0 / 2.0)]
    {
        let simulated = simulate(&network, &Asked { service, ..asked }).unwrap();
        let of = &simulated.stations[0];
        assert!(of.waiting_us.contains(waiting_us), "{service:?}: {of:?}");
        assert!(of.waiting_us.high - of.waiting_us.low < 3.0, "{of:?}");
        assert!(of.utilization.contains(0.7), "{of:?}");
    }
}

/// Without waiting, residence and number follow from demand, whatever the routing.
#[test]
fn both_routings_give_the_visits() {
    let stations = vec![
        station("a", Kind::Delay, &[2.4, 0.0], &[10.0, 1.0]),
        station("b", Kind::Delay, &[0.3, 1.0], &[100.0, 20.0]),
    ];
    let network = open(100_000.0, &[0.5, 0.5], stations);
    for routing in [Routing::InRounds, Routing::AtRandom] {
        let asked = Asked { routing, customers: 10_000, ..Asked::default() };
        let simulated = simulate(&network, &asked).unwrap();
        assert!(simulated.classes[0].residence_us.contains(54.0), "{routing:?}: {simulated:?}");
        assert!(simulated.classes[1].residence_us.contains(20.0), "{routing:?}: {simulated:?}");
        assert!(simulated.number.contains(0.05 * 54.0 + 0.05 * 20.0), "{simulated:?}");
        assert_eq!(simulated.stations[0].residence_us[1].mean, 0.0);
        assert_eq!(simulated.stations[0].waiting_us.mean, 0.0);
    }
}

/// With constant service, the course of a closed network is known.
#[test]
fn a_closed_line_of_two() {
    let stations = vec![
        station("slow", Kind::Queue, &[1.0], &[3.0]),
        station("fast", Kind::Queue, &[1.0], &[1.0]),
    ];
    let asked = Asked { service: Service::Deterministic, customers: 300, ..Asked::default() };
    let alone = simulate(&closed(1, 0.0, stations.clone()), &asked).unwrap();
    assert!((alone.throughput_per_s.mean - 250_000.0).abs() < 1.0, "{alone:?}");
    let four = simulate(&closed(4, 0.0, stations), &asked).unwrap();
    assert!((four.throughput_per_s.mean - 1e6 / 3.0).abs() < 1.0, "{four:?}");
    // Three customers are at the slow station, so each stays 3 µs; at the fast one
    // nothing waits.
    assert!((four.stations[0].residence_us[0].mean - 11.0).abs() < 0.01, "{four:?}");
    assert!((four.stations[0].utilization.mean - 1.0).abs() < 1e-3, "{four:?}");
    assert!((four.stations[1].residence_us[0].mean - 1.0).abs() < 1e-9, "{four:?}");
}

#[test]
fn the_same_seed_gives_the_same_and_another_one_does_not() {
    let stations = vec![
        station("a", Kind::evenly(2), &[1.5], &[10.0]),
        station("b", Kind::MultiServer { servers: 3 }, &[1.0], &[20.0]),
    ];
    let network = open(50_000.0, &[1.0], stations);
    let asked = Asked { customers: 500, ..Asked::default() };
    let one = simulate(&network, &asked).unwrap();
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(pool.install(|| simulate(&network, &asked)).unwrap(), one);
    assert_ne!(simulate(&network, &Asked { seed: 2, ..asked }).unwrap().number, one.number);
}

#[test]
fn what_cannot_be_simulated_is_said() {
    let queue = |service_us| vec![station("a", Kind::Queue, &[1.0], &[service_us])];
    let asked = Asked::default();
    let said = |network: &Network, asked: &Asked| {
        let error = simulate(network, asked).unwrap_err().to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    };
    let network = open(100_000.0, &[1.0], queue(10.0));
    assert!(said(&network, &asked).contains("`a` saturates at 100000"));
    let network = open(50_000.0, &[1.0], queue(10.0));
    assert!(said(&network.with_rate(0.0).unwrap(), &asked).contains("a rate above 0"));
    assert!(said(&network, &Asked { replications: 1, ..asked }).contains("2 to 10000"));
    assert!(said(&network, &Asked { customers: 0, ..asked }).contains("at least one"));
    for warm_up in [f64::NAN, -1.0, f64::INFINITY] {
        assert!(said(&network, &Asked { warm_up, ..asked }).contains("warm-up"));
    }
    assert!(said(&network, &Asked { customers: u64::MAX, ..asked }).contains("fewer"));
    assert!(said(&closed(1_000_000_000, 0.0, queue(1.0)), &asked).contains("at most 10000000"));
    // A service of less than half a picosecond takes no time.
    for service_us in [1e12, 1e-10] {
        assert!(said(&closed(3, 0.0, queue(service_us)), &asked).contains("200 days"));
    }
}
