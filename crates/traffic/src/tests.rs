use super::*;

mod families;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use wire::packet::ChecksumState;
use wire::steering::Steered;
use wire::tcp::Flags;
use wire::{EthernetAddress, ethernet, ipv4, protocol, tcp as tcp_wire};

const A: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 1);
const B: Ipv4Addr = Ipv4Addr::new(10, 9, 0, 2);

fn config(queues: usize, connections: usize) -> Config {
    let link = Link::default().with_queues(queues).with_ring(100_000);
    Config { link, stack: A.into(), peer: B.into(), connections, ..Config::default() }
}

/// The same link seen from its other end.
fn mirrored(config: &Config) -> Config {
    let mut other = Config { stack: config.peer, peer: config.stack, ..config.clone() };
    other.link.ethernet.reverse();
    other.connections = 0;
    other
}

/// Checks what every frame has to be, that it came by its queue, and its sums.
fn check(packet: &Packet, config: &Config, queue: usize) {
    let bytes = packet.to_vec();
    let steering = &config.link.steering;
    if let Steered::Flow(hash) = steering.frame(&bytes) {
        assert_eq!(hash as usize % config.link.queues, queue);
    }
    assert!(bytes.len() - 14 <= config.link.mtu);
    if config.stack.is_ipv6() {
        return families::check(packet, config);
    }
    let ip = ipv4::Header::parse(&bytes[14..]).expect("IPv4");
    assert_eq!(usize::from(ip.total_len) + 14, bytes.len());
    let pseudo = checksum::pseudo_header(
        ip.source.into(),
        ip.destination.into(),
        ip.protocol,
        u32::from(ip.total_len) - 20,
    );
    let sum = checksum::add(pseudo, checksum::sum(&bytes[34..]));
    if config.checksum {
        assert!(checksum::is_right(sum), "{packet:?}");
        assert_eq!(packet.meta().checksum, ChecksumState::Complete);
    } else {
        assert_eq!(packet.meta().checksum, ChecksumState::Verified);
    }
}

/// Carries packets between two devices until `done`, dropping those that `lose`
/// says; sleeps where both wait for time to pass.
fn carry(
    (a, config_a): (&mut Device, &Config),
    (b, config_b): (&mut Device, &Config),
    mut lose: impl FnMut() -> bool,
    mut done: impl FnMut() -> bool,
) {
    let start = Instant::now();
    while !done() {
        assert!(start.elapsed() < Duration::from_secs(60), "stalled");
        let mut moved = one_way((a, config_a), b, &mut lose);
        moved += one_way((b, config_b), a, &mut lose);
        if moved > 0 {
            continue;
        }
        let mut wake = None;
        for queue in a.queues.iter_mut().chain(&mut b.queues) {
            if queue.receive.arm() {
                let deadline = queue.receive.deadline();
                wake = [wake, deadline].into_iter().flatten().min();
                queue.receive.disarm();
            } else {
                wake = Some(Instant::now());
            }
        }
        if let Some(wake) = wake {
            std::thread::sleep(wake.saturating_duration_since(Instant::now()));
        }
    }
}

fn one_way(
    (from, config): (&mut Device, &Config),
    to: &mut Device,
    lose: &mut impl FnMut() -> bool,
) -> usize {
    let mut moved = 0;
    for (index, queue) in from.queues.iter_mut().enumerate() {
        let mut got = Vec::new();
        let n = queue.receive.receive(&mut got, 32);
        assert!(n <= 32);
        moved += n;
        for packet in &got {
            check(packet, config, index);
        }
        let mut batch: Batch = got.into_iter().filter(|_| !lose()).collect();
        to.queues[index].transmit.transmit(&mut batch);
        assert!(batch.is_empty());
    }
    moved
}

/// All connections transfer `limit` bytes and close; what both ends did.
fn transfer(config: &Config, lose: impl FnMut() -> bool) -> (Totals, Totals) {
    let other = mirrored(config);
    let (mut source, sent) = source(config);
    let (mut sink, received) = sink(&other);
    let n = config.connections as u64;
    carry((&mut source, config), (&mut sink, &other), lose, || {
        sent.totals().closed == n && received.totals().closed == n
    });
    (sent.totals(), received.totals())
}

#[test]
fn a_source_fills_a_sink() {
    for (queues, window, checksum) in [(1, 65_535, true), (4, 1 << 20, true), (2, 3000, false)] {
        let mut config = Config { window, checksum, limit: 100_001, ..config(queues, 50) };
        config.link.mtu = 4352;
        if window > 10_000 {
            // No packet is acknowledged only because this test was slow.
            config.ack_delay = Duration::from_secs(10);
        }
        let (sent, received) = transfer(&config, || false);
        assert_eq!(received.bytes_received, 50 * 100_001);
        assert_eq!(sent.bytes_sent, 50 * 100_001);
        assert_eq!(sent.bytes_acked, 50 * 100_001);
        assert_eq!((sent.established, received.established), (50, 50));
        assert_eq!((sent.reset, sent.ignored, received.ignored), (0, 0, 0));
        // Every other packet, the SYN's, the FIN's, and where the window is too
        // small for two.
        if window > 10_000 {
            let acks = received.acks_sent;
            let packets = received.packets_received;
            assert!((packets / 2..packets / 2 + 200).contains(&acks), "{acks} {packets}");
        }
    }
}

#[test]
fn what_is_lost_is_repeated() {
    let config = Config { limit: 30_000, ..config(1, 10) };
    let mut n = 0;
    let (_, received) = transfer(&config, || {
        n += 1;
        n % 23 == 0 && n < 1000
    });
    assert_eq!(received.bytes_received, 300_000);
}

/// A connection whose SYN is lost is opened though another one is never idle.
#[test]
fn what_is_lost_is_repeated_beside_endless_transfers() {
    let config = Config { window: 1 << 20, ..config(1, 2) };
    let other = mirrored(&config);
    let (mut source, sent) = source(&config);
    let (mut sink, _) = sink(&other);
    let mut first = true;
    let lose = || std::mem::take(&mut first);
    let done = || sent.totals().established == 2;
    carry((&mut source, &config), (&mut sink, &other), lose, done);
}

/// A short-lived connection whose SYN is lost is opened later, and no other has to
/// wait for it, or is asked for again with it.
#[test]
fn each_lost_syn_is_repeated_at_a_time_of_its_own() {
    let config = Config { short_lived: 2000.0, ..config(1, 0) };
    let (mut clients, counts) = clients(&config);
    let queue = &mut clients.queues[0];
    let mut sent = BTreeMap::new();
    let start = Instant::now();
    while start.elapsed() < 2 * REPEAT {
        let (before, mut got) = (Instant::now(), Vec::new());
        queue.receive.receive(&mut got, 32);
        for packet in got {
            // As the stack would have sent it: the source's port is the stack's.
            let syn = frame::segment(&packet, config.link.medium).unwrap();
            assert!(syn.flags.syn());
            sent.entry(syn.stack_port).or_insert_with(|| vec![before]).push(Instant::now());
        }
        queue.receive.arm();
        let pause = queue.receive.deadline().unwrap().saturating_duration_since(Instant::now());
        queue.receive.disarm();
        std::thread::sleep(pause.min(REPEAT));
    }
    // Not before the first, the first, and the second.
    let repeated: Vec<_> = sent.values().filter(|times| times.len() > 2).collect();
    assert!(repeated.iter().all(|times| times[2] - times[0] >= REPEAT));
    assert!(!repeated.is_empty());
    assert_eq!(sent.len() as u64, counts.totals().short_opened);
}

#[test]
fn datagrams() {
    let config = config(3, 30);
    let other = mirrored(&config);
    let (mut source, sent) = udp_source(&config);
    let (mut sink, received) = udp_sink(&other);
    let totals = || received.totals();
    carry(
        (&mut source, &config),
        (&mut sink, &other),
        || false,
        || totals().packets_received >= 1000,
    );
    assert_eq!(sent.totals().packets_sent, totals().packets_received);
    assert_eq!(totals().bytes_received, totals().packets_received * 1472);
}

/// The stack's side of a connection to a sink, by hand.
struct Hand {
    device: Device,
    counts: Arc<PeerCounts>,
}

impl Hand {
    fn send(&mut self, seq: u32, ack: u32, flags: Flags, payload: &[u8]) {
        let mut packet = Packet::copy_of(payload);
        let header = tcp_wire::Header {
            source_port: 5000,
            destination_port: 80,
            seq: wire::Seq(seq),
            ack: wire::Seq(ack),
            flags,
            window: 1000,
            urgent: 0,
            options: tcp_wire::Options::NONE,
        };
        header.emit(packet.push(20));
        let ip = ipv4::Header {
            header_len: 20,
            tos: 0,
            total_len: (20 + packet.len()) as u16,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: protocol::TCP,
            source: A,
            destination: B,
        };
        ip.emit(packet.push(20));
        let header = ethernet::Header {
            destination: EthernetAddress([2; 6]),
            source: EthernetAddress([4; 6]),
            vlan: None,
            ethertype: ethernet::ethertype::IPV4,
        };
        header.emit(packet.push(14));
        self.device.queues[0].transmit.transmit(&mut Batch::from([packet]));
    }

    fn get(&mut self) -> Vec<tcp_wire::Header> {
        let mut got = Vec::new();
        self.device.queues[0].receive.receive(&mut got, 100);
        let parse = |p: &Packet| tcp_wire::Header::parse(&p.front()[34..]).expect("TCP").0;
        got.iter().map(parse).collect()
    }

    fn open() -> (Hand, u32) {
        let ack_delay = Duration::from_millis(20);
        let (device, counts) = sink(&Config { ack_delay, ..config(1, 0) });
        let mut hand = Hand { device, counts };
        hand.send(100, 0, Flags::SYN, &[]);
        let [syn] = hand.get()[..] else { panic!() };
        assert!(syn.flags.has(Flags::SYN.with(Flags::ACK)));
        assert_eq!((syn.ack.0, syn.options.window_scale), (101, None));
        hand.send(101, syn.seq.0 + 1, Flags::ACK, &[]);
        assert!(hand.get().is_empty());
        (hand, syn.seq.0 + 1)
    }
}

#[test]
fn a_single_packet_is_acknowledged_after_a_while() {
    let (mut hand, iss) = Hand::open();
    hand.send(101, iss, Flags::ACK, b"one");
    let receive = &mut hand.device.queues[0].receive;
    assert!(receive.arm());
    let deadline = receive.deadline().expect("an acknowledgment is due");
    receive.disarm();
    std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
    let [ack] = hand.get()[..] else { panic!() };
    assert_eq!((ack.ack.0, ack.flags), (104, Flags::ACK));
    // Two are acknowledged at once, and what is old or too early as well.
    hand.send(104, iss, Flags::ACK, b"two");
    hand.send(107, iss, Flags::ACK, b"three");
    hand.send(90, iss, Flags::ACK, b"old");
    hand.send(200, iss, Flags::ACK, b"early");
    let acks: Vec<u32> = hand.get().iter().map(|h| h.ack.0).collect();
    assert_eq!(acks, [112, 112, 112]);
    assert_eq!(hand.counts.totals().bytes_received, 3 + 3 + 5);
}

#[test]
fn closing_and_resetting() {
    let (mut hand, iss) = Hand::open();
    hand.send(101, iss, Flags::ACK.with(Flags::FIN), b"bye");
    let flags: Vec<_> = hand.get().iter().map(|h| (h.ack.0, h.flags)).collect();
    assert_eq!(flags, [(105, Flags::ACK), (105, Flags::FIN.with(Flags::ACK))]);
    hand.send(105, iss + 1, Flags::ACK, &[]);
    assert!(hand.get().is_empty());
    assert_eq!(hand.counts.totals().closed, 1);
    // Nothing is left of it: what comes now is refused.
    hand.send(105, iss + 1, Flags::ACK, &[]);
    let [reset] = hand.get()[..] else { panic!() };
    assert_eq!((reset.flags, reset.seq.0), (Flags::RST, iss + 1));

    let (mut hand, _) = Hand::open();
    hand.send(101, 0, Flags::RST, &[]);
    assert_eq!(hand.counts.totals().reset, 1);
    // The same ports again, twice over.
    for seq in [7, 77_777] {
        hand.send(seq, 0, Flags::SYN, &[]);
        let [syn] = hand.get()[..] else { panic!() };
        assert_eq!(syn.ack.0, seq + 1);
        hand.send(seq + 1, syn.seq.0 + 1, Flags::ACK, &[]);
    }
    assert_eq!(hand.counts.totals().established, 3);
}

#[test]
fn arp_is_answered() {
    let (mut device, _) = sink(&config(2, 0));
    let request = wire::arp::Message {
        operation: wire::arp::Operation::Request,
        sender: device.ethernet,
        sender_ip: A,
        target: EthernetAddress::default(),
        target_ip: B,
    };
    let mut packet = Packet::new();
    request.emit(packet.push(28));
    let header = ethernet::Header {
        destination: EthernetAddress::BROADCAST,
        source: device.ethernet,
        vlan: None,
        ethertype: ethernet::ethertype::ARP,
    };
    header.emit(packet.push(14));
    assert!(device.queues[0].receive.arm());
    // From the other queue, in another thread: the waiting one is woken.
    let mut other = device.queues.pop().expect("two queues").transmit;
    let thread = std::thread::spawn(move || other.transmit(&mut Batch::from([packet])));
    wait(&*device.queues[0].receive);
    thread.join().expect("no panic");
    device.queues[0].receive.disarm();
    assert!(!device.queues[0].receive.arm());
    let mut got = Vec::new();
    assert_eq!(device.queues[0].receive.receive(&mut got, 9), 1);
    let reply = wire::arp::Message::parse(&got[0].front()[14..]).expect("ARP");
    assert_eq!((reply.sender_ip, reply.target), (B, device.ethernet));
}

#[test]
fn nonsense_is_ignored() {
    let (mut device, counts) = sink(&config(1, 0));
    let mut frame = [0u8; 60];
    frame[12..14].copy_from_slice(&[8, 0]);
    for ihl in 0..=255 {
        frame[14] = ihl;
        frame[23] = 6;
        for len in [0, 13, 14, 20, 33, 34, 40, 53, 54, 60] {
            let packet = Packet::copy_of(&frame[..len]);
            device.queues[0].transmit.transmit(&mut Batch::from([packet]));
        }
    }
    device.queues[0].receive.receive(&mut Vec::new(), 1000);
    assert!(counts.totals().ignored > 0);
}

/// A stack looks, is let go, and only then goes to sleep: it must look again soon, not
/// when what was lost is repeated.
#[test]
fn a_start_between_a_look_and_a_sleep_is_not_slept_through() {
    let config = Config { held: true, message: 64, ..config(1, 1) };
    let (mut device, counts) = echoed(&config);
    let (mut other, _) = sink(&Config { held: false, ..mirrored(&config) });
    let (queue, far) = (&mut device.queues[0], &mut other.queues[0]);
    counts.begin();
    let (mut batch, mut got) = (Batch::new(), Vec::new());
    for _ in 0..2 {
        queue.receive.receive(&mut got, 32);
        batch.extend(got.drain(..));
        far.transmit.transmit(&mut batch);
        far.receive.receive(&mut got, 32);
        batch.extend(got.drain(..));
        queue.transmit.transmit(&mut batch);
    }
    assert_eq!(counts.totals().established, 1);
    counts.go();
    let soon = Instant::now() + REPEAT / 2;
    let sleeps = queue.receive.arm();
    assert!(!sleeps || queue.receive.deadline().is_some_and(|at| at < soon));
    queue.receive.receive(&mut got, 32);
    assert_eq!(counts.totals().packets_sent, 1);
}

/// The frame that a stack sends back; checksums are nobody's business here.
fn echo_of(packet: &Packet) -> Packet {
    let mut bytes = packet.to_vec();
    for at in 26..30 {
        bytes.swap(at, at + 4);
    }
    bytes.swap(34, 36);
    bytes.swap(35, 37);
    Packet::copy_of(&bytes)
}

#[test]
fn datagrams_and_their_echoes() {
    let config = config(1, 3);
    let (mut device, counts) = udp_echoed(&config);
    let queue = &mut device.queues[0];
    let mut got = Vec::new();
    assert_eq!(queue.receive.receive(&mut got, 10), 3);
    got.iter().for_each(|packet| check(packet, &config, 0));
    // There is no answer: they come again before long.
    let mut again = Vec::new();
    let start = Instant::now();
    while again.len() < 3 {
        assert!(start.elapsed() < Duration::from_secs(60), "not repeated");
        queue.receive.receive(&mut again, 10);
    }
    let first = echo_of(&got[0]);
    queue.transmit.transmit(&mut Batch::from([first.clone()]));
    let totals = counts.totals();
    assert_eq!((totals.established, totals.transactions), (1, 1));
    // The next is another one, which the first one's echo does not answer.
    let mut next = Vec::new();
    while next.is_empty() {
        queue.receive.receive(&mut next, 1);
    }
    queue.transmit.transmit(&mut Batch::from([first]));
    assert_eq!(counts.totals().transactions, 1);
    queue.transmit.transmit(&mut Batch::from([echo_of(&next[0])]));
    assert!(counts.totals().transactions <= 2);
    assert_eq!(counts.totals().ignored, 0);
}

/// A stack that is slower than they repeat would never be heard otherwise.
#[test]
fn an_echo_counts_though_its_datagram_is_about_to_be_repeated() {
    let config = config(1, 3);
    let (mut device, counts) = udp_echoed(&config);
    let queue = &mut device.queues[0];
    let mut got = Vec::new();
    assert_eq!(queue.receive.receive(&mut got, 10), 3);
    let mut again = Vec::new();
    let start = Instant::now();
    while again.is_empty() {
        assert!(start.elapsed() < Duration::from_secs(60), "not repeated");
        queue.receive.receive(&mut again, 1);
    }
    // The others have their turn, and are not yet sent.
    let port = |packet: &Packet| packet.to_vec()[34..36].to_vec();
    let other = got.iter().find(|packet| port(packet) != port(&again[0])).expect("one of three");
    queue.transmit.transmit(&mut Batch::from([echo_of(other)]));
    assert_eq!((counts.totals().established, counts.totals().transactions), (1, 1));
    // In its turn it sends the next.
    let mut next = Vec::new();
    queue.receive.receive(&mut next, 2);
    let sent = next.iter().find(|packet| port(packet) == port(other)).expect("it has a turn");
    queue.transmit.transmit(&mut Batch::from([echo_of(sent)]));
    assert_eq!(counts.totals().transactions, 2);
}

/// Waits until the receiver's descriptor is readable. A lost wake-up shows as a
/// time-out.
fn wait(receive: &dyn Receive) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let fd = receive.wait_fd().expect("memory devices have descriptors");
    let timeout = Timespec { tv_sec: 20, tv_nsec: 0 };
    let ready = poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&timeout));
    assert_eq!(ready.expect("poll works"), 1, "a wake-up was lost");
}
