//! The other end of a link, by hand.

use super::{PATIENCE, address};
use device::{Batch, Device};
use std::net::Ipv6Addr;
use std::time::Instant;
use wire::ipv6::{self, Header};
use wire::ndp::Message;
use wire::tcp::Header as Tcp;
use wire::{EthernetAddress, Packet, checksum, ethernet, protocol};

/// Bytes of an Ethernet header.
const LINK: usize = 14;
const ALL_NODES: &str = "ff02::1";

/// An option of a router that tells of a network (RFC 4861 4.6.2).
pub fn prefix(network: Ipv6Addr, valid: u32, preferred: u32) -> Vec<u8> {
    let mut bytes = vec![3, 4, 64, 0xc0];
    bytes.extend(valid.to_be_bytes());
    bytes.extend(preferred.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(network.octets());
    bytes
}

/// One that tells of a server of names (RFC 8106).
pub fn servers(lifetime: u32, server: Ipv6Addr) -> Vec<u8> {
    [vec![25, 3, 0, 0], lifetime.to_be_bytes().to_vec(), server.octets().to_vec()].concat()
}

/// A station at the other end of the link, and what it has heard.
pub struct Other {
    device: Device,
    heard: Vec<Packet>,
    /// The stack's station.
    stack: EthernetAddress,
}

impl Other {
    pub fn new(device: Device) -> Other {
        Other { device, heard: Vec::new(), stack: EthernetAddress::BROADCAST }
    }

    /// The next datagram of IPv6 from the stack.
    fn next(&mut self) -> (Header, Vec<u8>) {
        let until = Instant::now() + PATIENCE;
        loop {
            while self.heard.is_empty() {
                assert!(Instant::now() < until, "the stack is silent");
                let receive = &mut self.device.queues[0].receive;
                if receive.receive(&mut self.heard, 64) == 0 {
                    std::thread::yield_now();
                }
            }
            let bytes = self.heard.remove(0).to_vec();
            let (link, len) = ethernet::Header::parse(&bytes).expect("a frame");
            self.stack = link.source;
            if let Ok(header) = Header::parse(&bytes[len..]) {
                return (header, bytes[len + ipv6::LEN..].to_vec());
            }
        }
    }

    /// The next datagram that `wanted` is there for; who asks for `us` meanwhile is answered.
    fn until<T>(
        &mut self,
        us: Option<Ipv6Addr>,
        wanted: impl Fn(&Header, &[u8]) -> Option<T>,
    ) -> T {
        loop {
            let (header, payload) = self.next();
            if let Some(found) = wanted(&header, &payload) {
                return found;
            }
            let message =
                (header.next_header == protocol::ICMPV6).then(|| Message::parse(&payload));
            if let Some(Ok(Message::Solicitation { target, .. })) = message
                && Some(target) == us
                && !header.source.is_unspecified()
            {
                self.advertise_neighbour(target, header.source, true);
            }
        }
    }

    fn send(&mut self, source: Ipv6Addr, destination: Ipv6Addr, hop_limit: u8, icmp: &[u8]) {
        let length = icmp.len() as u32;
        let pseudo =
            checksum::pseudo_header(source.into(), destination.into(), protocol::ICMPV6, length);
        let mut icmp = icmp.to_vec();
        icmp[2..4].fill(0);
        let sum = !checksum::add(pseudo, checksum::sum(&icmp));
        icmp[2..4].copy_from_slice(&sum.to_be_bytes());
        let to = match destination.is_multicast() {
            true => ipv6::ethernet_group(destination),
            false => self.stack,
        };
        let link = ethernet::Header {
            destination: to,
            source: self.device.ethernet,
            vlan: None,
            ethertype: ethernet::ethertype::IPV6,
        };
        let mut bytes = vec![0; LINK + ipv6::LEN];
        link.emit(&mut bytes[..LINK]);
        let header = Header::new(source, destination, protocol::ICMPV6, icmp.len());
        Header { hop_limit, ..header }.emit(&mut bytes[LINK..]);
        bytes.extend(icmp);
        let mut batch = Batch::from([Packet::copy_of(&bytes)]);
        while !batch.is_empty() {
            self.device.queues[0].transmit.transmit(&mut batch);
        }
    }

    /// Says that `target` is here.
    fn advertise_neighbour(&mut self, target: Ipv6Addr, to: Ipv6Addr, solicited: bool) {
        let target_link = Some(self.device.ethernet);
        let (router, overrides) = (false, true);
        let message = Message::Advertisement { target, target_link, router, solicited, overrides };
        let mut bytes = vec![0; message.len()];
        message.emit(&mut bytes);
        self.send(target, to, 255, &bytes);
    }

    /// Waits until routers are asked; where that goes.
    pub fn asked_routers(&mut self) -> String {
        self.until(None, |header, payload| {
            let asks = header.next_header == protocol::ICMPV6 && payload[0] == 133;
            asks.then(|| header.destination.to_string())
        })
    }

    /// Is a router for so many seconds, and says more.
    pub fn advertise(&mut self, router: &str, lifetime: u16, options: &[Vec<u8>]) {
        self.advertise_with(0, router, lifetime, options);
    }

    /// The same, with these flags (RFC 4861 4.2).
    pub fn advertise_with(&mut self, flags: u8, router: &str, lifetime: u16, options: &[Vec<u8>]) {
        let mut bytes = vec![134, 0, 0, 0, 64, flags];
        bytes.extend(lifetime.to_be_bytes());
        bytes.extend([0; 8]);
        bytes.extend(options.concat());
        self.send(address(router), address(ALL_NODES), 255, &bytes);
    }

    /// Waits until the stack checks `target`.
    pub fn probed(&mut self, target: Ipv6Addr) {
        self.until(None, |header, payload| {
            let probe = Message::Solicitation { target, source_link: None };
            let is_probe = header.source.is_unspecified() && Message::parse(payload) == Ok(probe);
            is_probe.then_some(())
        });
    }

    /// Says to all that it has `target`.
    pub fn claim(&mut self, target: Ipv6Addr) {
        self.advertise_neighbour(target, address(ALL_NODES), false);
    }

    /// Who is asked for next.
    pub fn asked_neighbour(&mut self) -> Ipv6Addr {
        self.until(None, |header, payload| match Message::parse(payload) {
            Ok(Message::Solicitation { target, .. })
                if header.next_header == protocol::ICMPV6 && !header.source.is_unspecified() =>
            {
                Some(target)
            }
            _ => None,
        })
    }

    /// Does `them` answer a ping from `us`?
    pub fn pings(&mut self, us: Ipv6Addr, them: Ipv6Addr) -> bool {
        self.send(us, them, 64, &[128, 0, 0, 0, 1, 2, 3, 4, 5]);
        self.until(Some(us), |header, payload| {
            let is_reply = header.next_header == protocol::ICMPV6 && payload[0] == 129;
            is_reply.then(|| header.source == them && payload[4..] == [1, 2, 3, 4, 5])
        })
    }

    /// The source of the next datagram of UDP, which goes to `us`.
    pub fn answers_and_hears(&mut self, us: Ipv6Addr) -> Ipv6Addr {
        self.until(Some(us), |header, _| {
            (header.next_header == protocol::UDP).then_some(header.source)
        })
    }

    /// The next datagram of UDP, or fragment of one, which goes by `router`.
    pub fn hears_udp(&mut self, router: Ipv6Addr) -> Vec<u8> {
        self.until(Some(router), |header, payload| {
            let wanted = [protocol::UDP, ipv6::extension::FRAGMENT].contains(&header.next_header);
            wanted.then(|| {
                let mut bytes = vec![0; ipv6::LEN];
                header.emit(&mut bytes);
                bytes.extend(payload);
                bytes
            })
        })
    }

    /// Says that `datagram` was too large.
    pub fn too_big(&mut self, router: Ipv6Addr, datagram: &[u8], mtu: u32) {
        let header = Header::parse(datagram).expect("of IPv6");
        let quote = &datagram[..datagram.len().min(1232)];
        let message = [&[2, 0, 0, 0], &mtu.to_be_bytes()[..], quote].concat();
        self.send(router, header.source, 64, &message);
    }

    /// What the next SYN, which goes by `router`, says of the largest segment.
    pub fn hears_mss(&mut self, router: Ipv6Addr) -> u16 {
        self.until(Some(router), |header, payload| {
            let tcp = (header.next_header == protocol::TCP).then(|| Tcp::parse(payload));
            tcp.and_then(|tcp| tcp.expect("a segment").0.options.mss)
        })
    }
}
