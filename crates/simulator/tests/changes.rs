//! Paths that become others: what was known of the one must not hold up the other.
extern crate anabranch_simulator as simulator;

use net::Call;
use simulator::{Connection, HostId, Job, LinkConfig, LinkId, Network, Transfers};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::{Address, Endpoint};

/// Bits a second.
const RATE: u64 = 100_000_000;

/// A sender that never ends, and the way there and back.
struct Path {
    network: Network<Transfers>,
    server: HostId,
    links: [LinkId; 2],
}

/// A link that takes so long.
fn link(delay: Duration) -> LinkConfig {
    LinkConfig { rate: RATE, queue: 1_000_000, delay, ..LinkConfig::default() }
}

impl Path {
    fn new(delay: Duration, tcp: tcp::Config) -> Path {
        let mut network = Network::new(3);
        let links = [network.add_link(link(delay)), network.add_link(link(delay))];
        let near = network.add_link(LinkConfig::default());
        let tune = |config: &mut net::Config| config.tcp = Arc::new(tcp.clone());
        let address = |n| Address::from(Ipv4Addr::new(10, 0, 0, n));
        let server = network.add_host(address(1), (links[1], near), Transfers::default(), tune);
        let client = network.add_host(address(2), (links[0], near), Transfers::default(), tune);
        let remote = Endpoint { address: address(1), port: 80 };
        network.call(server, Call::Listen(remote, ()));
        let connection = Connection::client(Job { id: 0, up: Job::ENDLESS, down: 0 });
        network.call(client, Call::Connect { remote, local: None, connection });
        Path { network, server, links }
    }

    /// From now on each way takes so long.
    fn takes(&mut self, delay: Duration) {
        for id in self.links {
            self.network.link_mut(id).set(link(delay));
        }
    }

    /// The part of the rate that is used in so many seconds.
    fn used(&mut self, seconds: u64) -> f64 {
        let got = |path: &Path| {
            path.network.domain(path.server).app.endless.get(&0).copied().unwrap_or(0)
        };
        let before = got(self);
        self.network.run_until(self.network.now() + Duration::from_secs(seconds));
        // 1,448 of 1,500 bytes are payload.
        let bits = (got(self) - before) as f64 * 8.0 * 1500.0 / 1448.0;
        bits / (RATE * seconds) as f64
    }
}

/// Round trips of five seconds, and then of a fifth of a millisecond: there what leaves has no rate of its own, and
/// kept that of the long path for twice its round trip.
#[test]
fn a_short_path_is_not_paced_as_the_long_one_before() {
    let mut path = Path::new(Duration::from_millis(2500), tcp::Config::default());
    path.used(60);
    path.takes(Duration::from_micros(100));
    path.used(2);
    let used = path.used(3);
    assert!(used > 0.5, "{used:.3}");
}

/// Round trips of 10 ms, and then of 400 ms. Who only receives has measured none since the handshake, and the
/// window stayed at its first 1 MiB, a fifth of what such a path carries.
#[test]
fn the_window_grows_with_a_path_that_becomes_long() {
    let mut path = Path::new(Duration::from_millis(5), tcp::Config::default());
    path.used(5);
    path.takes(Duration::from_millis(200));
    path.used(20);
    let used = path.used(20);
    assert!(used > 0.8, "{used:.3}");
}
