use super::*;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::net::SocketAddr;

type Allocator = PortAllocator<BuildHasherDefault<DefaultHasher>>;

fn to(port: u16) -> Endpoint {
    SocketAddr::from(([10, 0, 0, 1], port)).into()
}

fn any(_: u16) -> bool {
    true
}

/// How often the most common step between neighbours comes.
fn most_common_step(ports: &[u16]) -> usize {
    let mut steps: HashMap<u16, usize> = HashMap::new();
    for pair in ports.windows(2) {
        *steps.entry(pair[1].wrapping_sub(pair[0])).or_default() += 1;
    }
    steps.into_values().max().unwrap_or(0)
}

#[test]
fn each_destination_gets_every_port_once() {
    for (first, last) in [(32768, 60999), (1024, 65535), (40000, 40000), (40000, 40001)] {
        let size = u32::from(last - first) + 1;
        let mut ports = Allocator::new(first, last, BuildHasherDefault::default());
        for destination in [80, 443] {
            let all: HashSet<u16> =
                (0..size).map(|_| ports.allocate(to(destination), any).unwrap()).collect();
            assert_eq!(all.len(), size as usize);
            assert!(all.iter().all(|p| (first..=last).contains(p)));
            assert_eq!(ports.allocate(to(destination), any), None);
        }
    }
}

#[test]
fn connections_one_after_another_have_ports_that_do_not_repeat() {
    let mut ports = Allocator::new(32768, 60999, BuildHasherDefault::default());
    let mut one_at_a_time = || {
        let port = ports.allocate(to(80), any).unwrap();
        ports.release(to(80), port);
        port
    };
    let all: Vec<u16> = (0..10_000).map(|_| one_at_a_time()).collect();
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 10_000);
    assert!(most_common_step(&all) < 20, "{}", most_common_step(&all));
    // The order is another one after it has been used up.
    let again: Vec<u16> = (0..28_232).map(|_| one_at_a_time()).skip(18_232).collect();
    assert_ne!(all, again);
}

#[test]
fn connections_at_a_time_have_ports_without_a_step() {
    let mut ports = Allocator::new(32768, 60999, BuildHasherDefault::default());
    let all: Vec<u16> = (0..10_000).map(|_| ports.allocate(to(80), any).unwrap()).collect();
    assert!(most_common_step(&all) < 20, "{}", most_common_step(&all));
    let others: Vec<u16> = (0..10_000).map(|_| ports.allocate(to(81), any).unwrap()).collect();
    assert_ne!(all, others);
    let steps: Vec<u16> = all.iter().zip(&others).map(|(a, b)| a.wrapping_sub(*b)).collect();
    assert!(steps.iter().collect::<HashSet<_>>().len() > 5000, "orders have nothing in common");
}

/// When the order is used up while one connection stays, ports that come back are
/// not drawn in the order in which they came.
#[test]
fn ports_that_come_back_are_drawn_at_random() {
    let mut ports = Allocator::new(1000, 1999, BuildHasherDefault::default());
    let all: Vec<u16> = (0..1000).map(|_| ports.allocate(to(80), any).unwrap()).collect();
    all[1..].iter().for_each(|port| ports.release(to(80), *port));
    let again: Vec<u16> = (0..400).map(|_| ports.allocate(to(80), any).unwrap()).collect();
    let in_order = again.iter().zip(&all[1..]).filter(|(a, b)| a == b).count();
    assert!(in_order < 40, "{in_order}");
    assert_eq!(again.iter().collect::<HashSet<_>>().len(), 400);
}

#[test]
fn ports_that_have_been_free_for_long_come_back_first() {
    let mut ports = Allocator::new(1000, 1003, BuildHasherDefault::default());
    let all: Vec<u16> = (0..4).map(|_| ports.allocate(to(80), any).unwrap()).collect();
    ports.release(to(80), all[2]);
    ports.release(to(80), all[0]);
    assert_eq!(ports.allocate(to(80), any), Some(all[2]));
    assert_eq!(ports.allocate(to(80), any), Some(all[0]));
    assert_eq!(ports.allocate(to(80), any), None);
}

#[test]
fn only_ports_that_fit_are_given() {
    let mut ports = Allocator::new(1000, 1999, BuildHasherDefault::default());
    let even = |port: u16| port.is_multiple_of(2);
    let all: HashSet<u16> = (0..500).map(|_| ports.allocate(to(80), even).unwrap()).collect();
    assert!(all.len() == 500 && all.iter().all(|port| port.is_multiple_of(2)));
    assert_eq!(ports.allocate(to(80), even), None);
}

#[test]
fn a_destination_without_connections_is_forgotten() {
    let mut ports = Allocator::new(1000, 1003, BuildHasherDefault::default());
    for i in 0..1000 {
        let port = ports.allocate(to(i), any).unwrap();
        ports.release(to(i), port);
    }
    assert!(ports.destinations.is_empty());
}

/// Before, a port that came back and did not fit was lost for as long as any other was in use:
/// two addresses of ours, whose ports differ in what unit they are for, took them from each other.
#[test]
fn ports_that_do_not_fit_are_not_lost() {
    let mut ports = Allocator::new(1000, 1999, BuildHasherDefault::default());
    let held = ports.allocate(to(80), any).unwrap();
    for _ in 0..100 {
        for rest in [0, 1] {
            let fits = |port: u16| port % 2 == rest;
            let some: Vec<u16> = (0..200).map_while(|_| ports.allocate(to(80), fits)).collect();
            assert_eq!(some.len(), 200);
            some.into_iter().for_each(|port| ports.release(to(80), port));
        }
    }
    ports.release(to(80), held);
}

/// Each connection that was not opened, since the table was full, left something behind for good.
#[test]
fn ports_that_were_not_used_leave_nothing() {
    let mut allocator = PortAllocator::new(100, 200, std::hash::RandomState::new());
    for n in 0..10_000 {
        let remote = to(n);
        let port = allocator.allocate(remote, any).expect("free");
        allocator.release(remote, port);
    }
    assert_eq!(allocator.destinations(), 0);
    // Nor is what was tried given again at once.
    let one = allocator.allocate(to(1), any).expect("free");
    allocator.release(to(1), one);
    assert_ne!(allocator.allocate(to(1), any), Some(one));
}
