//! `layer-parallel` with queues so short that every layer always waits for the
//! next one: nobody waits for ever, whatever fills up first.

extern crate anabranch_organizations as organizations;

use device::memory;
use net::application::ConnectError;
use net::{Application, Config, ConnId, Counters, Datagram, InterfaceConfig};
use organizations::layered::{Lengths, Marks, start_with};
use organizations::{Clock, Options, Running, Setup};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tcp::{Events, State, Tcb};
use wire::{Address, Endpoint, FlowKey, Slice};

/// Bytes that go each way on each connection.
const BYTES: usize = 150_000;
/// Connections.
const TALKS: usize = 6;
/// How long to wait: many times what it takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What all units of one stack have seen.
#[derive(Default)]
struct Tally {
    /// Connections over which all has come.
    done: AtomicUsize,
    closed: AtomicUsize,
    datagrams: AtomicUsize,
    gathered: AtomicUsize,
    woken: AtomicUsize,
}

/// Byte `at` of what goes over a connection.
fn byte(at: usize) -> u8 {
    (at * 7 + at / 251) as u8
}

#[derive(Default)]
struct Talk {
    sent: usize,
    received: usize,
}

struct App {
    tally: Arc<Tally>,
    wakes: Vec<Arc<Tally>>,
}

impl App {
    fn gather(&mut self) {
        self.tally.gathered.fetch_add(1, Relaxed);
        self.wakes.push(self.tally.clone());
    }
}

impl Application for App {
    type Connection = Talk;
    type Listener = ();
    type Udp = Arc<parking_lot::Mutex<VecDeque<Datagram>>>;
    type Wakes = Vec<Arc<Tally>>;

    fn has_wakes(&self) -> bool {
        !self.wakes.is_empty()
    }

    fn take_wakes(&mut self, wakes: &mut Vec<Arc<Tally>>) {
        wakes.append(&mut self.wakes);
    }

    fn wake(wakes: Vec<Arc<Tally>>) {
        for tally in wakes {
            tally.woken.fetch_add(1, Relaxed);
        }
    }

    fn incoming(&mut self, (): &()) -> Option<Talk> {
        Some(Talk::default())
    }

    fn connect_failed(&mut self, _: Talk, error: ConnectError) {
        panic!("{error}");
    }

    fn opened(&mut self, _: &mut Talk, _: ConnId, _: &FlowKey) {
        self.gather();
    }

    fn ready(&mut self, talk: &mut Talk, tcb: &mut Tcb, _: Events, _: wire::Instant) -> bool {
        if tcb.state() == State::SynSent {
            return false;
        }
        let mut bytes = [0; 4000];
        while let Ok(n @ 1..) = tcb.receive(&mut bytes) {
            let right = |(at, b): (usize, &u8)| *b == byte(talk.received + at);
            assert!(bytes[..n].iter().enumerate().all(right));
            talk.received += n;
            self.gather();
            if talk.received == BYTES {
                self.tally.done.fetch_add(1, Relaxed);
            }
        }
        while talk.sent < BYTES {
            let end = BYTES.min(talk.sent + bytes.len());
            let block: Vec<u8> = (talk.sent..end).map(byte).collect();
            let Ok(n) = tcb.send(&block) else { return false };
            talk.sent += n;
        }
        tcb.shutdown_write();
        false
    }

    fn closed(&mut self, _: Talk, _: &mut Tcb) {
        self.tally.closed.fetch_add(1, Relaxed);
    }

    fn datagram(&mut self, _: &Self::Udp, _: Datagram) -> bool {
        self.tally.datagrams.fetch_add(1, Relaxed);
        true
    }

    fn next_datagram(&mut self, socket: &Self::Udp) -> Option<Datagram> {
        socket.lock().pop_front()
    }
}

fn marks(high: usize) -> Marks {
    Marks { high, low: high / 2 }
}

struct Host {
    running: Arc<dyn Running<App>>,
    tally: Arc<Tally>,
    address: Address,
}

fn host(device: device::Device, last: u8, processors: usize, lengths: Lengths) -> Host {
    host_of(vec![device], last, processors, lengths)
}

/// A host with an interface for each device, whose networks are 10.0.0.0/24, 10.0.1.0/24, ...
fn host_of(devices: Vec<device::Device>, last: u8, processors: usize, lengths: Lengths) -> Host {
    let address_by = |interface| Address::from(std::net::Ipv4Addr::new(10, 0, interface, last));
    let interface = |(index, device): (usize, &device::Device)| InterfaceConfig {
        is_ethernet: device.capabilities.medium == device::Medium::Ethernet,
        ethernet: device.ethernet,
        vlan: None,
        addresses: vec![(address_by(index as u8), 24)],
        mtu: device.capabilities.mtu,
        transmit_checksum: false,
        segmentation: 0,
    };
    let mut config = Config::new(devices.iter().enumerate().map(interface).collect(), 0);
    config.tcp = Arc::new(
        tcp::Config::default()
            .with_min_rto(Duration::from_millis(20))
            .with_time_wait(Duration::from_millis(100)),
    );
    let tally = Arc::<Tally>::default();
    let ours = tally.clone();
    let setup = Setup {
        config: Arc::new(config),
        devices,
        processors,
        options: Options::default(),
        application: Box::new(move |_| App { tally: ours.clone(), wakes: Vec::new() }),
        clock: Clock::start(),
        instruments: None,
    };
    Host { running: start_with(setup, lengths).expect("it starts"), tally, address: address_by(0) }
}

fn pair(processors: usize, high: usize, ring: usize) -> [Host; 2] {
    let (a, b) = memory::pair(memory::Config::default().with_queues(processors).with_ring(ring));
    let lengths = Lengths { up: marks(high), down: marks(high), presentation: marks(high) };
    [host(a, 1, processors, lengths), host(b, 2, processors, lengths)]
}

fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !so() {
        assert!(Instant::now() < end, "in vain: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Host {
    fn end(&self, port: u16) -> Endpoint {
        Endpoint { address: self.address, port }
    }

    /// Opens all connections to `server`.
    fn connect(&self, server: &Host) {
        for _ in 0..TALKS {
            self.running.connect(server.end(80), None, Talk::default());
        }
    }

    /// Sends datagrams in fragments to a port that is open, and to one that is not.
    fn blast(&self, to: &Host) {
        let socket = Arc::default();
        self.running.bind(self.end(53), Arc::clone(&socket));
        for n in 0..100 {
            let payload = Slice::copy_of(&[n; 3000]);
            let datagram = Datagram {
                local: self.end(53),
                remote: to.end(53 + u16::from(n % 2)),
                payload: std::iter::once(payload).collect(),
            };
            socket.lock().push_back(datagram);
            self.running.send(socket.clone());
        }
    }

    fn stop(&self) {
        self.running.stop();
        let Counters { packets_in, delivered, absorbed, .. } = self.running.counters();
        let dropped = self.running.counters().dropped_in_all();
        assert_eq!(packets_in, delivered + absorbed + dropped);
        let tally = &self.tally;
        assert_eq!(tally.gathered.load(Relaxed), tally.woken.load(Relaxed), "no wake-up is lost");
    }
}

/// All goes both ways at once, TCP and UDP.
fn all_comes(processors: usize, high: usize, ring: usize) {
    let [server, client] = pair(processors, high, ring);
    server.running.listen(server.end(80), ());
    client.connect(&server);
    client.blast(&server);
    server.blast(&client);
    for host in [&client, &server] {
        until("all has come", || host.tally.done.load(Relaxed) == TALKS);
        until("all have ended", || host.tally.closed.load(Relaxed) == TALKS);
        assert_eq!(host.running.counters().closed, TALKS as u64);
    }
    server.stop();
    client.stop();
}

/// A stop while every queue is full.
fn stops(processors: usize, high: usize, ring: usize) {
    let [server, client] = pair(processors, high, ring);
    server.running.listen(server.end(80), ());
    client.connect(&server);
    client.blast(&server);
    server.blast(&client);
    until("something has come", || server.tally.gathered.load(Relaxed) > TALKS);
    client.stop();
    // Nobody is at the other end any more: the device stays full.
    server.blast(&client);
    server.stop();
    server.running.send(Arc::default());
}

#[test]
fn queues_of_one() {
    all_comes(1, 1, 1);
    all_comes(1, 1, 256);
}

#[test]
fn queues_of_two() {
    all_comes(1, 2, 2);
}

#[test]
fn several_pipelines_with_queues_of_one() {
    all_comes(8, 1, 1);
    all_comes(13, 1, 4);
}

#[test]
fn a_stop_with_full_queues() {
    for _ in 0..5 {
        stops(1, 1, 1);
        stops(1, 64, 4);
        stops(8, 1, 2);
    }
}

/// Datagrams wait with their socket for a device that takes nothing, though another one has room,
/// and however many the socket has by the time that the first are on their way.
#[test]
fn what_a_socket_has_waits_with_it_while_its_device_is_full() {
    const COUNT: usize = 5000;
    let config = || memory::Config::default().with_medium(device::Medium::Ip).with_ring(4);
    let ((first, mut peer), (second, _other)) = (memory::pair(config()), memory::pair(config()));
    let host = host_of(vec![first, second], 1, 1, Lengths::default());
    let to = Endpoint { address: Address::from(std::net::Ipv4Addr::new(10, 0, 0, 9)), port: 9 };
    let socket = Arc::new(parking_lot::Mutex::new(VecDeque::new()));
    host.running.bind(host.end(53), Arc::clone(&socket));
    socket.lock().extend((0..COUNT).map(|_| Datagram {
        local: host.end(53),
        remote: to,
        payload: std::iter::once(Slice::copy_of(&[7; 100])).collect(),
    }));
    host.running.send(socket.clone());
    let mut left = COUNT;
    until("the way down is full", || {
        std::thread::sleep(Duration::from_millis(20));
        let before = std::mem::replace(&mut left, socket.lock().len());
        before == left && left < COUNT
    });
    assert!(left > COUNT - 1000, "{left} are left: the others are too many to wait elsewhere");
    let mut packets = Vec::new();
    until("all have come", || {
        peer.queues[0].receive.receive(&mut packets, 64);
        packets.len() == COUNT
    });
    assert_eq!(host.running.counters().out_dropped, 0);
    host.stop();
}
