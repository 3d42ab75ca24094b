use super::*;
use crate::memory::{Config, pair};
use std::net::Ipv4Addr;
use wire::packet::ChecksumState;
use wire::{Address, EthernetAddress, checksum, ethernet, ipv4, protocol, udp};

const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn frame(n: u32) -> Packet {
    let mut packet = Packet::copy_of(&n.to_be_bytes());
    let mut header = udp::Header { source_port: 1, destination_port: 2, length: 12, checksum: 0 };
    header.emit(packet.push(udp::LEN));
    let pseudo = checksum::pseudo_header(Address::from(A), Address::from(A), protocol::UDP, 12);
    header.checksum = segment::finished(checksum::add(pseudo, packet.sum_from(0)), 6);
    header.emit(packet.head_mut());
    let ip = ipv4::Header {
        header_len: 20,
        tos: 0,
        total_len: 32,
        identification: 0,
        dont_fragment: false,
        more_fragments: false,
        fragment_offset: 0,
        ttl: 1,
        protocol: protocol::UDP,
        source: A,
        destination: A,
    };
    ip.emit(packet.push(20));
    let header = ethernet::Header {
        destination: EthernetAddress([2; 6]),
        source: EthernetAddress([4; 6]),
        vlan: None,
        ethertype: ethernet::ethertype::IPV4,
    };
    header.emit(packet.push(14));
    packet
}

fn right(packet: &Packet) -> bool {
    let bytes = packet.to_vec();
    let pseudo = checksum::pseudo_header(Address::from(A), Address::from(A), protocol::UDP, 12);
    ipv4::Header::parse(&bytes[14..]).is_ok()
        && checksum::is_right(checksum::add(pseudo, checksum::sum(&bytes[34..])))
}

/// Sends 0..n through a line out of a pair with the faults; what arrives.
fn through(spec: &str, n: u32, seed: u64) -> (Vec<Packet>, Arc<dyn Report>) {
    let (a, mut b) = pair(Config { ring: 1 << 16, ..Config::default() });
    let mut a = wrap(a, &spec.parse().expect("a spec"), seed);
    for n in 0..n {
        a.queues[0].transmit.transmit(&mut Batch::from([frame(n)]));
    }
    let mut got = Vec::new();
    loop {
        b.queues[0].receive.receive(&mut got, usize::MAX);
        let receive = &mut a.queues[0].receive;
        let Some(deadline) = receive.deadline() else { break };
        std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
        receive.receive(&mut Vec::new(), 1);
    }
    (got, a.reports.pop().expect("wrapped"))
}

fn number(packet: &Packet) -> u32 {
    let bytes = packet.to_vec();
    u32::from_be_bytes([bytes[42], bytes[43], bytes[44], bytes[45]])
}

fn numbers(spec: &str, seed: u64) -> Vec<u32> {
    through(spec, 2000, seed).0.iter().map(number).collect()
}

fn read(report: &dyn Report, name: &str) -> u64 {
    assert_eq!(report.name(), "faults");
    report.counts().into_iter().find(|(of, _)| *of == name).expect("counted").1
}

#[test]
fn no_faults() {
    assert_eq!(numbers("", 1), (0..2000).collect::<Vec<_>>());
}

#[test]
fn loss_is_as_often_as_said_and_repeats() {
    let (got, counts) = through("loss=10%", 10_000, 3);
    assert_eq!(got.len() as u64 + read(&*counts, "lost"), 10_000);
    assert!((800..1200).contains(&read(&*counts, "lost")), "{:?}", counts.counts());
    assert_eq!(numbers("loss=10%", 5), numbers("loss=0.1", 5));
    assert_ne!(numbers("loss=10%", 5), numbers("loss=10%", 6));
    assert_eq!(numbers("loss=10%,seed=5", 9), numbers("loss=10%", 5));
}

#[test]
fn reordering_loses_nothing() {
    let mut got = numbers("reorder=5%", 1);
    assert!(!got.is_sorted());
    for pair in got.windows(2) {
        assert!(pair[1] + 100 > pair[0], "{pair:?} is far");
    }
    got.sort();
    assert_eq!(got, (0..2000).collect::<Vec<_>>());
}

#[test]
fn a_held_packet_leaves_though_nothing_follows() {
    let (got, _) = through("reorder=100%", 1, 1);
    assert_eq!(got.len(), 1);
}

#[test]
fn duplicates() {
    let (got, counts) = through("duplicate=10%", 1000, 1);
    assert_eq!(got.len() as u64, 1000 + read(&*counts, "duplicated"));
    assert!(read(&*counts, "duplicated") > 50);
    assert_eq!(read(&*counts, "passed"), got.len() as u64);
}

#[test]
fn corruption_is_seen_by_checksums_and_is_on_a_copy() {
    let (got, counts) = through("corrupt=20%", 3000, 1);
    let bad = got.iter().filter(|p| !right(p)).count() as u64;
    assert_eq!(bad, read(&*counts, "corrupted"));
    assert!(bad > 400);
    // Of all packets that share their bytes.
    let (a, _b) = pair(Config::default());
    let mut a = wrap(a, &"corrupt=1".parse().expect("a spec"), 1);
    let packet = frame(7);
    let kept = packet.clone();
    a.queues[0].transmit.transmit(&mut Batch::from([packet]));
    assert!(right(&kept));
}

#[test]
fn a_partial_checksum_is_completed_before_corruption() {
    let mut packet = frame(1);
    let pseudo = checksum::pseudo_header(Address::from(A), Address::from(A), protocol::UDP, 12);
    packet.head_mut()[40..42].copy_from_slice(&pseudo.to_be_bytes());
    packet.meta_mut().checksum = ChecksumState::Partial;
    (packet.meta_mut().csum_start, packet.meta_mut().csum_offset) = (34, 6);
    let (mut a, b) = pair(Config { transmit_checksum: true, ..Config::default() });
    let mut b = wrap(b, &"corrupt=1".parse().expect("a spec"), 1);
    a.queues[0].transmit.transmit(&mut Batch::from([packet]));
    let mut got = Vec::new();
    assert_eq!(b.queues[0].receive.receive(&mut got, 8), 1);
    assert_eq!(got[0].meta().checksum, ChecksumState::Complete);
    assert!(!right(&got[0]));
    let differing = got[0].to_vec().iter().zip(frame(1).to_vec()).filter(|(x, y)| *x != y).count();
    assert_eq!(differing, 1);
}

#[test]
fn trains_are_cut_into_segments() {
    let payload = vec![1; 10 * 1448];
    for wrapped in [false, true] {
        let packet =
            segment::tests::super_packet(&payload, 4096, wire::tcp::Flags::ACK, false, 1448);
        let (a, b) = pair(Config { segmentation: 65_535, ..Config::default() });
        let spec = "loss=0".parse().expect("a spec");
        let (mut a, mut b) = if wrapped { (wrap(a, &spec, 1), b) } else { (a, wrap(b, &spec, 1)) };
        assert_eq!(if wrapped { &a } else { &b }.capabilities.segmentation, 0);
        a.queues[0].transmit.transmit(&mut Batch::from([packet]));
        let mut got = Vec::new();
        while b.queues[0].receive.receive(&mut got, 4) > 0 {}
        assert_eq!(got.len(), 10);
        assert!(got.iter().all(|p| p.len() == 14 + 40 + 1448));
    }
}

#[test]
fn delay_and_rate() {
    let start = Instant::now();
    // 100 frames of 46 bytes at 1 Mbit/s: 36.8 ms, and 5 ms of delay.
    let (got, _) = through("delay=5ms,rate=1mbit", 100, 1);
    assert_eq!(got.len(), 100);
    assert!(start.elapsed() >= Duration::from_micros(41_800));
    let (got, _) = through("delay=2ms,jitter=1ms", 100, 1);
    assert!(got.iter().map(number).is_sorted());
}

#[test]
fn a_line_is_bounded() {
    for (spec, overflowed) in [("delay=1s", 500), ("delay=1s,limit=10", 1490)] {
        let (a, _b) = pair(Config::default());
        let mut a = wrap(a, &spec.parse().expect("a spec"), 1);
        let mut batch: Batch = (0..1500).map(frame).collect();
        a.queues[0].transmit.transmit(&mut batch);
        assert_eq!(read(&*a.reports[0], "overflowed"), overflowed, "{spec}");
        assert!(a.queues[0].receive.deadline().is_some());
        assert!(a.queues[0].receive.arm());
    }
}

/// Is what the receiver waits for readable now?
fn is_readable(receive: &dyn Receive) -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let fd = receive.wait_fd().expect("a descriptor");
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&now)) == Ok(1)
}

#[test]
fn a_receiver_that_sleeps_is_woken_for_what_another_thread_sends() {
    let (a, mut b) = pair(Config::default());
    let mut a = wrap(a, &"delay=1s".parse().expect("a spec"), 1);
    let Queue { receive, transmit } = &mut a.queues[0];
    assert!(receive.arm() && !is_readable(&**receive));
    transmit.transmit(&mut Batch::from([frame(1)]));
    assert!(is_readable(&**receive));
    receive.disarm();
    // It knows of the packet now: another behind it changes nothing.
    assert!(receive.arm() && receive.deadline().is_some() && !is_readable(&**receive));
    transmit.transmit(&mut Batch::from([frame(2)]));
    assert!(!is_readable(&**receive));
    // What arrives wakes it, too.
    b.queues[0].transmit.transmit(&mut Batch::from([frame(3)]));
    assert!(is_readable(&**receive));
    receive.disarm();
}

#[test]
fn a_full_device_pushes_back() {
    let (a, mut b) = pair(Config { ring: 10, ..Config::default() });
    let mut a = wrap(a, &Spec::default(), 1);
    let mut got = Vec::new();
    let mut batch: Batch = (0..15).map(frame).collect();
    a.queues[0].transmit.transmit(&mut batch);
    batch.extend((15..30).map(frame));
    a.queues[0].transmit.transmit(&mut batch);
    assert_eq!((batch.len(), a.queues[0].transmit.room()), (15, 0));
    while b.queues[0].receive.receive(&mut got, 100) > 0 || !batch.is_empty() {
        a.queues[0].transmit.transmit(&mut batch);
    }
    assert_eq!(got.iter().map(number).collect::<Vec<_>>(), (0..30).collect::<Vec<_>>());
}

#[test]
fn specs_as_text() {
    let all = "loss=2%, reorder=5%,duplicate=1%,corrupt=0.1%,delay=5ms,jitter=1ms,rate=100mbit,limit=9,seed=7";
    let spec: Spec = all.parse().expect("all faults");
    assert_eq!((spec.rate, spec.limit), (Some(100_000_000), Some(9)));
    assert_eq!((spec.loss, spec.delay, spec.seed), (0.02, Duration::from_millis(5), Some(7)));
    assert_eq!("".parse(), Ok(Spec::default()));
    for bad in [
        "los=1",
        "loss",
        "loss=2",
        "loss=-1%",
        "loss=nan",
        "delay=5",
        "delay=9e99s",
        "delay=4000s",
        "rate=0mbit",
        "rate=fast",
        "seed=-1",
        "delay=5 parsecs",
        "rate=.bit",
        "limit=0",
        "limit=1000001",
        "loss=1%,loss=1%",
        "seed=1, seed = 2",
    ] {
        let error = bad.parse::<Spec>().expect_err(bad).to_string();
        assert!(!error.contains('\n'), "{error}");
    }
}
