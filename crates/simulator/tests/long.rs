//! What is long: transfers of more than all sequence numbers, pauses of days, and the months that
//! 32 bits of milliseconds last.
extern crate anabranch_simulator as simulator;

use net::application::ConnectError;
use net::{Application, Call, Connections, Datagram};
use simulator::{HostId, LinkConfig, Network};
use std::sync::Arc;
use std::time::Duration;
use tcp::congestion::Algorithm;
use tcp::{Events, Tcb};
use wire::{Address, Endpoint, Instant, Slice};

/// Writes up to what it is allowed, and reads all.
#[derive(Default)]
struct Talk {
    allowed: u64,
    sent: u64,
    got: u64,
    ended: Vec<Option<tcp::Error>>,
}

impl Application for Talk {
    type Connection = ();
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<()> {
        Some(())
    }
    fn refused(&mut self, (): ()) {}
    fn connect_failed(&mut self, (): (), error: ConnectError) {
        panic!("{error}");
    }
    fn ready(&mut self, (): &mut (), tcb: &mut Tcb, _: Events, _: Instant) -> bool {
        while let Some(slice) = tcb.pop_slice(usize::MAX) {
            self.got += slice.len() as u64;
        }
        let zeros = Slice::copy_of(&[0; 1448]);
        while self.sent < self.allowed && tcb.send_room() > 0 && tcb.queued() < tcb.send_buffer() {
            let n = zeros.len().min((self.allowed - self.sent) as usize);
            if tcb.send_slice(zeros.range(0, n), Some(0)).is_err() {
                break;
            }
            self.sent += n as u64;
        }
        false
    }
    fn closed(&mut self, (): (), tcb: &mut Tcb) {
        self.ended.push(tcb.error());
    }
    fn datagram(&mut self, (): &(), _: Datagram) -> bool {
        true
    }
}

struct Pair {
    network: Network<Talk>,
    hosts: [HostId; 2],
    allowed: [u64; 2],
}

impl Pair {
    fn new(mut network: Network<Talk>, link: LinkConfig, v6: bool, tcp: tcp::Config) -> Pair {
        let (there, back) = (network.add_link(link), network.add_link(link));
        let near = network.add_link(LinkConfig::default());
        let address = |n: u8| -> Address {
            match v6 {
                true => std::net::Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, n.into()).into(),
                false => std::net::Ipv4Addr::new(10, 0, 0, n).into(),
            }
        };
        let tune = |config: &mut net::Config| config.tcp = Arc::new(tcp.clone());
        let a = network.add_host(address(1), (there, near), Talk::default(), tune);
        let b = network.add_host(address(2), (back, near), Talk::default(), tune);
        let remote = Endpoint { address: address(2), port: 80 };
        network.call(b, Call::Listen(remote, ()));
        network.call(a, Call::Connect { remote, local: None, connection: () });
        let mut pair = Pair { network, hosts: [a, b], allowed: [0; 2] };
        pair.pass(Duration::from_secs(5));
        pair
    }

    fn pass(&mut self, time: Duration) {
        self.network.run_until(self.network.now() + time);
    }

    /// One of them has so much more to say.
    fn say(&mut self, who: usize, bytes: u64) {
        self.allowed[who] += bytes;
        let host = self.hosts[who];
        self.network.domain_mut(host).app.allowed = self.allowed[who];
        let ids = self.network.domain_mut(host).connections_mut().ids();
        ids.into_iter().for_each(|id| self.network.call(host, Call::Notify(id)));
    }

    fn got(&self, who: usize) -> u64 {
        self.network.domain(self.hosts[who]).app.got
    }

    /// How long it takes until all is there.
    fn arrives(&mut self, who: usize, most: Duration) -> Duration {
        let start = self.network.now();
        while self.got(1 - who) < self.allowed[who] {
            self.pass(Duration::from_millis(50));
            let took = self.network.now().since(start);
            let (got, info) = (self.got(1 - who), self.info(who));
            assert!(took < most, "{got} of {} after {took:?}: {info:?}", self.allowed[who]);
        }
        self.network.now().since(start)
    }

    fn info(&mut self, who: usize) -> tcp::Info {
        let host = self.hosts[who];
        let infos = self.network.infos(host);
        let ended = &self.network.domain(host).app.ended;
        infos.first().map(|(_, info)| *info).unwrap_or_else(|| panic!("it ended: {ended:?}"))
    }
}

/// What a long way with a deep queue is to TCP: 250 ms, and as much again in the queue.
fn far(loss: f64) -> LinkConfig {
    let rate = 1_000_000_000;
    let (queue, delay) = ((rate / 8 / 4) as usize, Duration::from_millis(125));
    LinkConfig { rate, queue, delay, loss, ..LinkConfig::default() }
}

/// Buffers for that.
fn large() -> tcp::Config {
    tcp::Config::default().with_max_receive_buffer(128 << 20).with_max_send_buffer(128 << 20)
}

/// More than all sequence numbers, at 250 ms, with loss: it never stands still.
#[test]
fn more_than_all_sequence_numbers_over_a_long_way() {
    let config = large().with_congestion(Algorithm::Bbr);
    let mut pair = Pair::new(Network::new(3), far(1e-3), false, config);
    pair.say(0, 9 << 29);
    let mut before = 0;
    while pair.got(1) < pair.allowed[0] {
        pair.pass(Duration::from_secs(2));
        assert!(pair.got(1) > before, "it stands still: {:?}", pair.info(0));
        before = pair.got(1);
    }
    let passed = pair.network.now().since(Instant::ZERO);
    assert!(passed < Duration::from_secs(60), "{passed:?}");
}

/// While slow start fills the queue, a retransmission is lost, too, and round trips are twice as long as
/// the time-out knew: RACK sees to it, and nothing is sent twice. (At a pace, slow start does not
/// fill it.)
#[test]
fn a_queue_that_fills_behind_a_hole_is_no_time_out() {
    let config = large().with_pacing(false);
    let mut pair = Pair::new(Network::new(9), far(1e-5), false, config);
    pair.say(0, 1 << 30);
    pair.arrives(0, Duration::from_secs(400));
    pair.pass(Duration::from_secs(3));
    pair.say(1, 1 << 30);
    pair.arrives(1, Duration::from_secs(400));
    let info = pair.info(1);
    assert!(info.retransmits > 100, "{info:?}");
    assert!(info.duplicates < 100, "{info:?}");
}

/// Five years, with pauses of up to 48 days: time stamps go round 40 times, and sequence numbers, the
/// neighbours and keep-alives grow old. Each time all comes at once, and nothing is sent twice.
#[test]
fn pauses_of_days() {
    const DAY: Duration = Duration::from_secs(86_400);
    let pauses = [DAY / 4 * 5, 10 * DAY, 26 * DAY, 48 * DAY, DAY / 144];
    let link =
        LinkConfig { delay: Duration::from_millis(125), rate: 100_000_000, ..Default::default() };
    for (v6, keeps_alive, stamps) in
        [(false, false, true), (true, true, true), (false, true, false)]
    {
        let keepalive = keeps_alive.then(|| tcp::Keepalive::new(Duration::from_secs(7200)));
        let config = tcp::Config::default().with_timestamps(stamps).with_keepalive(keepalive);
        let mut pair = Pair::new(Network::ethernet(5), link, v6, config);
        for pause in pauses.into_iter().cycle().take(60) {
            for who in [0, 1] {
                pair.say(who, 1 << 20);
                pair.arrives(who, Duration::from_secs(3));
                pair.pass(pause);
            }
        }
        assert_eq!([0, 1].map(|who| pair.info(who).retransmits), [0, 0]);
    }
}
