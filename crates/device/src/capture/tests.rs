use super::*;
use crate::Batch;
use crate::memory::{Config, pair};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use wire::packet::ChecksumState;

/// One end of a cable whose packets are captured, and the other.
fn wrapped() -> (Arc<Hub>, Device, Device) {
    let (a, b) = pair(Config { ring: 4, ..Config::default() });
    let hub = Hub::new();
    let a = hub.wrap(a);
    (hub, a, b)
}

fn send(device: &mut Device, packets: impl IntoIterator<Item = Packet>) -> usize {
    let mut batch: Batch = packets.into_iter().collect();
    device.queues[0].transmit.transmit(&mut batch);
    batch.len()
}

fn receive(device: &mut Device) -> usize {
    device.queues[0].receive.receive(&mut Vec::new(), 100)
}

fn partial() -> Packet {
    let mut packet = Packet::copy_of(&[0x11; 100]);
    let meta = packet.meta_mut();
    meta.checksum = ChecksumState::Partial;
    (meta.csum_start, meta.csum_offset) = (34, 16);
    packet
}

#[test]
fn captures_come_and_go() {
    let (hub, mut a, mut b) = wrapped();
    send(&mut a, [Packet::copy_of(&[1; 60])]);
    let one = hub.attach(Options::default());
    assert!(one.next().is_none(), "that was before");
    send(&mut a, [Packet::copy_of(&[2; 60])]);
    let two = hub.attach(Options::default().with_snaplen(20));
    send(&mut b, [Packet::copy_of(&[3; 60])]);
    assert_eq!(receive(&mut a), 1);
    let seen = |capture: &Capture| {
        let next = || capture.next().map(|c| (c.outbound, c.len, c.bytes.into_vec()));
        std::iter::from_fn(next).collect::<Vec<_>>()
    };
    assert_eq!(seen(&one), [(true, 60, vec![2; 60]), (false, 60, vec![3; 60])]);
    assert_eq!(seen(&two), [(false, 60, vec![3; 20])]);
    drop(two);
    send(&mut a, [Packet::copy_of(&[4; 60])]);
    assert_eq!(seen(&one).len(), 1);
    assert_eq!((one.taken(), one.dropped()), (3, 0));
    drop(one);
    send(&mut a, [Packet::copy_of(&[5; 60])]);
    assert!(hub.captures.lock().is_empty());
}

#[test]
fn what_the_device_leaves_is_captured_once() {
    let (hub, mut a, mut b) = wrapped();
    let capture = hub.attach(Options::default());
    let mut batch: Batch = (0..6).map(|n| Packet::copy_of(&[n; 60])).collect();
    a.queues[0].transmit.transmit(&mut batch);
    assert_eq!(batch.len(), 2, "the ring is full");
    a.queues[0].transmit.transmit(&mut batch);
    assert_eq!((batch.len(), capture.taken()), (2, 4));
    assert_eq!(receive(&mut b), 4);
    a.queues[0].transmit.transmit(&mut batch);
    let first = |captured: Captured| captured.bytes[0];
    let order: Vec<u8> = std::iter::from_fn(|| capture.next().map(first)).collect();
    assert_eq!(order, [0, 1, 2, 3, 4, 5]);
}

#[test]
fn nobody_waits_for_a_capture_that_does_not_keep_up() {
    let (hub, mut a, mut b) = wrapped();
    let capture = hub.attach(Options::default());
    let rounds = WAITING / 4 + 5;
    for _ in 0..rounds {
        assert_eq!(send(&mut a, (0..4).map(|_| Packet::copy_of(&[0; 60]))), 0);
        receive(&mut b);
    }
    assert_eq!((capture.taken(), capture.dropped()), (WAITING as u64, 20));
    assert!(capture.next().is_some());
    send(&mut a, [Packet::copy_of(&[0; 60])]);
    assert_eq!(capture.dropped(), 20, "there is room again");
}

#[test]
fn bytes_that_wait_have_a_bound() {
    let (a, mut b) = pair(Config { mtu: 65_000, ..Config::default() });
    let hub = Hub::new();
    let mut a = hub.wrap(a);
    let capture = hub.attach(Options::default());
    for _ in 0..600 {
        send(&mut a, [Packet::copy_of(&[0; 64_000])]);
        receive(&mut b);
    }
    assert_eq!(capture.taken(), (WAITING_BYTES / 64_000) as u64);
    assert_eq!(capture.taken() + capture.dropped(), 600);
}

#[test]
fn so_many_and_no_more() {
    let (hub, mut a, _b) = wrapped();
    let capture = hub.attach(Options::default().with_count(Some(2)));
    send(&mut a, (0..3).map(|_| Packet::copy_of(&[0; 60])));
    assert!(capture.is_over());
    assert_eq!((capture.taken(), capture.dropped()), (2, 0));
    assert!(capture.next().is_some() && capture.next().is_some() && capture.next().is_none());
}

/// A thread that looked before the end may put a packet in after all was taken. What is
/// told is what stands in the file.
#[test]
fn what_comes_after_the_end_does_not_count() {
    let (hub, mut a, _b) = wrapped();
    let capture = hub.attach(Options::default());
    send(&mut a, [partial(), partial()]);
    let late = capture.next().expect("the first");
    capture.end();
    let mut writer = Writer::new(Vec::new(), &capture).expect("written");
    writer.write(&capture.next().expect("the second")).expect("written");
    capture.shared.keep(late);
    writer.finish(&capture).expect("written");
    assert_eq!((writer.written(), capture.taken()), (1, 3));
    let mut reader = PcapNgReader::new(&writer.get_mut()[..]).expect("pcapng");
    let mut accepted = 0;
    while let Some(block) = reader.next_block() {
        if let Block::InterfaceStatistics(block) = block.expect("a block") {
            let one = InterfaceStatisticsOption::IsbFilterAccept(1);
            accepted += usize::from(block.options.contains(&one));
        }
    }
    assert_eq!(accepted, 1);
}

/// Who sees that a capture is over finds all of it in the queue.
#[test]
fn all_is_there_when_it_is_over() {
    let (hub, mut a, mut b) = wrapped();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                send(&mut a, [Packet::copy_of(&[0; 60])]);
                receive(&mut b);
            }
        });
        let missing = (0..4_000).filter(|_| {
            let capture = hub.attach(Options::default().with_count(Some(1)));
            while !capture.is_over() {
                std::thread::yield_now();
            }
            capture.next().is_none()
        });
        let missing = missing.count();
        stop.store(true, Ordering::Relaxed);
        assert_eq!(missing, 0);
    });
}

#[test]
fn only_what_the_filter_wants() {
    let (hub, mut a, _b) = wrapped();
    let arp = |kind: u8| Packet::copy_of(&[&[2; 12][..], &[8, kind], &[0; 46]].concat());
    let filter = "arp".parse().expect("a filter");
    let capture = hub.attach(Options::default().with_filter(filter));
    send(&mut a, [arp(0), arp(6), arp(0)]);
    assert_eq!(capture.next().expect("one").bytes[13], 6);
    assert_eq!(capture.taken(), 1);
}

#[test]
fn the_file_is_pcapng_with_all_devices_and_counts() {
    let (hub, mut a, _b) = wrapped();
    let (ip, _peer) = pair(Config { medium: Medium::Ip, ..Config::default() });
    let mut ip = hub.wrap(Device { name: "lo".into(), ..ip });
    let capture = hub.attach(Options::default());
    send(&mut a, [partial()]);
    send(&mut ip, [Packet::copy_of(&[0x45; 40])]);
    let mut bytes = Vec::new();
    let mut writer = Writer::new(&mut bytes, &capture).expect("written");
    while let Some(captured) = capture.next() {
        writer.write(&captured).expect("written");
    }
    writer.finish(&capture).expect("written");

    let mut reader = PcapNgReader::new(&bytes[..]).expect("pcapng");
    let (mut links, mut packets, mut counts) = (Vec::new(), Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.expect("a block") {
            Block::InterfaceDescription(block) => links.push(u32::from(block.linktype)),
            Block::EnhancedPacket(packet) => {
                assert!(packet.timestamp > Duration::from_secs(1_500_000_000));
                assert_eq!(packet.options, [EnhancedPacketOption::Flags(OUTBOUND)]);
                packets.push((packet.interface_id, packet.data.to_vec()));
            }
            Block::InterfaceStatistics(block) => counts.push(block.options.len()),
            other => panic!("{other:?}"),
        }
    }
    // Ethernet, and IP as it is.
    assert_eq!(links, [1, 101]);
    let mut filled = partial();
    crate::segment::complete_checksum(&mut filled).expect("there");
    assert_eq!(packets, [(0, filled.to_vec()), (1, vec![0x45; 40])]);
    assert_eq!(counts, [2]);
}

/// Threads of the stack go on while captures come and go.
#[test]
fn captures_come_and_go_under_load() {
    let (hub, mut a, mut b) = wrapped();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        let sender = scope.spawn(|| {
            let mut sent = 0_u64;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                sent += 2 - send(&mut a, (0..2).map(|_| Packet::copy_of(&[0; 60]))) as u64;
                receive(&mut b);
            }
            sent
        });
        for _ in 0..20 {
            let capture = hub.attach(Options::default());
            let mut got = 0;
            while got < 100 {
                got += u64::from(capture.next().is_some());
            }
            // The last of them may be here a moment before it counts.
            while capture.taken() < got {
                std::thread::yield_now();
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert!(sender.join().expect("no panic") >= 2000);
    });
}
