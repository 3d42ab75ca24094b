//! TAP devices against this machine's kernel, each in a network namespace of
//! its own. Without the rights for that the tests say so and pass.

extern crate anabranch_device as device;

mod station;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use station::{KERNEL, OURS, Station, checksum_right, ip, isolated, open, tcp_of};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use wire::packet::ChecksumState;
use wire::steering::{Steered, Steering};
use wire::{Packet, Parts, Seq, Slice, protocol, tcp, udp};

#[test]
fn udp_both_ways() {
    isolated(|calls| {
        for offload in [false, true] {
            let Some(mut station) = open("ana-udp", 1, offload, calls) else { return };
            let kernel = UdpSocket::bind((KERNEL, 7000)).expect("bind");
            kernel.send_to(b"question", (OURS, 53)).expect("send");
            let (_, packet) = station.next().pop().expect("one");
            let (header, at) = ip(&packet);
            assert_eq!(header.protocol, protocol::UDP);
            assert_eq!(packet.to_vec()[at + udp::LEN..], *b"question");
            if offload {
                assert_eq!(packet.meta().checksum, ChecksumState::Partial);
                assert_eq!((packet.meta().csum_start, packet.meta().csum_offset), (34, 6));
            } else {
                assert_eq!(packet.meta().checksum, ChecksumState::Complete);
                assert!(checksum_right(&packet));
            }
            let mut answer = Packet::copy_of(b"answer");
            let header =
                udp::Header { source_port: 53, destination_port: 7000, length: 14, checksum: 0 };
            header.emit(answer.push(udp::LEN));
            let answer = station.wrap(answer, protocol::UDP);
            station.send(0, answer);
            let mut bytes = [0; 64];
            let (n, from) = kernel.recv_from(&mut bytes).expect("answer");
            assert_eq!((&bytes[..n], from), (&b"answer"[..], (OURS, 53).into()));
        }
    });
}

#[test]
fn bursts_keep_their_order_and_nothing_is_lost() {
    isolated(|calls| {
        for offload in [false, true] {
            let Some(mut station) = open("ana-burst", 1, offload, calls) else { return };
            let kernel = UdpSocket::bind((KERNEL, 7000)).expect("bind");
            let payload = |index: u16| {
                let len = 2 + usize::from(index * 37 % 1400);
                [&index.to_be_bytes()[..], &pattern(len)].concat()
            };
            kernel.send_to(b"", (OURS, 53)).expect("send");
            station.next();
            let (mut sent, mut expected) = (0, 0);
            for burst in [1, 2, 3, 17, 40, 64, 64, 30, 5, 1, 70, 70] {
                for _ in 0..burst {
                    kernel.send_to(&payload(sent), (OURS, 53)).expect("send");
                    sent += 1;
                }
                while expected < sent {
                    for (_, packet) in station.next() {
                        let (_, at) = ip(&packet);
                        let end = at + udp::LEN + payload(expected).len();
                        assert_eq!(packet.to_vec()[at + udp::LEN..end], payload(expected));
                        expected += 1;
                    }
                }
            }
            let answer = |index: u16| {
                let mut answer = Packet::copy_of(&payload(index));
                let length = (udp::LEN + answer.len()) as u16;
                let header =
                    udp::Header { source_port: 53, destination_port: 7000, length, checksum: 0 };
                header.emit(answer.push(udp::LEN));
                station.wrap(answer, protocol::UDP)
            };
            let mut batch: device::Batch = (0..75).map(answer).collect();
            station.device.queues[0].transmit.transmit(&mut batch);
            assert!(batch.is_empty());
            let mut bytes = [0; 2048];
            for index in 0..75 {
                let n = kernel.recv(&mut bytes).expect("answer");
                assert_eq!(bytes[..n], payload(index));
            }
        }
    });
}

/// Deletes this interface; `false` if there is no program for that.
fn delete(name: &str) -> bool {
    let done = std::process::Command::new("ip").args(["link", "delete", name]).status();
    let done = done.inspect_err(|error| println!("skipped: ip: {error}"));
    done.is_ok_and(|done| {
        assert!(done.success());
        true
    })
}

#[test]
fn an_interface_that_goes_away_is_noticed() {
    isolated(|calls| {
        let Some(mut station) = open("ana-away", 1, true, calls) else { return };
        station.announce();
        if !delete("ana-away") {
            return;
        }
        let frame = || station.wrap(Packet::copy_of(b"question"), protocol::UDP);
        let mut batch: device::Batch = (0..5).map(|_| frame()).collect();
        let queue = &mut station.device.queues[0];
        queue.transmit.transmit(&mut batch);
        assert!(batch.is_empty(), "what cannot leave holds up nobody");
        let dropped = &station.device.counts.transmit_dropped;
        assert_eq!(dropped.load(std::sync::atomic::Ordering::Relaxed), 5);
        for _ in 0..3 {
            assert_eq!(queue.receive.receive(&mut Vec::new(), 64), 0);
        }
        assert!(queue.receive.wait_fd().is_none(), "nobody may wait for it");
    });
}

/// Its descriptor stays readable for ever: who waits at the wrapper round it would not sleep any more.
#[test]
fn who_waits_behind_faults_sleeps_although_the_interface_is_gone() {
    isolated(|calls| {
        let Some(station) = open("ana-behind", 1, false, calls) else { return };
        let frame = || station.wrap(Packet::copy_of(b"question"), protocol::UDP);
        let frames = [frame(), frame()];
        let spec = "delay=1ms".parse().expect("faults");
        let mut device = device::fault::wrap(station.device, &spec, 1);
        if !delete("ana-behind") {
            return;
        }
        let device::Queue { receive, transmit } = &mut device.queues[0];
        while !device.counts.gone.load(std::sync::atomic::Ordering::Relaxed) {
            receive.receive(&mut Vec::new(), 64);
        }
        let is_readable = |receive: &dyn device::Receive| {
            let fd = receive.wait_fd().expect("the wrapper's own");
            let mut at = [PollFd::from_borrowed_fd(fd, PollFlags::IN)];
            poll(&mut at, Some(&Timespec::default())).expect("poll") > 0
        };
        assert!(receive.arm() && !is_readable(&**receive), "it is awake for ever");
        // Who sends from another thread wakes it still.
        transmit.transmit(&mut frames.into());
        assert!(is_readable(&**receive), "it is not woken");
        receive.disarm();
        assert!(!is_readable(&**receive));
    });
}

#[test]
fn the_kernel_answers_ping() {
    isolated(|calls| {
        let Some(mut station) = open("ana-ping", 1, true, calls) else { return };
        let mut echo = *b"\x08\0\0\0\x12\x34\0\x01ping";
        let sum = !wire::checksum::sum(&echo);
        echo[2..4].copy_from_slice(&sum.to_be_bytes());
        station.announce();
        let request = station.wrap(Packet::copy_of(&echo), protocol::ICMP);
        station.send(0, request);
        let (_, reply) = station.next().pop().expect("one");
        let (header, at) = ip(&reply);
        assert_eq!((header.protocol, header.source), (protocol::ICMP, KERNEL));
        assert_eq!(reply.to_vec()[at], 0);
        assert_eq!(reply.to_vec()[at + 4..], echo[4..]);
    });
}

const SEGMENT: usize = 1460;

fn header(
    station_port: u16,
    kernel_port: u16,
    seq: Seq,
    ack: Seq,
    flags: tcp::Flags,
) -> tcp::Header {
    tcp::Header {
        source_port: station_port,
        destination_port: kernel_port,
        seq,
        ack,
        flags,
        window: 0xffff,
        urgent: 0,
        options: tcp::Options::NONE,
    }
}

/// Answers the kernel's SYN for port 80; returns the kernel's port and SND.NXT.
fn accept(station: &mut Station) -> (u16, Seq) {
    let syn = station.next().into_iter().find_map(|(_, p)| tcp_of(&p)).expect("SYN").0;
    assert!(syn.flags.syn());
    let mut answer =
        header(80, syn.source_port, Seq(1), syn.seq + 1, tcp::Flags::SYN.with(tcp::Flags::ACK));
    answer.options.mss = Some(SEGMENT as u16);
    answer.options.window_scale = syn.options.window_scale.map(|_| 7);
    let packet = station.tcp(&answer, Parts::new(), 0);
    station.send(0, packet);
    (syn.source_port, syn.seq + 1)
}

fn pattern(n: usize) -> Vec<u8> {
    (0..n).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// The kernel sends `bytes` over TCP; returns the largest frame.
fn kernel_sends(station: &mut Station, bytes: &[u8], offload: bool) -> usize {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut stream = TcpStream::connect((OURS, 80)).expect("connect");
            stream.write_all(bytes).expect("write");
            stream
        });
        let (port, mut rcv_nxt) = accept(station);
        let (mut received, mut largest) = (Vec::new(), 0);
        while received.len() < bytes.len() {
            for (_, packet) in station.next() {
                let Some((segment, payload)) = tcp_of(&packet) else { continue };
                let meta = *packet.meta();
                if packet.len() > 1514 {
                    assert_eq!(usize::from(meta.gso_size), SEGMENT);
                }
                if offload {
                    assert_eq!(meta.checksum, ChecksumState::Partial);
                } else {
                    assert!(checksum_right(&packet));
                }
                if segment.seq == rcv_nxt {
                    largest = largest.max(packet.len());
                    rcv_nxt += payload.len() as u32;
                    received.extend(payload);
                }
                let ack = header(80, port, Seq(2), rcv_nxt, tcp::Flags::ACK);
                let packet = station.tcp(&ack, Parts::new(), 0);
                station.send(0, packet);
            }
        }
        assert!(received == bytes);
        largest
    })
}

#[test]
fn super_segments_arrive_with_offload_only() {
    isolated(|calls| {
        let bytes = pattern(600_000);
        let Some(mut station) = open("ana-tso", 1, true, calls) else { return };
        let largest = kernel_sends(&mut station, &bytes, true);
        assert!(largest > 10 * SEGMENT, "{largest}");
        drop(station);
        let Some(mut station) = open("ana-tso", 1, false, calls) else { return };
        assert_eq!(kernel_sends(&mut station, &bytes, false), 1514);
    });
}

#[test]
fn the_kernel_takes_super_segments() {
    isolated(|calls| {
        let Some(mut station) = open("ana-gso", 1, true, calls) else { return };
        // A size that is no multiple, in parts of odd lengths.
        let bytes = pattern(60_000 + 77);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut stream = TcpStream::connect((OURS, 80)).expect("connect");
                let mut got = vec![0; bytes.len()];
                stream.read_exact(&mut got).expect("read");
                got
            });
            let (port, ack) = accept(&mut station);
            let mut parts = Parts::new();
            for piece in bytes.chunks(4_001) {
                parts.push(Slice::copy_of(piece));
            }
            let data = header(80, port, Seq(2), ack, tcp::Flags::ACK.with(tcp::Flags::PSH));
            let packet = station.tcp(&data, parts, SEGMENT as u16);
            station.send(0, packet);
            assert!(reader.join().expect("reader") == bytes);
        });
        assert_eq!(
            station.device.counts.transmit_dropped.load(std::sync::atomic::Ordering::Relaxed),
            0
        );
    });
}

#[test]
fn flows_arrive_on_the_queue_that_steering_says() {
    isolated(|calls| {
        let Some(mut station) = open("ana-queues", 4, true, calls) else { return };
        if station.device.steering.is_none() {
            return println!("skipped: steering programs are not permitted here");
        }
        station.announce();
        let steering = Steering::new(42);
        let mut used = [0; 4];
        for port in 0..200u16 {
            let socket = UdpSocket::bind((KERNEL, 0)).expect("bind");
            socket.send_to(b"x", (OURS, 2000 + port)).expect("send");
            for (queue, packet) in station.next() {
                let Steered::Flow(hash) = steering.frame(packet.front()) else {
                    panic!("no flow: {packet:?}")
                };
                assert_eq!(hash as usize % 4, queue);
                used[queue] += 1;
            }
        }
        assert!(used.iter().all(|&n| n > 20), "{used:?}");
        // Segments too.
        let mut seen = 0;
        std::thread::scope(|scope| {
            let connect = scope.spawn(|| {
                for port in 0..50 {
                    let _ = TcpStream::connect((OURS, 3000 + port));
                }
            });
            while seen < 50 {
                for (queue, packet) in station.next() {
                    let Some((syn, _)) = tcp_of(&packet) else { continue };
                    let Steered::Flow(hash) = steering.frame(packet.front()) else { panic!() };
                    assert_eq!(hash as usize % 4, queue);
                    let flags = tcp::Flags::RST.with(tcp::Flags::ACK);
                    let mut reset =
                        header(syn.destination_port, syn.source_port, Seq(0), syn.seq + 1, flags);
                    reset.window = 0;
                    let packet = station.tcp(&reset, Parts::new(), 0);
                    station.send(0, packet);
                    seen += 1;
                }
            }
            connect.join().expect("connect");
        });
    });
}

#[test]
fn names_in_use_and_cleanup() {
    isolated(|calls| {
        let Some(station) = open("ana-used", 2, true, calls) else { return };
        let config = device::tap::Config::default().with_name("ana-used").with_io_uring(calls);
        let Err(error) = device::tap::open(&config) else { panic!("opened twice") };
        assert!(matches!(error, device::tap::Error::InUse(_)), "{error}");
        let config = device::tap::Config::default().with_name("lo");
        let Err(error) = device::tap::open(&config) else { panic!("opened lo") };
        assert!(matches!(error, device::tap::Error::InUse(_)), "{error}");
        let exists = || device::tap::Control::new().expect("socket").ethernet("ana-used").is_ok();
        assert!(exists());
        drop(station);
        assert!(!exists());
        let config = device::tap::Config::default().with_name("ana%d").with_mtu(10);
        let Err(error) = device::tap::open(&config) else { panic!("an MTU of 10") };
        assert!(matches!(error, device::tap::Error::BadMtu(10)), "{error}");
        assert!(!error.to_string().contains('\n'));
    });
}
