//! Flows of UDP that the application rejects.

use super::*;
use crate::OwnedPrefix;
use crate::harness::v6::*;
use std::net::Ipv6Addr;
use wire::{Address, Endpoint, FlowKey, Packet, ipv6};

/// An address in a network that is ours as a whole, of each family.
const THERE: Ipv4Addr = Ipv4Addr::new(8, 8, 8, 8);
const THERE6: Ipv6Addr = Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0, 0, 0, 0x1111);

/// A host of both families that owns everything.
fn owner() -> Host {
    let mut host = host6(|config| {
        let all = |network: Address| OwnedPrefix { interface: 0, network, prefix: 0 };
        config.owned = vec![all(Ipv4Addr::UNSPECIFIED.into()), all(Ipv6Addr::UNSPECIFIED.into())];
    });
    host.take(&arp_frame(wire::arp::Operation::Request, PEER, US));
    host
}

fn flow(local: impl Into<Address>, remote: impl Into<Address>) -> FlowKey {
    let local = Endpoint { address: local.into(), port: 443 };
    FlowKey { local, remote: Endpoint { address: remote.into(), port: 4000 } }
}

fn rejected(host: &mut Host, flow: FlowKey) -> Vec<Packet> {
    host.domain.app.rejected.push_back(flow);
    host.call(Call::FlushUdp(()))
}

fn bytes(packets: &[Packet]) -> Vec<Vec<u8>> {
    packets.iter().map(|packet| packet.slices().flatten().copied().collect()).collect()
}

/// What is said of a port that nobody has, about a datagram without payload.
#[test]
fn who_is_rejected_hears_what_a_closed_port_says() {
    // With a sum that is right for that address.
    let mut udp = udp_bytes(443, b"");
    let pseudo = checksum::pseudo_header(PEER.into(), THERE.into(), protocol::UDP, 8);
    let sum = !checksum::add(pseudo, checksum::sum(&udp[..6]));
    udp[6..].copy_from_slice(&sum.to_be_bytes());
    let v4 = datagram(ipv4::Header { destination: THERE, ..ip(protocol::UDP) }, &udp);
    let udp = [4000u16, 443, 8, 0].map(u16::to_be_bytes).concat();
    let udp = summed(PEER6, THERE6, protocol::UDP, 6, udp);
    let v6 = datagram6(ipv6::Header { destination: THERE6, ..ip6(protocol::UDP) }, &udp);
    for (frame, flow) in [(v4, flow(THERE, PEER)), (v6, flow(THERE6, PEER6))] {
        let closed = bytes(&owner().take(&frame));
        let mut host = owner();
        let said = bytes(&rejected(&mut host, flow));
        assert_eq!(closed.len(), 1, "{flow:?}");
        assert_eq!(said, closed);
        assert_eq!(host.domain.counters.icmp_errors_out, 1);
    }
}

#[test]
fn no_more_are_told_than_of_anything_else() {
    let mut host = owner();
    let flow = flow(THERE, PEER);
    let told = (0..1000).map(|_| rejected(&mut host, flow).len()).sum::<usize>() as u64;
    let counters = host.domain.counters;
    assert_eq!((counters.icmp_errors_out, counters.icmp_errors_limited), (told, 1000 - told));
    assert!((1..500).contains(&told), "{told}");
}

/// Nothing in another's name, nothing to many, nothing that leads nowhere.
#[test]
fn only_a_peer_of_ours_is_told() {
    let mut host = Host::new(|_| {});
    let many = Ipv4Addr::new(10, 0, 0, 255);
    for flow in [flow(THERE, PEER), flow(US, many), flow(US, THERE), flow(THERE6, PEER)] {
        assert!(rejected(&mut host, flow).is_empty(), "{flow:?}");
    }
    assert_eq!(host.domain.counters.out_dropped, 4);
    assert_eq!(rejected(&mut host, self::flow(US, PEER)).len(), 1);
}
