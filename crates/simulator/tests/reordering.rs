//! What is late is not lost: few segments are sent twice where the network reorders.
extern crate anabranch_simulator as simulator;

use net::Call;
use simulator::{Connection, HostId, Job, LinkConfig, LinkId, Network, Transfers};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::{Address, Endpoint};

/// A sender of 3 % of segments that come up to `jitter` ms late, at 100 Mbit/s and 100 ms.
struct Late {
    network: Network<Transfers>,
    sender: HostId,
    bottleneck: LinkId,
}

impl Late {
    fn new(seed: u64, loss: f64, jitter: u64) -> Late {
        let mut network = Network::new(seed);
        let far = LinkConfig { delay: Duration::from_millis(50), ..LinkConfig::default() };
        let bottleneck = network.add_link(LinkConfig {
            rate: 100_000_000,
            queue: 1_250_000,
            loss,
            reorder: 0.03,
            jitter: Duration::from_millis(jitter),
            ..far
        });
        let (back, near) = (network.add_link(far), network.add_link(LinkConfig::default()));
        let address = |n| Address::from(Ipv4Addr::new(10, 0, 0, n));
        let server = network.add_host(address(1), (near, near), Transfers::default(), |_| {});
        let remote = Endpoint { address: address(1), port: 80 };
        network.call(server, Call::Listen(remote, ()));
        let links = (bottleneck, back);
        let sender = network.add_host(address(10), links, Transfers::default(), |_| {});
        let connection = Connection::client(Job { id: 0, up: Job::ENDLESS, down: 0 });
        network.call(sender, Call::Connect { remote, local: None, connection });
        Late { network, sender, bottleneck }
    }

    /// Lets so many seconds pass. Segments sent again for nothing, as the receiver says, and
    /// late until now.
    fn pass(&mut self, seconds: u64) -> (u64, u64) {
        self.network.run_until(self.network.now() + Duration::from_secs(seconds));
        let counts = self.network.counts(self.bottleneck);
        let infos = self.network.infos(self.sender);
        let [(_, info)] = infos.as_slice() else { panic!("one connection: {infos:?}") };
        assert!(info.reordering, "it has not seen that the network reorders");
        (info.duplicates.into(), counts.delayed)
    }
}

/// What RACK (RFC 8985 6.2 step 4) sends again without need, once it has had 10 s to widen
/// its window. What is late and finds a hole before it filled by something with a later time
/// stamp is dropped by PAWS (RFC 7323 5.3): that it goes again is not without need.
#[test]
fn few_are_sent_twice() {
    // RFC 8985 6.2/6
    for (loss, jitter) in [(0.001, 10), (0.0, 20), (0.0, 40)] {
        let mut late = Late::new(7, loss, jitter);
        let (before, after) = (late.pass(10), late.pass(20));
        let (twice, delayed) = (after.0 - before.0, after.1 - before.1);
        assert!(delayed > 200, "{delayed}");
        assert!(twice * 50 <= delayed, "{jitter} ms: {twice} of {delayed}");
    }
}

/// That something was sent again for nothing shows that the network reorders, too. Before it
/// was taken so, these six sent 44 again without need.
#[test]
fn a_segment_sent_again_for_nothing_is_a_lesson() {
    let spurious = |seed| Late::new(seed, 0.01, 25).pass(9).0;
    let all = (1..=6).map(spurious).sum::<u64>();
    assert!(all <= 22, "{all}");
}
