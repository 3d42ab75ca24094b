use super::*;
use crate::network::{Class, Kind, Load, Station};
use crate::solution::Method;
use proptest::prelude::*;

/// A closed network: populations and think times, and for each station its kind
/// and service demands.
fn network(classes: &[(u32, f64)], stations: &[(Kind, Vec<f64>)]) -> Network {
    let class = |(index, (population, think_us)): (usize, &(u32, f64))| Class {
        name: format!("class {index}"),
        load: Load::Closed { population: *population, think_us: *think_us },
    };
    let station = |(index, (kind, service_us)): (usize, &(Kind, Vec<f64>))| Station {
        name: format!("station {index}"),
        kind: kind.clone(),
        visits: vec![1.0; service_us.len()],
        service_us: service_us.clone(),
    };
    let classes = classes.iter().enumerate().map(class).collect();
    let stations = stations.iter().enumerate().map(station).collect();
    Network::new("test", 0.0, classes, stations).expect("a network")
}

fn one(population: u32, think_us: f64, stations: &[(Kind, f64)]) -> Network {
    let stations: Vec<(Kind, Vec<f64>)> =
        stations.iter().map(|(kind, demand_us)| (kind.clone(), vec![*demand_us])).collect();
    network(&[(population, think_us)], &stations)
}

#[track_caller]
fn same(a: f64, b: f64) {
    assert!((a - b).abs() <= 1e-9 * a.abs().max(b.abs()), "{a} and {b}");
}

/// N / (N + K − 1) / D for K stations alike.
#[test]
fn balanced_networks() {
    for (stations, customers) in [(1, 1), (1, 9), (2, 5), (4, 10), (30, 200)] {
        let list = vec![(Kind::Queue, 20.0); stations];
        let solution = single::solve(&one(customers, 0.0, &list)).expect("closed");
        let n = f64::from(customers);
        same(solution.throughput_per_s, n / (n + stations as f64 - 1.0) / 20e-6);
        same(solution.stations[0].number, n / stations as f64);
    }
}

/// A central server: a processor (125 ms) and two disks (210 and 200 ms), two
/// users. By hand: N = 1: R = 535, X = 1/535, Q = D/535; N = 2: R_k = D_k (1 + Q_k).
#[test]
fn a_central_server_by_hand() {
    let demands = [125.0, 210.0, 200.0];
    let stations = demands.map(|demand_us| (Kind::Queue, demand_us));
    let solution = single::solve(&one(2, 0.0, &stations)).expect("closed");
    let residences = demands.map(|demand| demand * (1.0 + demand / 535.0));
    let total: f64 = residences.iter().sum();
    same(solution.classes[0].residence_us, total);
    same(solution.throughput_per_s, 2e6 / total);
    same(total, 535.0 + (125.0 * 125.0 + 210.0 * 210.0 + 200.0 * 200.0) / 535.0);
    for (station, (demand, residence)) in
        solution.stations.iter().zip(demands.into_iter().zip(residences))
    {
        same(station.number, 2.0 * residence / total);
        same(station.utilization, 2.0 * demand / total);
    }
}

/// Machines that fail and are repaired by several people: a birth-death process.
fn repaired_per_s(machines: u32, repairers: u32, run_us: f64, repair_us: f64) -> f64 {
    let mut weights = vec![1.0];
    for broken in 1..=machines {
        let born = f64::from(machines - broken + 1) / run_us;
        let dead = f64::from(broken.min(repairers)) / repair_us;
        weights.push(weights[broken as usize - 1] * born / dead);
    }
    let sum: f64 = weights.iter().sum();
    let busy = (0..).zip(&weights).map(|(broken, w)| f64::from(repairers.min(broken)) * w);
    busy.sum::<f64>() / sum / repair_us * 1e6
}

#[test]
fn machine_repairman() {
    for (machines, repairers, run_us) in
        [(1, 1, 10.0), (6, 1, 35.0), (20, 3, 60.0), (40, 32, 0.5), (200, 64, 30.0), (50, 100, 7.0)]
    {
        let kind = match repairers {
            1 => Kind::Queue,
            servers => Kind::MultiServer { servers },
        };
        let solution = single::solve(&one(machines, run_us, &[(kind, 10.0)])).expect("closed");
        same(solution.throughput_per_s, repaired_per_s(machines, repairers, run_us, 10.0));
    }
}

/// Many busy servers, where the usual recursion loses all digits.
#[test]
fn many_busy_servers() {
    let solution = single::solve(&one(
        3000,
        1000.0,
        &[(Kind::MultiServer { servers: 64 }, 100.0), (Kind::Queue, 1.0)],
    ));
    let solution = solution.expect("closed");
    same(solution.throughput_per_s, 64.0 / 100e-6);
    assert!(solution.stations[0].number > 2900.0 - 640.0);
}

/// Two stations of two servers, three customers: states counted by hand. Weights
/// of n customers at a station are 1, D, D²/2, D³/4.
#[test]
fn two_stations_of_several_servers() {
    let (a, b) = (6.0, 10.0);
    let weights = |d: f64| [1.0, d, d * d / 2.0, d * d * d / 4.0];
    let constant = |n: usize| (0..=n).map(|i| weights(a)[i] * weights(b)[n - i]).sum::<f64>();
    let two = Kind::MultiServer { servers: 2 };
    let solution = single::solve(&one(3, 0.0, &[(two.clone(), a), (two, b)])).expect("closed");
    same(solution.throughput_per_s, 1e6 * constant(2) / constant(3));
    let at_a: f64 = (0..=3).map(|i| i as f64 * weights(a)[i] * weights(b)[3 - i]).sum();
    same(solution.stations[0].number, at_a / constant(3));
}

/// Think times a thousand times the service, many customers: no overflow.
#[test]
fn weights_of_any_size() {
    let servers = Kind::MultiServer { servers: 8 };
    let solution = single::solve(&one(5000, 1e6, &[(servers, 10.0), (Kind::Delay, 5.0)]));
    let solution = solution.expect("closed");
    same(solution.throughput_per_s, repaired_per_s_log(5000, 8, 1e6 + 5.0, 10.0));
}

/// As [`repaired_per_s`], with weights that do not overflow.
fn repaired_per_s_log(machines: u32, repairers: u32, run_us: f64, repair_us: f64) -> f64 {
    let mut logs = vec![0.0f64];
    for broken in 1..=machines {
        let born = f64::from(machines - broken + 1) / run_us;
        let dead = f64::from(broken.min(repairers)) / repair_us;
        logs.push(logs[broken as usize - 1] + (born / dead).ln());
    }
    let most = logs.iter().copied().fold(0.0, f64::max);
    let weights: Vec<f64> = logs.iter().map(|log| (log - most).exp()).collect();
    let busy = (0..).zip(&weights).map(|(broken, w)| f64::from(repairers.min(broken)) * w);
    busy.sum::<f64>() / weights.iter().sum::<f64>() / repair_us * 1e6
}

/// Customers alike in two classes are one class.
#[test]
fn classes_alike_are_one() {
    let demands = [5.0, 12.0, 7.0];
    let split = demands.map(|demand| (Kind::Queue, vec![demand; 2]));
    let both = demands.map(|demand| (Kind::Queue, demand));
    let two = several::solve(&network(&[(3, 20.0), (4, 20.0)], &split)).expect("closed");
    let single = single::solve(&one(7, 20.0, &both)).expect("closed");
    same(two.throughput_per_s, single.throughput_per_s);
    same(two.classes[0].residence_us, single.classes[0].residence_us);
    same(two.classes[1].throughput_per_s, single.throughput_per_s * 4.0 / 7.0);
}

/// Two classes, two stations, one customer each. By hand: alone, class i has
/// Q_ik = D_ik / D_i; together R_ik = D_ik (1 + Q_jk). Demands differ by visits, so
/// that the network has product form.
#[test]
fn two_classes_by_hand() {
    let classes = [0, 1].map(|index| Class {
        name: format!("{index}"),
        load: Load::Closed { population: 1, think_us: 0.0 },
    });
    let visits = [[1.0, 3.0], [4.0, 1.0]];
    let stations = [0, 1].map(|index| Station {
        name: format!("{index}"),
        kind: Kind::Queue,
        visits: visits[index].to_vec(),
        service_us: vec![10.0; 2],
    });
    let network = Network::new("", 0.0, classes.into(), stations.into()).expect("a network");
    let solution = several::solve(&network).expect("closed");
    assert!(solution.approximations.is_empty());
    let demand = |station: usize, class: usize| 10.0 * visits[station][class];
    for class in 0..2 {
        let other = 1 - class;
        let alone = demand(0, other) + demand(1, other);
        let residence = |station| demand(station, class) * (1.0 + demand(station, other) / alone);
        same(solution.classes[class].residence_us, residence(0) + residence(1));
    }
}

#[test]
fn schweitzer_is_exact_for_one_customer_and_near_for_more() {
    let stations = [(Kind::Queue, 10.0), (Kind::Queue, 4.0), (Kind::Delay, 30.0)];
    let exact = single::solve(&one(1, 5.0, &stations)).expect("closed");
    let near = schweitzer::solve(&one(1, 5.0, &stations), Control::default()).expect("converges");
    same(exact.throughput_per_s, near.throughput_per_s);
    assert!(near.approximations.is_empty());
    for customers in [2, 5, 20, 100] {
        let network = one(customers, 5.0, &stations);
        let exact = single::solve(&network).expect("closed").throughput_per_s;
        let near = schweitzer::solve(&network, Control::default()).expect("converges");
        assert!((near.throughput_per_s / exact - 1.0).abs() < 0.05, "{customers}");
        assert_eq!(near.approximations.len(), 1);
    }
}

#[test]
fn an_iteration_without_end_is_an_error() {
    let network = one(50, 0.0, &[(Kind::Queue, 10.0), (Kind::Queue, 9.0)]);
    let control = Control { tolerance: 1e-12, iterations: 3 };
    let error = schweitzer::solve(&network, control).expect_err("too few");
    assert!(matches!(error, Error::NoConvergence { iterations: 3, .. }), "{error}");
    assert!(error.to_string().contains("allow more iterations"), "{error}");
}

#[test]
fn the_right_solver_is_chosen() {
    let queue =
        |classes: usize| [(Kind::Queue, vec![10.0; classes]), (Kind::Queue, vec![3.0; classes])];
    let method = |network: &Network| network.solve().expect("solvable").method;
    assert_eq!(method(&network(&[(1000, 0.0)], &queue(1))), Method::ExactMva);
    assert_eq!(method(&network(&[(20, 0.0), (30, 1.0)], &queue(2))), Method::ExactMva);
    assert_eq!(method(&network(&[(9999, 0.0), (9999, 1.0)], &queue(2))), Method::Schweitzer);
    let most = network(&[(crate::network::LARGEST_POPULATION, 0.0)], &queue(1));
    let solution = most.solve().expect("solvable");
    assert_eq!(solution.method, Method::Schweitzer);
    assert!((solution.throughput_per_s / 1e5 - 1.0).abs() < 1e-6);
    assert!(single::solve(&most).is_err());
    assert!(several::solve(&network(&[(9999, 0.0); 2], &queue(2))).is_err());
    let open = most_open();
    assert!(single::solve(&open).is_err() && several::solve(&open).is_err());
    assert!(schweitzer::solve(&open, Control::default()).is_err());
}

fn most_open() -> Network {
    let text = "class = [{ name = \"a\", rate_per_s = 3 }]\n\
                station = [{ name = \"x\", kind = \"queue\", service_us = 1 }]";
    Network::from_toml(text).expect("good")
}

fn kinds() -> impl Strategy<Value = Kind> {
    prop_oneof![
        3 => Just(Kind::Queue),
        1 => Just(Kind::Delay),
        1 => (2..12u32).prop_map(|servers| Kind::MultiServer { servers }),
        1 => (1..4u32).prop_map(Kind::evenly),
    ]
}

fn networks() -> impl Strategy<Value = Network> {
    (1..4usize, 1..5usize).prop_flat_map(|(classes, stations)| {
        let station = (kinds(), prop::collection::vec(0.5..50.0f64, classes));
        let class = (1..6u32, 0.0..200.0f64);
        let stations = prop::collection::vec(station, stations);
        (prop::collection::vec(class, classes), stations).prop_map(|(c, s)| network(&c, &s))
    })
}

proptest! {
    #[test]
    fn laws_hold(network in networks()) {
        let near = schweitzer::solve(&network, Control::default()).expect("converges");
        let exact = network.solve().expect("small");
        prop_assert_eq!(exact.method, Method::ExactMva);
        for solution in [&exact, &near] {
            for (class, (population, think_us)) in
                network.populations().into_iter().zip(network.thinks_us()).enumerate()
            {
                // Little's law: customers that are not in the network think.
                let figures = &solution.classes[class];
                let all = figures.number + figures.throughput_per_s * think_us * 1e-6;
                prop_assert!((all - f64::from(population)).abs() < 1e-6 * f64::from(population));
                prop_assert!(figures.residence_us >= figures.demand_us * (1.0 - 1e-12));
            }
            let number: f64 = solution.stations.iter().map(|station| station.number).sum();
            prop_assert!((number - solution.number).abs() <= 1e-9 * number);
        }
        // No bound is proved. Of six million such networks, one was off by more than 30 %,
        // and none by 35 %.
        for (exact, near) in exact.classes.iter().zip(&near.classes) {
            prop_assert!((near.throughput_per_s / exact.throughput_per_s - 1.0).abs() < 0.4);
        }
    }

    #[test]
    fn a_customer_more_is_never_fewer_served(
        stations in prop::collection::vec((kinds(), 0.5..50.0f64), 1..6),
        population in 1..60u32,
        think_us in 0.0..300.0f64,
    ) {
        let network = one(population, think_us, &stations);
        let solution = single::solve(&network).expect("closed");
        let more = single::solve(&network.with_population(population + 1).expect("one class"));
        let more = more.expect("closed");
        prop_assert!(more.throughput_per_s >= solution.throughput_per_s * (1.0 - 1e-12));
        prop_assert!(more.classes[0].residence_us >= solution.classes[0].residence_us * (1.0 - 1e-12));
        for station in solution.stations.iter().filter(|station| station.kind != Kind::Delay) {
            prop_assert!(station.utilization <= 1.0 + 1e-9);
        }
    }
}
