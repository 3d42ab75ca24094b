//! BBR over links: it keeps queues short, follows the rate of the bottleneck, and shares it.
extern crate anabranch_simulator as simulator;

use net::Call;
use simulator::{Connection, HostId, Job, LinkConfig, LinkId, Network, Transfers, jain};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tcp::congestion::Algorithm;
use wire::{Address, Endpoint};

const RTT: Duration = Duration::from_millis(40);

/// Flows from a host each through one bottleneck, in one direction.
struct Shared {
    network: Network<Transfers>,
    server: HostId,
    senders: Vec<HostId>,
    bottleneck: LinkId,
    link: LinkConfig,
}

/// What has passed in some time.
struct Passed {
    /// Bytes of each flow.
    shares: Vec<f64>,
    /// Part of the bottleneck that they used, with their headers.
    used: f64,
    /// The queue, looked at each millisecond: mean, and most, bytes.
    mean_queue: f64,
    most_queue: usize,
}

impl Shared {
    fn new(flows: u8, algorithm: Algorithm, link: LinkConfig) -> Shared {
        Shared::seeded(42 + u64::from(flows), flows, algorithm, link)
    }

    fn seeded(seed: u64, flows: u8, algorithm: Algorithm, link: LinkConfig) -> Shared {
        Shared::tuned(seed, flows, LinkConfig { delay: RTT / 2, ..link }, |config| {
            config.with_congestion(algorithm)
        })
    }

    /// With the delay of `link` in both directions, and as `tcp` has it.
    fn tuned(
        seed: u64,
        flows: u8,
        link: LinkConfig,
        tcp: impl Fn(tcp::Config) -> tcp::Config,
    ) -> Shared {
        let mut network = Network::new(seed);
        let far = LinkConfig { delay: link.delay, ..LinkConfig::default() };
        let bottleneck = network.add_link(link);
        let (back, near) = (network.add_link(far), network.add_link(LinkConfig::default()));
        let tune = |config: &mut net::Config| {
            config.tcp = Arc::new(tcp(tcp::Config::default()));
        };
        let address = |n| Address::from(Ipv4Addr::new(10, 0, 0, n));
        let server = network.add_host(address(1), (near, near), Transfers::default(), tune);
        let remote = Endpoint { address: address(1), port: 80 };
        network.call(server, Call::Listen(remote, ()));
        let mut senders = Vec::new();
        for flow in 0..flows {
            let links = (bottleneck, back);
            let sender = network.add_host(address(10 + flow), links, Transfers::default(), tune);
            let connection = Connection::client(Job { id: flow.into(), up: Job::ENDLESS, down: 0 });
            network.call(sender, Call::Connect { remote, local: None, connection });
            network.run_until(network.now() + Duration::from_millis(100));
            senders.push(sender);
        }
        Shared { network, server, senders, bottleneck, link }
    }

    fn got(&self) -> BTreeMap<u64, u64> {
        self.network.domain(self.server).app.endless.clone()
    }

    fn pass(&mut self, time: Duration) -> Passed {
        let (from, before) = (self.network.now(), self.got());
        let (mut sum, mut most, mut looks) = (0, 0, 0);
        while self.network.now() < from + time {
            self.network.run_until(self.network.now() + Duration::from_millis(1));
            let now = self.network.now();
            let waiting = self.network.link_mut(self.bottleneck).waiting(now);
            (sum, most, looks) = (sum + waiting, most.max(waiting), looks + 1);
        }
        let after = self.got();
        let shares: Vec<f64> = after
            .iter()
            .map(|(id, bytes)| (bytes - before.get(id).copied().unwrap_or(0)) as f64)
            .collect();
        // 1,448 of 1,500 bytes are payload.
        let bits = shares.iter().sum::<f64>() * 8.0 * 1500.0 / 1448.0;
        let used = bits / self.link.rate as f64 / time.as_secs_f64();
        Passed { shares, used, mean_queue: sum as f64 / f64::from(looks), most_queue: most }
    }

    fn set_rate(&mut self, rate: u64) {
        self.link.rate = rate;
        self.network.link_mut(self.bottleneck).set(self.link);
    }

    fn retransmits(&mut self) -> u64 {
        let again = |network: &mut Network<Transfers>, host| {
            network.infos(host).iter().map(|(_, i)| u64::from(i.retransmits)).sum::<u64>()
        };
        let senders = self.senders.clone();
        senders.into_iter().map(|host| again(&mut self.network, host)).sum()
    }
}

/// What the path holds at this rate, bytes.
fn product(rate: u64) -> usize {
    (rate as f64 / 8.0 * RTT.as_secs_f64()) as usize
}

/// 100 Mbit/s and 40 ms, of which 1 % is lost by chance. A segment that is lost again is there
/// after three round trips, and what follows it waits for it: the buffers that begin with twice
/// what the path holds have to grow.
#[test]
fn one_percent_of_loss_costs_little() {
    let rate = 100_000_000;
    let link = LinkConfig { rate, queue: product(rate), loss: 0.01, ..LinkConfig::default() };
    let used = |algorithm, seed| {
        let mut shared = Shared::seeded(seed, 1, algorithm, link);
        shared.pass(Duration::from_secs(2));
        let passed = shared.pass(Duration::from_secs(12));
        println!("{algorithm} at 1 %: {:.3} used, queue {:.0}", passed.used, passed.mean_queue);
        assert!(shared.retransmits() > 30);
        passed.used
    };
    for seed in [2, 3, 4, 5, 6, 7, 43] {
        assert!(used(Algorithm::Bbr, seed) >= 0.9, "seed {seed}");
    }
    assert!(used(Algorithm::Cubic, 43) < 0.5);
}

/// The same over other round trips and at another rate, where buffers hold what is in flight and
/// waits for what was lost. Over 10 ms at 100 Mbit/s 83 segments are a window, and over 20 ms at 20 Mbit/s
/// 33: two lost of them are more than 2 %, and chance. Of these 0.92 is asked of each of eight seeds. Over 250 ms
/// ProbeRTT costs most, and in some of 24 seeds chance takes more than 2 % in a round trip of Startup.
#[test]
fn it_costs_little_over_short_and_long_paths() {
    let short = (1..=8).flat_map(|seed| [(seed, 10, 100_000_000), (seed, 20, 20_000_000)]);
    let paths = [(1, 50, 100_000_000), (1, 100, 100_000_000), (1, 10, 1_000_000_000)];
    let long = (1..=24).map(|seed| (seed, 250, 100_000_000));
    for (seed, millis, rate) in short.chain(paths).chain(long) {
        let delay = Duration::from_millis(millis) / 2;
        let queue = (rate / 8 * millis / 1000) as usize;
        let link = LinkConfig { rate, queue, delay, loss: 0.01, ..LinkConfig::default() };
        let mut shared = Shared::tuned(seed, 1, link, |config| {
            let config = config.with_congestion(Algorithm::Bbr);
            config.with_max_receive_buffer(32 << 20).with_max_send_buffer(32 << 20)
        });
        shared.pass(Duration::from_secs(6));
        // Over 250 ms chance says whether ten seconds have one ProbeRTT or two.
        let passed = shared.pass(Duration::from_secs(if millis < 250 { 10 } else { 20 }));
        println!("{millis} ms, {rate} bit/s: {:.3} used", passed.used);
        let least = if (21..250).contains(&millis) { 0.91 } else { 0.92 };
        assert!(passed.used >= least, "seed {seed}, {millis} ms, {rate} bit/s: {:.3}", passed.used);
    }
}

/// A queue of four times what the path holds: CUBIC fills it, BBR does not need it.
#[test]
fn the_standing_queue_is_short() {
    let rate = 50_000_000;
    let link = LinkConfig { rate, queue: 4 * product(rate), ..LinkConfig::default() };
    let queue = |algorithm| {
        let mut shared = Shared::new(1, algorithm, link);
        shared.pass(Duration::from_secs(3));
        let passed = shared.pass(Duration::from_secs(12));
        let part = passed.mean_queue / product(rate) as f64;
        println!("{algorithm}: {:.3} used, queue {part:.3}, {}", passed.used, passed.most_queue);
        assert!(passed.used > 0.9, "{algorithm}: {}", passed.used);
        part
    };
    assert!(queue(Algorithm::Bbr) < 0.2);
    assert!(queue(Algorithm::Cubic) > 0.5);
}

/// The bottleneck becomes five times as fast, and slow again.
#[test]
fn a_rise_and_a_fall_of_the_rate_are_followed() {
    let (slow, fast) = (20_000_000, 100_000_000);
    let link = LinkConfig { rate: slow, queue: product(fast), ..LinkConfig::default() };
    let mut shared = Shared::new(1, Algorithm::Bbr, link);
    shared.pass(Duration::from_secs(4));
    let before = shared.pass(Duration::from_secs(3));
    shared.set_rate(fast);
    shared.pass(Duration::from_secs(6));
    let risen = shared.pass(Duration::from_secs(3));
    shared.set_rate(slow);
    shared.pass(Duration::from_secs(12));
    let fallen = shared.pass(Duration::from_secs(6));
    println!("{:.3}, risen {:.3}, fallen {:.3}", before.used, risen.used, fallen.used);
    for passed in [&before, &risen, &fallen] {
        assert!(passed.used > 0.9, "{} {} {}", before.used, risen.used, fallen.used);
    }
    assert!(fallen.mean_queue < 0.5 * product(slow) as f64, "{}", fallen.mean_queue);
}

/// Four flows that began one after another.
#[test]
fn flows_share() {
    let rate = 40_000_000;
    let link = LinkConfig { rate, queue: product(rate), ..LinkConfig::default() };
    let mut shared = Shared::new(4, Algorithm::Bbr, link);
    shared.pass(Duration::from_secs(15));
    let passed = shared.pass(Duration::from_secs(30));
    let index = jain(&passed.shares);
    println!("4 flows: index {index:.3}, {:.3} used, {:?}", passed.used, passed.shares);
    assert!(index >= 0.9, "{:?}", passed.shares);
    assert!(passed.used > 0.9, "{}", passed.used);
}

/// A queue of a tenth of what the path holds. Startup overflows it before it has found the rate, and from the
/// end of the first second on the path is used. With 1 % of chance loss as well.
#[test]
fn a_short_queue_costs_little_from_the_first_second_on() {
    for rate in [300_000_000, 1_000_000_000] {
        let queue = (rate / 8 / 50 / 10) as usize;
        let link = LinkConfig { rate, queue, delay: RTT / 4, ..LinkConfig::default() };
        let used = |seed, loss| {
            let mut shared = Shared::tuned(seed, 1, LinkConfig { loss, ..link }, |config| {
                let config = config.with_congestion(Algorithm::Bbr);
                config.with_max_receive_buffer(32 << 20).with_max_send_buffer(32 << 20)
            });
            shared.pass(Duration::from_millis(500));
            let used = shared.pass(Duration::from_secs(1)).used;
            println!("{rate} bit/s, {loss} lost, seed {seed}: {used:.3} used");
            used
        };
        assert!(used(1, 0.0) >= 0.93, "{rate} bit/s");
        let mut lossy: Vec<f64> = (1..=9).map(|seed| used(seed, 0.01)).collect();
        lossy.sort_by(f64::total_cmp);
        assert!(lossy[4] >= 0.9, "{rate} bit/s: {lossy:?}");
    }
}
