//! What is late is not lost: few segments are sent twice where the network reorders.
extern crate anabranch_simulator as simulator;

use net::Call;
use simulator::{Connection, HostId, Job, LinkConfig, LinkId, Network, Transfers};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::{Address, Endpoint};

/// Of the bottleneck, bits a second.
const RATE: u64 = 100_000_000;

/// A sender of 3 % of segments that come late.
struct Late {
    network: Network<Transfers>,
    sender: HostId,
    server: HostId,
    bottleneck: LinkId,
    back: LinkId,
}

/// A bottleneck of `rate` bits a second over `rtt` ms, with a queue of so many times what the path
/// holds. What is late is so by up to the duration.
fn slow(rate: u64, (loss, jitter): (f64, Duration), rtt: u64, queue: f64) -> LinkConfig {
    LinkConfig {
        rate,
        queue: (queue * (rate / 8 * rtt / 1000) as f64) as usize,
        loss,
        reorder: 0.03,
        jitter,
        ..far(rtt)
    }
}

/// Half of a round trip of `rtt` ms.
fn far(rtt: u64) -> LinkConfig {
    LinkConfig { delay: Duration::from_millis(rtt / 2), ..LinkConfig::default() }
}

impl Late {
    /// Up to `jitter` ms late, over 100 ms, with a queue of all that the path holds.
    fn new(seed: u64, loss: f64, jitter: u64) -> Late {
        Late::over(seed, (loss, jitter), 100, 1.0)
    }

    /// Over `rtt` ms, with a queue of so many times what the path holds.
    fn over(seed: u64, chances: (f64, u64), rtt: u64, queue: f64) -> Late {
        let jitter = Duration::from_millis(chances.1);
        Late::at(RATE, seed, (chances.0, jitter), rtt, queue)
    }

    /// With a bottleneck of `rate` bits a second.
    fn at(rate: u64, seed: u64, late: (f64, Duration), rtt: u64, queue: f64) -> Late {
        let mut network = Network::new(seed);
        let bottleneck = network.add_link(slow(rate, late, rtt, queue));
        let (back, near) = (network.add_link(far(rtt)), network.add_link(LinkConfig::default()));
        let address = |n| Address::from(Ipv4Addr::new(10, 0, 0, n));
        let server = network.add_host(address(1), (near, near), Transfers::default(), |_| {});
        let remote = Endpoint { address: address(1), port: 80 };
        network.call(server, Call::Listen(remote, ()));
        let links = (bottleneck, back);
        let sender = network.add_host(address(10), links, Transfers::default(), |_| {});
        let connection = Connection::client(Job { id: 0, up: Job::ENDLESS, down: 0 });
        network.call(sender, Call::Connect { remote, local: None, connection });
        Late { network, sender, server, bottleneck, back }
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
/// its window.
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

/// What was sent in a burst, or while the queue was long, takes longer than what came after it,
/// by whose round trip it would be taken for lost as soon as it is late besides. Most of what
/// is left is what shows that the network reorders at all.
#[test]
fn what_waited_in_a_queue_has_the_time_of_those_beside_it() {
    // RFC 8985 6.2/8
    let spurious = |seed| {
        let late = (0.001, Duration::from_micros(2500));
        Late::at(1_000_000_000, seed, late, 10, 1.0).pass(10).0
    };
    let all = (1..=10).map(spurious).sum::<u64>();
    assert!(all <= 20, "{all}");
}

/// A route that takes 100 ms after it has taken 2 ms for two seconds. D-SACKs widen the window
/// there too, but after 16 recoveries it was a quarter of 2 ms again, and in the last 20 s a quarter
/// to a half of what was late went twice.
#[test]
fn what_is_late_on_a_route_that_has_become_long_is_not_lost() {
    // RFC 8985 6.2/1
    for jitter in [10, 20, 40] {
        let chances = (0.003, Duration::from_millis(jitter));
        let mut late = Late::at(RATE, 7, (0.0, Duration::ZERO), 2, 20.0);
        late.network.run_until(late.network.now() + Duration::from_secs(2));
        late.network.link_mut(late.bottleneck).set(slow(RATE, chances, 100, 1.0));
        late.network.link_mut(late.back).set(far(100));
        let before = late.pass(70);
        let least = late.network.infos(late.sender)[0].1.min_rtt;
        assert!(least >= Some(Duration::from_millis(100)), "{least:?}");
        let after = late.pass(20);
        let (twice, delayed) = (after.0 - before.0, after.1 - before.1);
        assert!(delayed > 100, "{delayed}");
        assert!(twice * 20 <= delayed, "{jitter} ms: {twice} of {delayed}");
    }
}

/// Slow start overflows the queue, and from then on segments are lost and late at once. A
/// retransmission that fills the first hole must not make what is late behind it look old (PAWS):
/// all of it would go again, and the first of that do the same to what is late then.
#[test]
fn the_path_is_used() {
    for (rtt, queue, jitter) in
        [(50, 0.3, 25), (50, 1.0, 25), (100, 1.0, 10), (100, 1.0, 50), (100, 2.0, 50)]
    {
        let mut late = Late::over(7, (0.0, jitter), rtt, queue);
        late.network.run_until(late.network.now() + Duration::from_secs(20));
        let got = late.network.domain(late.server).app.endless[&0];
        // 1,448 of 1,500 bytes are payload.
        let used = got as f64 * 8.0 * 1500.0 / 1448.0 / (20.0 * RATE as f64);
        let counts = late.network.counts(late.bottleneck);
        assert!(counts.dropped > 100 && counts.delayed > 2000, "{counts:?}");
        let (_, info) = &late.network.infos(late.sender)[0];
        let again = u64::from(info.retransmits);
        assert!(again <= counts.dropped + counts.delayed / 100, "{again} of {counts:?}");
        assert!(used >= 0.9, "{rtt} ms, queue of {queue}, {jitter} ms late: {used:.3}");
    }
}
