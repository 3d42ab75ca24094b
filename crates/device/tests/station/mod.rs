//! A host of bytes on the other side of the kernel's TAP interface: it answers
//! ARP, and sends and receives frames that the test makes.

#![allow(dead_code)] // Each test program uses a part of it.

use device::tap::{Error, IoUring};
use device::{Batch, Device};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::net::Ipv4Addr;
use std::time::{Duration, Instant};
use wire::packet::ChecksumState;
use wire::{Address, EthernetAddress, Packet, Parts, arp, checksum, ethernet, ipv4, protocol, tcp};

pub const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
pub const OURS: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 2);

pub struct Station {
    pub device: Device,
    kernel: EthernetAddress,
}

impl From<Device> for Station {
    fn from(device: Device) -> Station {
        Station { device, kernel: EthernetAddress::BROADCAST }
    }
}

/// Runs `test` with and without io_uring, each time in a private network namespace, if the process
/// may have one.
pub fn isolated(test: impl Fn(IoUring) + Send + Sync) {
    for calls in [IoUring::Off, IoUring::Required] {
        if calls == IoUring::Required
            && let Err(error) = device::tap::io_uring_permitted()
        {
            println!("skipped with io_uring: {error}");
            continue;
        }
        if let Err(error) = device::namespace::in_private(|| test(calls)) {
            println!("skipped: {error}");
        }
    }
}

pub fn open(name: &str, queues: usize, offload: bool, calls: IoUring) -> Option<Station> {
    let config = device::tap::Config::default()
        .with_name(name)
        .with_queues(queues)
        .with_offload(offload)
        .with_io_uring(calls)
        .with_kernel_address(KERNEL, 24)
        .with_steering(wire::steering::Steering::new(42));
    match device::tap::open(&config) {
        Ok(device) => Some(device.into()),
        Err(error @ (Error::NoDriver | Error::NoAccess | Error::NotAllowed(_))) => {
            println!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

impl Station {
    /// Waits for the next packets that are not ARP, with their queue; panics
    /// after 20 seconds.
    pub fn next(&mut self) -> Vec<(usize, Packet)> {
        let give_up = Instant::now() + Duration::from_secs(20);
        let mut all = Vec::new();
        while all.is_empty() {
            assert!(Instant::now() < give_up, "nothing arrived");
            self.wait();
            for index in 0..self.device.queues.len() {
                let mut got = Vec::new();
                self.device.queues[index].receive.receive(&mut got, 64);
                for packet in got {
                    if !self.answer_arp(&packet) {
                        all.push((index, packet));
                    }
                }
            }
        }
        all
    }

    fn wait(&mut self) {
        for queue in &mut self.device.queues {
            assert!(queue.receive.arm());
        }
        let descriptors = self.device.queues.iter().map(|q| q.receive.wait_fd().expect("a TAP"));
        let mut polls: Vec<_> =
            descriptors.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let most = Timespec { tv_sec: 1, tv_nsec: 0 };
        poll(&mut polls, Some(&most)).expect("poll");
        drop(polls);
        for queue in &mut self.device.queues {
            queue.receive.disarm();
        }
    }

    fn answer_arp(&mut self, packet: &Packet) -> bool {
        let (header, len) = ethernet::Header::parse(packet.front()).expect("a frame");
        if header.ethertype != ethernet::ethertype::ARP {
            return header.ethertype != ethernet::ethertype::IPV4;
        }
        let request = arp::Message::parse(&packet.front()[len..]).expect("ARP");
        self.kernel = request.sender;
        if request.operation == arp::Operation::Request && request.target_ip == OURS {
            self.announce();
        }
        true
    }

    /// Tells the kernel our address by an ARP reply.
    pub fn announce(&mut self) {
        let mut packet = Packet::new();
        let message = arp::Message {
            operation: arp::Operation::Reply,
            sender: self.device.ethernet,
            sender_ip: OURS,
            target: self.kernel,
            target_ip: KERNEL,
        };
        message.emit(packet.push(arp::LEN));
        self.push_ethernet(&mut packet, ethernet::ethertype::ARP);
        self.send(0, packet);
    }

    fn push_ethernet(&self, packet: &mut Packet, ethertype: u16) {
        let header = ethernet::Header {
            destination: self.kernel,
            source: self.device.ethernet,
            vlan: None,
            ethertype,
        };
        header.emit(packet.push(ethernet::LEN));
    }

    pub fn send(&mut self, queue: usize, packet: Packet) {
        let mut batch = Batch::from([packet]);
        self.device.queues[queue].transmit.transmit(&mut batch);
        assert!(batch.is_empty());
    }

    /// Puts IPv4 and Ethernet headers round `packet`, for the kernel.
    pub fn wrap(&self, mut packet: Packet, protocol: u8) -> Packet {
        let header = ipv4::Header {
            header_len: 20,
            tos: 0,
            total_len: (20 + packet.len()) as u16,
            identification: 1,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol,
            source: OURS,
            destination: KERNEL,
        };
        header.emit(packet.push(ipv4::LEN));
        self.push_ethernet(&mut packet, ethernet::ethertype::IPV4);
        packet
    }

    /// A TCP frame with these parts; `gso_size` of 0 with a full checksum.
    pub fn tcp(&self, header: &tcp::Header, parts: Parts, gso_size: u16) -> Packet {
        let mut packet = Packet::new();
        *packet.parts_mut() = parts;
        header.emit(packet.push(header.len()));
        let len = packet.len() as u32;
        let pseudo =
            checksum::pseudo_header(Address::from(OURS), Address::from(KERNEL), protocol::TCP, len);
        let field = if gso_size > 0 {
            let meta = packet.meta_mut();
            meta.checksum = ChecksumState::Partial;
            (meta.csum_start, meta.csum_offset, meta.gso_size) = (34, 16, gso_size);
            pseudo
        } else {
            !checksum::add(pseudo, packet.sum_from(0))
        };
        packet.head_mut()[16..18].copy_from_slice(&field.to_be_bytes());
        self.wrap(packet, protocol::TCP)
    }
}

/// The IPv4 header of a frame, and where its payload starts.
pub fn ip(packet: &Packet) -> (ipv4::Header, usize) {
    let header = ipv4::Header::parse(&packet.front()[ethernet::LEN..]).expect("IPv4");
    (header, ethernet::LEN + usize::from(header.header_len))
}

/// The TCP header of a frame with its payload, if it is one.
pub fn tcp_of(packet: &Packet) -> Option<(tcp::Header, Vec<u8>)> {
    let (header, at) = ip(packet);
    if header.protocol != protocol::TCP {
        return None;
    }
    let (tcp, len) = tcp::Header::parse(&packet.front()[at..]).expect("TCP");
    Some((tcp, packet.to_vec()[at + len..ethernet::LEN + usize::from(header.total_len)].to_vec()))
}

/// Is the transport checksum of a frame filled in and right?
pub fn checksum_right(packet: &Packet) -> bool {
    let (header, at) = ip(packet);
    let mut packet = packet.clone();
    packet.truncate(ethernet::LEN + usize::from(header.total_len));
    let pseudo = checksum::pseudo_header(
        header.source.into(),
        header.destination.into(),
        header.protocol,
        (packet.len() - at) as u32,
    );
    checksum::is_right(checksum::add(pseudo, packet.sum_from(at)))
}
