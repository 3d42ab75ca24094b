//! Datagrams of other protocols, and ICMP that is the application's.

use super::*;
use crate::harness::v6::*;
use crate::{OwnedPrefix, RawDatagram, RawKinds};
use std::net::Ipv6Addr;
use wire::{Address, Packet, Parts, Slice, ipv6};

/// GRE (RFC 2784).
const GRE: u8 = 47;
/// An address in a network that is ours as a whole, of each family.
const THERE: Ipv4Addr = Ipv4Addr::new(8, 8, 8, 8);
const THERE6: Ipv6Addr = Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0, 0, 0, 0x1111);

/// A host of both families that owns everything, and takes these kinds.
fn taking(kinds: RawKinds) -> Host {
    let mut host = host6(|config| {
        let all = |network: Address| OwnedPrefix { interface: 0, network, prefix: 0 };
        config.owned = vec![all(Ipv4Addr::UNSPECIFIED.into()), all(Ipv6Addr::UNSPECIFIED.into())];
        config.raw.set(kinds);
    });
    host.take(&arp_frame(wire::arp::Operation::Request, PEER, US));
    host
}

/// The only datagram that has come: whom it was for, its protocol and its bytes.
fn taken(host: &mut Host) -> (Address, u8, Vec<u8>) {
    let mut all = std::mem::take(&mut host.domain.app.raw);
    assert_eq!(all.len(), 1);
    let raw = all.remove(0);
    (raw.destination, raw.protocol, raw.payload.iter().flat_map(|p| p.to_vec()).collect())
}

fn to(destination: Ipv4Addr, protocol: u8, bytes: &[u8]) -> Vec<u8> {
    datagram(ipv4::Header { destination, ..ip(protocol) }, bytes)
}

fn to6(destination: Ipv6Addr, protocol: u8, bytes: &[u8]) -> Vec<u8> {
    datagram6(ipv6::Header { destination, ..ip6(protocol) }, bytes)
}

/// An echo request of IPv6 to `destination`.
fn echo6(destination: Ipv6Addr) -> Vec<u8> {
    summed(PEER6, destination, protocol::ICMPV6, 2, vec![128, 0, 0, 0, 0, 1, 0, 2])
}

#[test]
fn other_protocols_go_up_where_they_are_taken() {
    let mut host = taking(RawKinds::Others);
    for destination in [US, THERE] {
        assert!(host.take(&to(destination, GRE, b"tunnelled")).is_empty());
        assert_eq!(taken(&mut host), (destination.into(), GRE, b"tunnelled".to_vec()));
    }
    for destination in [US6, THERE6] {
        assert!(host.take(&to6(destination, GRE, b"tunnelled")).is_empty());
        assert_eq!(taken(&mut host), (destination.into(), GRE, b"tunnelled".to_vec()));
    }
    // Behind an extension header, and in fragments.
    let behind = [&[GRE, 0, 1, 4, 0, 0, 0, 0][..], b"x"].concat();
    host.take(&to6(US6, 60, &behind));
    assert_eq!(taken(&mut host), (US6.into(), GRE, b"x".to_vec()));
    let whole: Vec<u8> = (0..3000).map(|i| i as u8).collect();
    for frame in fragments6(GRE, &whole, 1448, 9) {
        host.take(&frame);
    }
    assert_eq!(taken(&mut host), (US6.into(), GRE, whole));
    // Echo is still answered here.
    assert_eq!(host.take(&to(THERE, protocol::ICMP, &icmp_bytes(8, 0, &[0; 4]))).len(), 1);
    assert!(host.domain.app.raw.is_empty());
}

#[test]
fn where_they_are_not_taken_or_there_is_no_room_they_are_counted() {
    let mut host = taking(RawKinds::None);
    assert_eq!(host.take(&to(THERE, GRE, b"x")).len(), 1);
    assert_eq!(host.take(&to6(THERE6, GRE, b"x")).len(), 1);
    assert_eq!(host.domain.counters.dropped(DropReason::ProtocolUnknown), 2);
    let mut host = taking(RawKinds::OthersAndIcmp);
    host.domain.app.full = true;
    host.drops(&to(THERE, GRE, b"x"), DropReason::RawQueueFull);
    host.drops(&to6(THERE6, GRE, b"x"), DropReason::RawQueueFull);
    host.drops(&to6(THERE6, protocol::ICMPV6, &echo6(THERE6)), DropReason::RawQueueFull);
    // What was sent to all is no one's.
    host.domain.app.full = false;
    host.take(&to(Ipv4Addr::new(10, 0, 0, 255), GRE, b"x"));
    assert!(host.domain.app.raw.is_empty());
}

#[test]
fn icmp_that_no_layer_needs_goes_up_too() {
    let mut host = taking(RawKinds::OthersAndIcmp);
    let echo = icmp_bytes(8, 0, &[0, 1, 0, 2, 7, 7]);
    host.take(&to(THERE, protocol::ICMP, &echo));
    assert_eq!(taken(&mut host), (THERE.into(), protocol::ICMP, echo.clone()));
    host.take(&to6(THERE6, protocol::ICMPV6, &echo6(THERE6)));
    assert_eq!(taken(&mut host), (THERE6.into(), protocol::ICMPV6, echo6(THERE6)));
    // Our own addresses answer for themselves.
    assert_eq!(host.take(&to(US, protocol::ICMP, &echo)).len(), 1);
    assert_eq!(host.take(&to6(US6, protocol::ICMPV6, &echo6(US6))).len(), 1);
    // A wrong checksum does not pass.
    let mut spoilt = echo;
    spoilt[9] ^= 1;
    host.drops(&to(THERE, protocol::ICMP, &spoilt), DropReason::IcmpMalformed);
    assert!(host.domain.app.raw.is_empty());
}

#[test]
fn errors_go_to_whom_they_are_about() {
    let mut host = taking(RawKinds::OthersAndIcmp);
    host.call(Call::BindUdp(end(Ipv4Addr::UNSPECIFIED, 53), ()));
    let about = |protocol: u8| {
        let header = ipv4::Header { ..ipv4::Header::new(THERE, PEER, protocol, 8) };
        let mut quote = vec![0; ipv4::LEN];
        header.emit(&mut quote);
        quote.extend([0, 53, 0x0f, 0xa0, 0, 8, 0, 0]);
        icmp_bytes(3, 2, &[vec![0; 4], quote].concat())
    };
    host.take(&to(THERE, protocol::ICMP, &about(protocol::UDP)));
    assert_eq!((host.domain.app.errors.len(), host.domain.app.raw.len()), (1, 0));
    host.take(&to(THERE, protocol::ICMP, &about(GRE)));
    assert_eq!(taken(&mut host), (THERE.into(), protocol::ICMP, about(GRE)));
    assert_eq!(host.domain.app.errors.len(), 1);
}

#[test]
fn what_the_application_sends_gets_headers_and_nothing_else() {
    let mut host = taking(RawKinds::Others);
    let mut send = |source: Address, destination: Address, ttl: u8, bytes: &[u8]| -> Vec<Packet> {
        let payload = Parts::from_iter([Slice::copy_of(bytes)]);
        let raw = RawDatagram { source, destination, protocol: GRE, ttl, payload };
        host.domain.app.leaving_raw.push_back(raw);
        host.call(Call::FlushUdp(()))
    };
    let out = send(THERE.into(), PEER.into(), 7, b"v4");
    let (header, bytes) = parse(&out[0]);
    assert_eq!((header.source, header.protocol, header.ttl), (THERE, GRE, 7));
    assert_eq!(bytes, b"v4");
    // From where the route says, with the usual time to live.
    let out = send(Address::UNSPECIFIED_V4, PEER.into(), 0, b"");
    assert_eq!((parse(&out[0]).0.source, parse(&out[0]).0.ttl), (US, super::super::TTL));
    // A long one goes in fragments.
    assert_eq!(send(THERE.into(), PEER.into(), 0, &[1; 3000]).len(), 3);
    // Nowhere, or of two families.
    assert!(send(THERE6.into(), PEER.into(), 0, b"x").is_empty());
    assert!(send(THERE.into(), Ipv4Addr::new(10, 0, 0, 255).into(), 0, b"x").is_empty());
    let out = send(THERE6.into(), PEER6.into(), 9, b"v6");
    let (_, header, bytes) = parse6(&out[0]);
    assert_eq!((header.source, header.next_header, header.hop_limit), (THERE6, GRE, 9));
    assert_eq!(bytes, b"v6");
    assert_eq!(host.domain.counters.out_dropped, 2);
}
