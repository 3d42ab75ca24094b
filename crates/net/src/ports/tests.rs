use super::*;
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, DefaultHasher};
use std::net::SocketAddr;

type Allocator = PortAllocator<BuildHasherDefault<DefaultHasher>>;

fn to(port: u16) -> Endpoint {
    SocketAddr::from(([10, 0, 0, 1], port)).into()
}

#[test]
fn each_destination_gets_every_port_once() {
    let mut ports = Allocator::new(32768, 60999, BuildHasherDefault::default());
    for destination in [80, 443] {
        let all: HashSet<u16> =
            (0..28232).map(|_| ports.allocate(to(destination)).unwrap()).collect();
        assert_eq!(all.len(), 28232);
        assert!(all.iter().all(|p| (32768..=60999).contains(p)));
        assert_eq!(ports.allocate(to(destination)), None);
    }
}

#[test]
fn the_port_that_has_been_free_longest_comes_back_first() {
    let mut ports = Allocator::new(1000, 1003, BuildHasherDefault::default());
    let all: Vec<u16> = (0..4).map(|_| ports.allocate(to(80)).unwrap()).collect();
    ports.release(to(80), all[2]);
    ports.release(to(80), all[0]);
    assert_eq!(ports.allocate(to(80)), Some(all[2]));
    assert_eq!(ports.allocate(to(80)), Some(all[0]));
    assert_eq!(ports.allocate(to(80)), None);
}

#[test]
fn a_destination_without_connections_is_forgotten() {
    let mut ports = Allocator::new(1000, 1003, BuildHasherDefault::default());
    for i in 0..1000 {
        let port = ports.allocate(to(i)).unwrap();
        ports.release(to(i), port);
    }
    assert!(ports.destinations.is_empty());
}
