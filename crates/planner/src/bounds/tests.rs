use super::*;
use crate::closed::single;
use crate::network::{Class, Kind, Station};
use proptest::prelude::*;

fn closed(population: u32, think_us: f64, stations: &[(Kind, f64)]) -> Network {
    let class = Class { name: "a".into(), load: Load::Closed { population, think_us } };
    let station = |(index, (kind, demand_us)): (usize, &(Kind, f64))| Station {
        name: format!("station {index}"),
        kind: kind.clone(),
        visits: vec![1.0],
        service_us: vec![*demand_us],
    };
    let stations = stations.iter().enumerate().map(station).collect();
    Network::new("test", 0.0, vec![class], stations).expect("a network")
}

fn of(network: &Network) -> ClosedBounds {
    let Bounds::Closed(mut classes) = bounds(network) else { panic!("closed") };
    classes.remove(0)
}

/// A processor of 5 s and two disks of 4 and 3 s, and 15 s of thinking: 1/5 a
/// second at most, and from (12 + 15) / 5 users on some wait.
#[test]
fn of_a_closed_network() {
    let stations = [(Kind::Queue, 5e6), (Kind::Queue, 4e6), (Kind::Queue, 3e6)];
    let many = of(&closed(20, 15e6, &stations));
    assert_eq!((many.station.as_deref(), many.at_most_per_s), (Some("station 0"), 0.2));
    assert_eq!(many.knee_customers, Some(5.4));
    assert_eq!(many.residence_at_least_us, 20.0 * 5e6 - 15e6);
    assert_eq!(many.at_least_per_s, Some(20.0 / (15.0 + 20.0 * 12.0)));
    let few = of(&closed(1, 15e6, &stations));
    let (lower, upper) = few.balanced_per_s.expect("queues only");
    for bound in [few.at_most_per_s, few.at_least_per_s.expect("one class"), lower, upper] {
        assert!((bound - 1.0 / 27.0).abs() < 1e-12);
    }
    assert_eq!(few.residence_at_least_us, 12e6);
}

#[test]
fn where_nobody_waits() {
    let delays = of(&closed(9, 1.0, &[(Kind::Delay, 2.0)]));
    assert_eq!((delays.station, delays.at_most_per_s), (None, 3e6));
    assert_eq!((delays.knee_customers, delays.balanced_per_s), (None, None));
}

#[test]
fn of_an_open_network() {
    let text = r#"
        rate_per_s = 5
        class = [{ name = "a", share = 0.5 }, { name = "b", share = 0.5 }]
        station = [
            { name = "x", kind = "queue", service_us = { a = 10, b = 30 } },
            { name = "y", kind = "multi-server", servers = 2, service_us = 50 },
            { name = "z", kind = "split", shares = [0.9, 0.1], visits = 2, service_us = 15 },
            { name = "w", kind = "delay", service_us = 1e9 },
        ]
    "#;
    let Bounds::Open(open) = bounds(&Network::from_toml(text).expect("good")) else {
        panic!("open")
    };
    assert_eq!(open.station.as_deref(), Some("z"));
    assert!((open.saturates_at_per_s.expect("a limit") * 27e-6 - 1.0).abs() < 1e-12);
    assert_eq!(open.light_load_us, [1e9 + 90.0, 1e9 + 110.0]);
}

proptest! {
    #[test]
    fn exact_solutions_keep_within(
        demands_us in prop::collection::vec(0.5..50.0f64, 1..6),
        delay_us in 0.0..100.0f64,
        servers in 1..4u32,
        population in 1..50u32,
        think_us in 0.0..300.0f64,
    ) {
        let mut stations: Vec<(Kind, f64)> =
            demands_us.iter().map(|demand_us| (Kind::Queue, *demand_us)).collect();
        stations.push((Kind::Delay, delay_us));
        if servers > 1 {
            stations.push((Kind::MultiServer { servers }, 20.0));
        }
        let network = closed(population, think_us, &stations);
        let solution = single::solve(&network).expect("closed");
        let bounds = of(&network);
        let more = 1.0 + 1e-9;
        let throughput = solution.throughput_per_s;
        prop_assert!(throughput <= bounds.at_most_per_s * more);
        prop_assert!(throughput * more >= bounds.at_least_per_s.expect("one class"));
        prop_assert!(solution.classes[0].residence_us * more >= bounds.residence_at_least_us);
        prop_assert_eq!(bounds.balanced_per_s.is_some(), servers == 1);
        if let Some((lower, upper)) = bounds.balanced_per_s {
            prop_assert!(lower <= throughput * more && throughput <= upper * more);
            prop_assert!(bounds.at_least_per_s.expect("one class") <= lower * more);
        }
    }
}
