use super::*;
use net::InterfaceConfig;
use std::net::Ipv4Addr;
use sync::LockKind;
use tcp::Tcb;
use wire::{EthernetAddress, Instant};

const US: [u8; 4] = [10, 0, 0, 1];
const PEER: [u8; 4] = [10, 0, 0, 2];

fn sockets() -> Sockets<()> {
    let interface = InterfaceConfig {
        is_ethernet: true,
        ethernet: EthernetAddress([2; 6]),
        vlan: None,
        addresses: vec![(Ipv4Addr::from(US).into(), 24)],
        mtu: 1500,
        transmit_checksum: false,
        segmentation: 0,
    };
    let config = Arc::new(Config::new(vec![interface], 7));
    let lock = || DynLock::new(LockKind::Spin, false);
    let table = Arc::new(SharedTable::new(&config, 4, lock));
    Sockets::new(config, table)
}

/// An IPv4 datagram in an Ethernet frame; `rest` is behind the IP header.
fn frame(protocol: u8, to: [u8; 4], fragment: u16, rest: &[u8]) -> Packet {
    let mut bytes = vec![2, 2, 2, 2, 2, 2, 2, 0, 0, 0, 0, 9, 8, 0];
    let total = (20 + rest.len()) as u16;
    bytes.extend([0x45, 0]);
    bytes.extend(total.to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(fragment.to_be_bytes());
    bytes.extend([64, protocol, 0, 0]);
    bytes.extend(PEER);
    bytes.extend(to);
    bytes.extend(rest);
    Packet::copy_of(&bytes)
}

fn segment(port: u16, flags: u8) -> Packet {
    let mut tcp = vec![0; 20];
    tcp[..2].copy_from_slice(&7777u16.to_be_bytes());
    tcp[2..4].copy_from_slice(&port.to_be_bytes());
    tcp[12] = 0x50;
    tcp[13] = flags;
    frame(protocol::TCP, US, 0, &tcp)
}

fn classify(sockets: &Sockets<()>, frame: &Packet) -> Classified {
    Demultiplexer::new(sockets).classify(frame, sockets)
}

#[test]
fn what_is_no_sockets_goes_to_shared_queues() {
    let sockets = sockets();
    let arp = Packet::copy_of(&[&[0xff; 6][..], &[2; 6], &[8, 6], &[0; 28]].concat());
    assert_eq!(classify(&sockets, &arp), to(CONTROL, Class::Control));
    let icmp = frame(protocol::ICMP, US, 0, &[8, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(classify(&sockets, &icmp), to(CONTROL, Class::Control));
    let elsewhere = frame(protocol::UDP, [10, 0, 0, 77], 0, &[0; 8]);
    assert_eq!(classify(&sockets, &elsewhere), to(FORWARDING, Class::Forwarding));
    for fragment in [0x2000, 0x0010] {
        let piece = frame(protocol::UDP, US, fragment, &[0; 8]);
        assert_eq!(classify(&sockets, &piece), to(FRAGMENTS, Class::Control));
    }
    assert_eq!(classify(&sockets, &segment(80, 2)), to(UNKNOWN, Class::Wait), "a SYN");
    for len in 0..40 {
        let cut = Packet::copy_of(&segment(80, 2).front()[..len.min(34)]);
        classify(&sockets, &cut);
    }
}

#[test]
fn datagrams_go_to_the_socket_of_their_port() {
    let sockets = sockets();
    let any = Endpoint { address: Address::UNSPECIFIED_V4, port: 53 };
    let mut udp = [0u8; 8];
    udp[..2].copy_from_slice(&9u16.to_be_bytes());
    udp[2..4].copy_from_slice(&53u16.to_be_bytes());
    let datagram = frame(protocol::UDP, US, 0, &udp);
    assert_eq!(classify(&sockets, &datagram), to(UNKNOWN, Class::Wait));
    sockets.bind(any);
    sockets.bind(any);
    let first = classify(&sockets, &datagram);
    assert_eq!(first.class, Class::Ready);
    assert!(first.key > SOCKETS && first.key % 2 == 1);
    // Two members of a group have one queue.
    let group = frame(protocol::UDP, [224, 0, 0, 5], 0, &udp);
    assert_eq!(classify(&sockets, &group), first);
    sockets.unbind(any);
    assert_eq!(classify(&sockets, &datagram), first, "still bound in the other unit");
    sockets.unbind(any);
    assert_eq!(classify(&sockets, &datagram), to(UNKNOWN, Class::Wait));
    // The queue is the next socket's.
    sockets.bind(Endpoint { port: 54, ..any });
    assert_eq!(sockets.udp_key(Endpoint { port: 54, ..any }), Some(first.key));
}

#[test]
fn segments_go_to_their_connection() {
    use net::{Connections, SharedRef};
    let sockets = sockets();
    let now = Instant::from_millis(1000);
    let end = |ip: [u8; 4], port| Endpoint { address: Ipv4Addr::from(ip).into(), port };
    let flow = FlowKey { local: end(US, 80), remote: end(PEER, 7777) };
    let isn = tcp::isn::Generator::new([1; 16], std::time::Duration::ZERO).isn(&flow, now);
    let tcb = Tcb::connect(&Arc::new(tcp::Config::default()), isn, 1460, now);
    let mut conns = SharedRef::new(sockets.table.clone());
    let id = conns.open(flow, tcb, ()).expect("room");
    let key = key_of(id);
    assert_eq!(classify(&sockets, &segment(80, 0x10)), to(key, Class::Wait), "not established");
    sockets.queues.get_or_grow(key).turned(Class::Ready, 0);
    assert_eq!(classify(&sockets, &segment(80, 0x10)), to(key, Class::Ready));
    assert_eq!(classify(&sockets, &segment(80, 0x11)), to(key, Class::Control), "FIN");
    assert_eq!(classify(&sockets, &segment(80, 0x14)), to(key, Class::Ready), "once");
    conns.close(id, now).expect("there");
    assert_eq!(classify(&sockets, &segment(80, 0x10)), to(UNKNOWN, Class::Wait), "closed");
}
