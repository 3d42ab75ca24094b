//! A host for tests, which is driven by hand, and frames from its neighbours.

pub(crate) mod v6;

use crate::application::ConnectError;
use crate::{Application, Call, Config, ConnId, Counters, Datagram, Domain, DropReason, Egress};
use crate::{InterfaceConfig, RawDatagram, Unit};
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use tcp::{Events, Tcb};
use wire::tcp::Flags;
use wire::{Address, Endpoint, EthernetAddress, FlowKey, Instant, Packet, Seq};
use wire::{arp, checksum, ethernet, ipv4, protocol, udp};

pub(crate) const MAC: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 1]);
pub(crate) const PEER_MAC: EthernetAddress = EthernetAddress([2, 0, 0, 0, 0, 9]);
pub(crate) const US: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub(crate) const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);

/// Notes what it is told.
#[derive(Default)]
pub(crate) struct App {
    pub(crate) full: bool,
    /// Most handshakes at a time, if there is a limit.
    pub(crate) most_half_open: Option<usize>,
    pub(crate) opened: Vec<(ConnId, FlowKey)>,
    pub(crate) failed: Vec<ConnectError>,
    pub(crate) closed: Vec<Option<tcp::Error>>,
    pub(crate) datagrams: Vec<Datagram>,
    pub(crate) errors: Vec<(Endpoint, tcp::Error)>,
    pub(crate) leaving: VecDeque<Datagram>,
    pub(crate) raw: Vec<RawDatagram>,
    pub(crate) leaving_raw: VecDeque<RawDatagram>,
    pub(crate) rejected: VecDeque<FlowKey>,
    /// What the next connection that is ready sends.
    pub(crate) text: Vec<u8>,
    /// Whom sockets are connected to.
    pub(crate) connected: Option<Endpoint>,
    pub(crate) close: bool,
    /// The application is gone.
    pub(crate) release: bool,
    pub(crate) ports_closed: usize,
    pub(crate) refused: usize,
    /// How many connections may open before their handshake is over, and how many have.
    pub(crate) early: usize,
    /// What the listener says of its cookies.
    pub(crate) fast_open_terms: tcp::FastOpenTerms,
    pub(crate) opened_early: usize,
    /// What was received, one connection's behind the other's.
    pub(crate) read: Vec<u8>,
    /// How often a connection came to rest.
    pub(crate) rested: usize,
}

impl Application for App {
    type Connection = ();
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<()> {
        (!self.full && !self.half_open_limit_reached(&())).then_some(())
    }
    fn incoming_established(&mut self, (): &()) -> Option<()> {
        (!self.full).then_some(())
    }
    fn half_open_limit_reached(&self, (): &()) -> bool {
        let waiting = self.opened.len() - self.closed.len();
        self.most_half_open.is_some_and(|most| waiting >= most)
    }
    fn refused(&mut self, (): ()) {
        self.refused += 1;
    }
    fn fast_open(&self, (): &()) -> Option<tcp::FastOpenTerms> {
        (self.early > 0).then_some(self.fast_open_terms)
    }
    fn opens_early(&mut self, (): &mut (), _: Instant) -> bool {
        let opens = self.opened_early < self.early;
        self.opened_early += usize::from(opens);
        opens
    }
    fn opened(&mut self, (): &mut (), id: ConnId, flow: &FlowKey) {
        self.opened.push((id, *flow));
    }
    fn connect_failed(&mut self, (): (), error: ConnectError) {
        self.failed.push(error);
    }
    fn ready(&mut self, (): &mut (), tcb: &mut Tcb, _: Events, _: Instant) -> bool {
        while let Some(slice) = tcb.pop_slice(usize::MAX) {
            self.read.extend_from_slice(&slice);
        }
        let _ = tcb.send(&std::mem::take(&mut self.text));
        if self.close {
            tcb.shutdown_write();
        }
        if self.release {
            tcb.release();
        }
        false
    }
    fn rests(&mut self, (): &mut ()) {
        self.rested += 1;
    }
    fn closed(&mut self, (): (), tcb: &mut Tcb) {
        self.closed.push(tcb.error());
    }
    fn datagram(&mut self, (): &(), datagram: Datagram) -> bool {
        if !self.full {
            self.datagrams.push(datagram);
        }
        !self.full
    }
    fn datagram_error(&mut self, (): &(), flow: FlowKey, error: tcp::Error) {
        self.errors.push((flow.remote, error));
    }
    fn is_peer(&self, (): &(), flow: FlowKey) -> bool {
        self.connected == Some(flow.remote)
    }
    fn next_datagram(&mut self, (): &()) -> Option<Datagram> {
        self.leaving.pop_front()
    }
    fn raw(&mut self, datagram: RawDatagram) -> bool {
        if !self.full {
            self.raw.push(datagram);
        }
        !self.full
    }
    fn next_raw(&mut self) -> Option<RawDatagram> {
        self.leaving_raw.pop_front()
    }
    fn next_rejected(&mut self) -> Option<FlowKey> {
        self.rejected.pop_front()
    }
    fn listener_closed(&mut self, (): ()) {
        self.ports_closed += 1;
    }
    fn udp_closed(&mut self, (): ()) {
        self.ports_closed += 1;
    }
}

pub(crate) struct Host {
    pub(crate) domain: Domain<App>,
    pub(crate) now: Instant,
    egress: Egress,
}

impl Host {
    pub(crate) fn config(&self) -> &Config {
        self.domain.config()
    }
}

pub(crate) fn end(address: Ipv4Addr, port: u16) -> Endpoint {
    Endpoint { address: address.into(), port }
}

pub(crate) fn interface() -> InterfaceConfig {
    InterfaceConfig {
        is_ethernet: true,
        ethernet: MAC,
        vlan: None,
        addresses: vec![(US.into(), 24)],
        mtu: 1500,
        transmit_checksum: false,
        segmentation: 0,
    }
}

impl Host {
    /// A host that knows its peer's Ethernet address.
    pub(crate) fn new(tune: impl FnOnce(&mut Config)) -> Host {
        let mut host = Host::lonely(Unit::ONLY, tune);
        host.take(&arp_frame(arp::Operation::Request, PEER, US));
        host.domain.counters = Counters::default();
        host
    }

    /// One that knows nobody.
    pub(crate) fn lonely(unit: Unit, tune: impl FnOnce(&mut Config)) -> Host {
        let mut config = Config::new(vec![interface()], 7);
        config.tcp = Arc::new(tcp::Config::default().with_nagle(false));
        tune(&mut config);
        Host::with_domain(Domain::new(Arc::new(config), unit, App::default()))
    }

    /// One whose domain this is.
    pub(crate) fn with_domain(domain: Domain<App>) -> Host {
        Host { domain, now: Instant::from_millis(5000), egress: Egress::new(1) }
    }

    /// What leaves after all that is to do at once was done.
    pub(crate) fn settle(&mut self) -> Vec<Packet> {
        let mut rounds = 0;
        loop {
            let due = self.domain.next_timeout().is_some_and(|at| at <= self.now);
            if due {
                self.domain.on_timeout(self.now, &mut self.egress);
            }
            if !self.domain.serve(self.now, &mut self.egress, usize::MAX) && !due {
                break;
            }
            rounds += 1;
            assert!(rounds < 100, "it never rests");
        }
        self.egress.batch(0).drain(..).collect()
    }

    /// Timers that are due go off, and nothing else is done.
    pub(crate) fn expire(&mut self) {
        self.domain.on_timeout(self.now, &mut self.egress);
    }

    /// A frame comes; what leaves for it.
    pub(crate) fn take(&mut self, frame: &[u8]) -> Vec<Packet> {
        self.take_packet(Packet::copy_of(frame))
    }

    pub(crate) fn take_packet(&mut self, frame: Packet) -> Vec<Packet> {
        self.domain.input(frame, self.now, &mut self.egress);
        let out = self.settle();
        self.conserved();
        out
    }

    /// Frames come in one batch; nothing is said before the last is there.
    pub(crate) fn take_batch(&mut self, frames: &[Vec<u8>]) {
        for frame in frames {
            self.domain.input(Packet::copy_of(frame), self.now, &mut self.egress);
        }
    }

    /// Refuses a connection that has nowhere to go; what leaves.
    pub(crate) fn refuse(&mut self, connection: Box<crate::Connection<()>>) -> Vec<Packet> {
        self.domain.refuse(
            connection,
            ConnectError::Refused("no more threads"),
            self.now,
            &mut self.egress,
        );
        self.settle()
    }

    pub(crate) fn call(&mut self, call: Call<App>) -> Vec<Packet> {
        self.domain.call(call, self.now, &mut self.egress);
        self.settle()
    }

    /// Does a call, and nothing that follows from it.
    pub(crate) fn only_call(&mut self, call: Call<App>) {
        self.domain.call(call, self.now, &mut self.egress);
    }

    /// One round of turns with room for so many packets; what leaves.
    pub(crate) fn serve(&mut self, room: usize) -> Vec<Packet> {
        self.domain.serve(self.now, &mut self.egress, room);
        self.egress.batch(0).drain(..).collect()
    }

    /// Time passes; what leaves meanwhile.
    pub(crate) fn wait(&mut self, time: Duration) -> Vec<Packet> {
        self.now += time;
        self.settle()
    }

    /// Sends a UDP datagram from port 53.
    pub(crate) fn say(&mut self, to: Ipv4Addr, bytes: &[u8]) -> Vec<Packet> {
        let payload = wire::Parts::from_iter([wire::Slice::copy_of(bytes)]);
        let (local, remote) = (end(Ipv4Addr::UNSPECIFIED, 53), end(to, 4000));
        self.domain.app.leaving.push_back(Datagram { local, remote, payload });
        self.call(Call::FlushUdp(()))
    }

    /// A frame that must lead to nothing but this drop.
    pub(crate) fn drops(&mut self, frame: &[u8], reason: DropReason) {
        let before = self.domain.counters.dropped(reason);
        let out = self.take(frame);
        let counters = &self.domain.counters;
        assert_eq!(counters.dropped(reason), before + 1, "{reason:?}: {counters:?}");
        assert!(out.is_empty(), "{out:?}");
    }

    pub(crate) fn conserved(&self) {
        let counters = &self.domain.counters;
        let accounted = counters.delivered + counters.absorbed + counters.dropped_in_all();
        assert_eq!(counters.packets_in, accounted, "{counters:?}");
    }
}

/// The Ethernet header of a frame from the peer.
pub(crate) fn link(ethertype: u16) -> ethernet::Header {
    ethernet::Header { destination: MAC, source: PEER_MAC, vlan: None, ethertype }
}

pub(crate) fn framed(header: ethernet::Header, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; header.len()];
    header.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    bytes
}

pub(crate) fn arp_frame(operation: arp::Operation, sender: Ipv4Addr, target: Ipv4Addr) -> Vec<u8> {
    let (sender_ip, target_ip) = (sender, target);
    let message = arp::Message { operation, sender: PEER_MAC, sender_ip, target: MAC, target_ip };
    let mut bytes = vec![0; arp::LEN];
    message.emit(&mut bytes);
    framed(link(ethernet::ethertype::ARP), &bytes)
}

/// An IP header from the peer to us; the length is filled in by [`datagram`].
pub(crate) fn ip(protocol: u8) -> ipv4::Header {
    ipv4::Header { identification: 1, ..ipv4::Header::new(PEER, US, protocol, 0) }
}

pub(crate) fn datagram(mut header: ipv4::Header, payload: &[u8]) -> Vec<u8> {
    header.total_len = (ipv4::LEN + payload.len()) as u16;
    let mut bytes = vec![0; ipv4::LEN];
    header.emit(&mut bytes);
    bytes.extend_from_slice(payload);
    framed(link(ethernet::ethertype::IPV4), &bytes)
}

fn pseudo(source: Ipv4Addr, protocol: u8, len: usize) -> u16 {
    checksum::pseudo_header(source.into(), US.into(), protocol, len as u32)
}

/// A UDP datagram from port 4000 of the peer, checksum right.
pub(crate) fn udp_bytes(port: u16, data: &[u8]) -> Vec<u8> {
    let length = (udp::LEN + data.len()) as u16;
    let mut bytes = vec![0; udp::LEN];
    udp::Header { source_port: 4000, destination_port: port, length, checksum: 0 }.emit(&mut bytes);
    bytes.extend_from_slice(data);
    let sum = !checksum::add(pseudo(PEER, protocol::UDP, bytes.len()), checksum::sum(&bytes));
    bytes[6..8].copy_from_slice(&if sum == 0 { 0xffff } else { sum }.to_be_bytes());
    bytes
}

/// A segment's header, without options, from this port of the peer to ours, 80.
pub(crate) fn tcp_header(port: u16, flags: Flags, seq: u32, ack: Seq) -> wire::tcp::Header {
    wire::tcp::Header {
        source_port: port,
        destination_port: 80,
        seq: Seq(seq),
        ack,
        flags,
        window: 1000,
        urgent: 0,
        options: wire::tcp::Options::NONE,
    }
}

/// A segment from the peer, checksum right.
pub(crate) fn tcp_frame(header: &wire::tcp::Header, data: &[u8]) -> Vec<u8> {
    tcp_frame_from(PEER, header, data)
}

/// A segment from `source`, checksum right.
pub(crate) fn tcp_frame_from(source: Ipv4Addr, header: &wire::tcp::Header, data: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0; header.len()];
    header.emit(&mut bytes);
    bytes.extend_from_slice(data);
    let sum = !checksum::add(pseudo(source, protocol::TCP, bytes.len()), checksum::sum(&bytes));
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    datagram(ipv4::Header { source, ..ip(protocol::TCP) }, &bytes)
}

/// An ICMP message with its checksum; `rest` follows the first four bytes.
pub(crate) fn icmp_bytes(kind: u8, code: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = vec![kind, code, 0, 0];
    bytes.extend_from_slice(rest);
    let sum = !checksum::sum(&bytes);
    bytes[2..4].copy_from_slice(&sum.to_be_bytes());
    bytes
}

/// The IP header and payload of a frame of ours.
pub(crate) fn parse(frame: &Packet) -> (ipv4::Header, Vec<u8>) {
    let bytes = frame.to_vec();
    let (header, len) = ethernet::Header::parse(&bytes).expect("Ethernet");
    assert_eq!((header.source, header.ethertype), (MAC, ethernet::ethertype::IPV4));
    let header = ipv4::Header::parse(&bytes[len..]).expect("IP");
    (header, bytes[len + ipv4::LEN..].to_vec())
}

/// The ARP message of a frame of ours, and whom it goes to.
pub(crate) fn parse_arp(frame: &Packet) -> (EthernetAddress, arp::Message) {
    let bytes = frame.to_vec();
    let (header, len) = ethernet::Header::parse(&bytes).expect("Ethernet");
    assert_eq!(header.ethertype, ethernet::ethertype::ARP);
    (header.destination, arp::Message::parse(&bytes[len..]).expect("ARP"))
}

/// The segment of a frame of ours; its checksum has to be right.
pub(crate) fn parse_tcp(frame: &Packet) -> wire::tcp::Header {
    let (header, bytes) = parse(frame);
    let (source, destination) = (Address::from(header.source), header.destination.into());
    let pseudo = checksum::pseudo_header(source, destination, protocol::TCP, bytes.len() as u32);
    assert!(checksum::is_right(checksum::add(pseudo, checksum::sum(&bytes))));
    wire::tcp::Header::parse(&bytes).expect("TCP").0
}
