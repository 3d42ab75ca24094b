use super::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

fn frame(source: u16, n: u32) -> Packet {
    let mut bytes = [0u8; 64];
    ethernet::Header {
        destination: EthernetAddress([2, 0, 0, 0, 0, 2]),
        source: EthernetAddress([2, 0, 0, 0, 0, 1]),
        vlan: None,
        ethertype: ethernet::ethertype::IPV4,
    }
    .emit(&mut bytes[..14]);
    bytes[14] = 0x45;
    bytes[23] = wire::protocol::UDP;
    bytes[26..30].copy_from_slice(&[10, 0, 0, 1]);
    bytes[30..34].copy_from_slice(&[10, 0, 0, 2]);
    bytes[34..36].copy_from_slice(&source.to_be_bytes());
    bytes[36..38].copy_from_slice(&7u16.to_be_bytes());
    bytes[42..46].copy_from_slice(&n.to_be_bytes());
    Packet::copy_of(&bytes)
}

fn number(packet: &Packet) -> (u16, u32) {
    let b = packet.front();
    (u16::from_be_bytes([b[34], b[35]]), u32::from_be_bytes([b[42], b[43], b[44], b[45]]))
}

#[test]
fn passes_packets_by_reference() {
    let (mut a, mut b) = pair(Config::default());
    let mut packet = frame(1, 1);
    packet.meta_mut().ttl = 9;
    let shared = packet.parts()[0].clone();
    let mut batch = Batch::from([packet]);
    a.queues[0].transmit.transmit(&mut batch);
    assert!(batch.is_empty());
    let mut got = Vec::new();
    assert_eq!(b.queues[0].receive.receive(&mut got, 10), 1);
    assert_eq!(got[0].parts()[0].as_ptr(), shared.as_ptr());
    assert_eq!(got[0].meta().ttl, 0);
    assert_eq!(a.queues[0].receive.receive(&mut got, 10), 0);
}

#[test]
fn a_full_ring_leaves_packets_with_the_sender() {
    let (mut a, mut b) = pair(Config { ring: 4, ..Config::default() });
    let mut batch: Batch = (0..10).map(|n| frame(1, n)).collect();
    assert_eq!(a.queues[0].transmit.room(), 4);
    a.queues[0].transmit.transmit(&mut batch);
    assert_eq!((batch.len(), a.queues[0].transmit.room()), (6, 0));
    let mut got = Vec::new();
    while !batch.is_empty() {
        b.queues[0].receive.receive(&mut got, 3);
        a.queues[0].transmit.transmit(&mut batch);
    }
    while b.queues[0].receive.receive(&mut got, 3) > 0 {}
    let numbers: Vec<u32> = got.iter().map(|p| number(p).1).collect();
    assert_eq!(numbers, (0..10).collect::<Vec<_>>());
}

#[test]
fn flows_go_to_their_queue() {
    let config = Config { queues: 3, ..Config::default() };
    let steering = config.steering;
    let (mut a, mut b) = pair(config);
    let mut batch: Batch = (0..90).map(|n| frame(n as u16, n)).collect();
    a.queues[1].transmit.transmit(&mut batch);
    let mut total = 0;
    for (index, queue) in b.queues.iter_mut().enumerate() {
        let mut got = Vec::new();
        total += queue.receive.receive(&mut got, 100);
        for packet in got {
            let Steered::Flow(hash) = steering.frame(packet.front()) else { panic!() };
            assert_eq!(hash as usize % 3, index);
        }
    }
    assert_eq!(total, 90);
}

#[test]
fn giants_are_dropped_and_counted() {
    let (mut a, mut b) = pair(Config { mtu: 576, ..Config::default() });
    let mut batch = Batch::from([Packet::copy_of(&[0; 595]), Packet::copy_of(&[0; 594])]);
    a.queues[0].transmit.transmit(&mut batch);
    let mut got = Vec::new();
    assert_eq!(b.queues[0].receive.receive(&mut got, 10), 1);
    assert_eq!(b.counts.receive_dropped.load(Ordering::Relaxed), 1);
}

pub(crate) fn wait(receive: &dyn Receive) {
    let fd = receive.wait_fd().expect("descriptors");
    // A lost wake-up shows as time-out.
    let most = Timespec { tv_sec: 20, tv_nsec: 0 };
    let n = poll(&mut [PollFd::from_borrowed_fd(fd, PollFlags::IN)], Some(&most)).expect("poll");
    assert_eq!(n, 1, "a wake-up was lost");
}

#[test]
fn no_wake_up_is_lost_between_threads() {
    const PACKETS: u32 = 20_000;
    let (a, mut b) = pair(Config { queues: 2, ring: 8, ..Config::default() });
    let flow = |sender: u16, steering: &Steering| {
        // A flow of each sender to the first queue.
        (sender * 1000..)
            .find(|&p| queue_of(steering, Medium::Ethernet, frame(p, 0).front(), 2) == 0)
    };
    let steering = Steering::new(0);
    let senders: Vec<_> = a
        .queues
        .into_iter()
        .enumerate()
        .map(|(index, mut queue)| {
            let port = flow(index as u16, &steering).expect("some port");
            std::thread::spawn(move || {
                let mut batch = Batch::new();
                for n in 0..PACKETS {
                    batch.push_back(frame(port, n));
                    while batch.len() > n as usize % 5 {
                        queue.transmit.transmit(&mut batch);
                        if !batch.is_empty() {
                            std::thread::yield_now();
                        }
                    }
                }
                while !batch.is_empty() {
                    queue.transmit.transmit(&mut batch);
                }
            })
        })
        .collect();
    let receive = &mut b.queues[0].receive;
    let (mut got, mut total) = (Vec::new(), 0);
    let mut next = std::collections::HashMap::<u16, u32>::new();
    while total < 2 * PACKETS as usize {
        total += receive.receive(&mut got, 7);
        if got.is_empty() && receive.arm() {
            wait(&**receive);
            receive.disarm();
        }
        for packet in got.drain(..) {
            let (port, n) = number(&packet);
            let next = next.entry(port).or_default();
            assert_eq!(n, *next);
            *next += 1;
        }
    }
    for sender in senders {
        sender.join().expect("sender");
    }
}

#[test]
fn a_signal_that_comes_late_is_only_spurious() {
    let (mut a, mut b) = pair(Config::default());
    let receive = &mut b.queues[0].receive;
    assert!(receive.arm());
    receive.disarm();
    a.queues[0].transmit.transmit(&mut Batch::from([frame(1, 1)]));
    assert!(!receive.arm());
    assert_eq!(receive.receive(&mut Vec::new(), 9), 1);
    assert!(receive.arm());
}
