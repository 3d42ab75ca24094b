//! What an attacker sends costs others little, and is forgotten.
extern crate anabranch_simulator as simulator;

use net::{Call, Connections};
use platform::SplitMix64;
use simulator::{Connection, HostId, Job, LinkConfig, LinkId, Network, Transfers};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::tcp::{Flags, Header, Options};
use wire::{Address, Endpoint, Instant, Packet, Seq, checksum, ipv4, protocol};

const VICTIM: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn mbit(rate: u64) -> LinkConfig {
    let delay = Duration::from_millis(5);
    LinkConfig { rate: rate * 1_000_000, queue: 500_000, delay, ..LinkConfig::default() }
}

fn server() -> Endpoint {
    Endpoint { address: VICTIM.into(), port: 80 }
}

/// A network with a server at [`VICTIM`], on a link of 1 Gbit/s.
fn network(app: Transfers) -> (Network<Transfers>, HostId) {
    let mut network = Network::new(11);
    let links = (network.add_link(mbit(1000)), network.add_link(mbit(1000)));
    let victim = network.add_host(VICTIM.into(), links, app, |_| ());
    network.call(victim, Call::Listen(server(), ()));
    (network, victim)
}

fn client(network: &mut Network<Transfers>, n: u8, links: (LinkId, LinkId)) -> HostId {
    let address = Address::from(Ipv4Addr::new(10, 0, 1, n));
    network.add_host(address, links, Transfers::default(), |_| ())
}

fn connect(network: &mut Network<Transfers>, host: HostId, job: Job) {
    let connection = Connection::client(job);
    network.call(host, Call::Connect { remote: server(), local: None, connection });
}

/// A SYN from an address that no host has.
fn syn(random: &mut SplitMix64) -> Packet {
    let source = Ipv4Addr::new(
        20 + random.below(100) as u8,
        random.next_u64() as u8,
        random.next_u64() as u8,
        1 + random.below(254) as u8,
    );
    let header = Header {
        source_port: 1024 + random.below(60_000) as u16,
        destination_port: 80,
        seq: Seq(random.next_u64() as u32),
        ack: Seq(0),
        flags: Flags::SYN,
        window: 65_535,
        urgent: 0,
        options: Options::NONE,
    };
    let mut bytes = vec![0; ipv4::LEN + header.len()];
    let (ip, tcp) = bytes.split_at_mut(ipv4::LEN);
    ipv4::Header::new(source, VICTIM, protocol::TCP, header.len()).emit(ip);
    header.emit(tcp);
    let pseudo = checksum::pseudo_header(source.into(), VICTIM.into(), protocol::TCP, 20);
    let sum = !checksum::add(pseudo, checksum::sum(tcp));
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    Packet::copy_of(&bytes)
}

fn received(network: &Network<Transfers>, host: HostId) -> u64 {
    network.domain(host).app.endless.values().sum()
}

/// 10^6 SYNs in 20 s: four established flows keep 90 % of their goodput, a new client
/// connects within 3 s in each second, and no more is kept than the backlog has.
#[test]
fn a_million_syns_cost_others_little() {
    const BACKLOG: usize = 256;
    let (mut network, victim) = network(Transfers::with_backlog(BACKLOG));
    for n in 1..=4 {
        let links = (network.add_link(mbit(10)), network.add_link(mbit(10)));
        let host = client(&mut network, n, links);
        connect(&mut network, host, Job { id: n.into(), up: Job::ENDLESS, down: 0 });
    }
    let links = (network.add_link(mbit(10)), network.add_link(mbit(10)));
    let newcomer = client(&mut network, 5, links);
    let pass = |network: &mut Network<Transfers>, seconds| {
        let until = network.now() + Duration::from_secs(seconds);
        network.run_until(until);
    };
    pass(&mut network, 10);
    let before = received(&network, victim);
    pass(&mut network, 20);
    let usual = received(&network, victim) - before;

    let (mut random, before) = (SplitMix64::new(3), received(&network, victim));
    let mut asked = Vec::new();
    for n in 0..1_000_000_u64 {
        if n % 50_000 == 25_000 {
            let id = 1000 + n;
            asked.push((id, network.now()));
            connect(&mut network, newcomer, Job { id, up: 100, down: 100 });
        }
        network.inject(victim, syn(&mut random));
        network.run_until(network.now() + Duration::from_micros(20));
        if n % 10_000 == 0 {
            let kept = network.domain(victim).connections().len();
            assert!(kept <= BACKLOG + 4 + 1 + asked.len(), "{kept} connections are kept");
        }
    }
    let during = received(&network, victim) - before;
    assert!(during * 10 >= usual * 9, "{during} bytes during the flood, {usual} before");
    pass(&mut network, 3);
    let established = &network.domain(newcomer).app.established;
    assert_eq!((established.len(), asked.len()), (20, 20), "new clients are shut out");
    for ((id, since), (who, at)) in asked.iter().zip(established) {
        assert!(id == who && at.since(*since) <= Duration::from_secs(3), "{id}: {since:?} {at:?}");
    }
    assert!(network.domain(victim).counters.cookies_out > 900_000);
}

/// A server that ends leaves 10,000 connections whose clients do not read, but answer each
/// probe: they are gone within two minutes, and their memory with them.
#[test]
fn orphans_before_closed_windows_are_gone_in_two_minutes() {
    const ORPHANS: u64 = 10_000;
    let (mut network, victim) = network(Transfers::letting_go());
    let links = (network.add_link(mbit(1000)), network.add_link(mbit(1000)));
    let deaf = Transfers::deaf();
    let address = Address::from(Ipv4Addr::new(10, 0, 1, 1));
    let attacker = network.add_host(address, links, deaf, |config| {
        config.tcp = Arc::new(tcp::Config::default().with_receive_buffer(2_000));
    });
    for id in 0..ORPHANS {
        connect(&mut network, attacker, Job { id, up: 0, down: 8_000 });
        network.run_until(network.now() + Duration::from_micros(200));
    }
    let begin = network.now();
    network.run_until(begin + Duration::from_secs(5));
    let infos = network.infos(victim);
    assert_eq!(infos.len() as u64, ORPHANS, "they stand before closed windows");
    assert!(infos.iter().all(|(_, info)| info.queued > 0), "there is nothing to wait for");
    network.run_until(begin + Duration::from_secs(30));
    let probed = network.infos(victim);
    assert_eq!(probed.len() as u64, ORPHANS, "they are given up while there is hope");
    let answered = probed.iter().filter(|(_, i)| i.last_received > begin + Duration::from_secs(5));
    assert!(answered.count() as u64 > ORPHANS / 2, "the attacker does not answer probes");
    network.run_until(begin + Duration::from_secs(120));
    assert_eq!(network.infos(victim), [], "orphans are left");
    let end: Instant = network.now() + Duration::from_secs(300);
    network.run_until(end);
    assert_eq!(network.domain(victim).time_wait_len(), 0);
}
