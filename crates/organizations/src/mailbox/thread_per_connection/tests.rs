//! What the tests of the parts have in common. The whole is tested in
//! `tests/conformance`.

use net::{Application, Config, Datagram, InterfaceConfig};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tcp::{Events, Tcb};
use wire::{Endpoint, EthernetAddress, FlowKey, Instant, Packet, protocol};

/// Does nothing.
pub(crate) struct Nobody;

impl Application for Nobody {
    type Connection = ();
    type Listener = ();
    type Udp = Endpoint;
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<()> {
        None
    }
    fn ready(&mut self, (): &mut (), _: &mut Tcb, _: Events, _: Instant) -> bool {
        false
    }
    fn closed(&mut self, (): (), _: &mut Tcb) {}
    fn bound_to(socket: &Endpoint) -> Option<Endpoint> {
        Some(*socket)
    }
    fn datagram(&mut self, _: &Endpoint, _: Datagram) -> bool {
        true
    }
}

/// A host on a link that carries bare IP.
pub(super) fn config() -> Arc<Config> {
    let interface = InterfaceConfig {
        is_ethernet: false,
        ethernet: EthernetAddress::default(),
        vlan: None,
        addresses: vec![(Ipv4Addr::new(10, 0, 0, 1).into(), 24)],
        mtu: 1500,
        transmit_checksum: false,
        segmentation: 0,
    };
    Arc::new(Config::new(vec![interface], 1))
}

pub(crate) fn end(last: u8, port: u16) -> Endpoint {
    Endpoint { address: Ipv4Addr::new(10, 0, 0, last).into(), port }
}

/// A flow of ours with a peer's `port`.
pub(super) fn flow(port: u16) -> FlowKey {
    FlowKey { local: end(1, 80), remote: end(2, port) }
}

/// The beginning of a datagram that comes for `flow`.
pub(super) fn frame(flow: &FlowKey, protocol: u8) -> Packet {
    let mut bytes = vec![0; 28];
    bytes[0] = 0x45;
    bytes[9] = protocol;
    for (at, address) in [(12, flow.remote.address), (16, flow.local.address)] {
        bytes[at..at + 4].copy_from_slice(&address.v4().expect("IPv4").octets());
    }
    bytes[20..22].copy_from_slice(&flow.remote.port.to_be_bytes());
    bytes[22..24].copy_from_slice(&flow.local.port.to_be_bytes());
    Packet::copy_of(&bytes)
}

/// A fragment of one.
pub(super) fn fragment(flow: &FlowKey) -> Packet {
    let mut bytes = frame(flow, protocol::TCP).to_vec();
    bytes[6] = 0x20;
    Packet::copy_of(&bytes)
}
