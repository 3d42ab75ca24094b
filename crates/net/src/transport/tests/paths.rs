//! What routers say of the way to a peer, and what is believed of that.

use super::*;
use wire::Address;

/// Tells of `mtu`.
fn too_big(frame: &wire::Packet, mtu: u16) -> Vec<u8> {
    let [high, low] = mtu.to_be_bytes();
    about(frame, 3, 4, [0, 0, high, low], 28)
}

fn len(frame: &wire::Packet) -> u16 {
    parse(frame).0.total_len
}

/// A connection whose segments are larger than the way carries by now goes on: they leave, and
/// by the answer to them it learns.
#[test]
fn segments_larger_than_the_way_leave_until_a_router_objects() {
    // RFC 8201 5.2/1, 5.4/1
    let mut host = listening();
    let mut syn = header(5000, 80, 999, 0, Flags::SYN);
    syn.options.mss = Some(1460);
    let answer = parse_tcp(&host.take(&tcp_frame(&syn, &[]))[0]);
    let ours = answer.seq.0.wrapping_add(1);
    host.take(&tcp_frame(&header(5000, 80, 1000, ours, Flags::ACK), &[]));
    let paths = host.config().paths.clone();
    let peer = Address::from(PEER);
    assert_eq!(paths.shrink(peer, 1000, 1500, host.now), Some(1000), "by another connection");
    host.domain.app.text = vec![7; 1400];
    let out = host.take(&tcp_frame(&header(5000, 80, 1000, ours, Flags::ACK), b"x"));
    let large = out.iter().find(|frame| len(frame) > 1400).expect("it leaves").clone();
    assert_eq!(host.domain.counters.out_dropped, 0);
    assert!(parse(&large).0.dont_fragment);
    // What is no smaller than the segment is not believed.
    host.take(&too_big(&large, 1500));
    assert_eq!(paths.path(peer).mtu, Some(1000));
    let again = host.take(&too_big(&large, 800));
    assert!(!again.is_empty() && again.iter().all(|frame| len(frame) <= 800));
    assert_eq!(paths.path(peer).mtu, Some(800));
}

#[test]
fn who_is_not_believed_does_not_shrink_the_way() {
    // RFC 8201 4/5
    let mut host = listening();
    let (_, out) = connect(&mut host);
    // A SYN is small: nobody finds it too large.
    host.take(&too_big(&out[0], 600));
    host.call(Call::BindUdp(end(Ipv4Addr::UNSPECIFIED, 53), ()));
    // Of a socket without a peer, anybody may say anything.
    let out = host.say(PEER, b"question");
    host.take(&too_big(&out[0], 600));
    assert!(host.config().paths.is_empty());
    host.domain.app.connected = Some(end(PEER, 4000));
    host.take(&too_big(&out[0], 600));
    assert_eq!(host.config().paths.path(PEER.into()).mtu, Some(600));
}

/// A socket without a peer is not told, but what it sends next fits: a router is believed about
/// those to whom as much has gone.
#[test]
fn what_a_socket_without_a_peer_has_sent_is_believed() {
    let mut host = listening();
    host.call(Call::BindUdp(end(Ipv4Addr::UNSPECIFIED, 53), ()));
    let out = host.say(PEER, &[7; 1400]);
    let paths = host.config().paths.clone();
    let mtu = |host: Ipv4Addr| paths.path(host.into()).mtu;
    // It was not that large, or it went to somebody else.
    host.take(&too_big(&out[0], 1428));
    let mut other = out[0].to_vec();
    other[14 + 19] ^= 1;
    host.take(&too_big(&wire::Packet::copy_of(&other), 1300));
    let mut port = out[0].to_vec();
    port[14 + 23] ^= 1;
    host.take(&too_big(&wire::Packet::copy_of(&port), 1300));
    assert!(paths.is_empty());
    // Another unit's flows have all places meanwhile; what goes on has its own again.
    (0..1 << 16).for_each(|flow| paths.sends(1 << 40 | flow, 1400));
    host.take(&too_big(&out[0], 1300));
    assert!(paths.is_empty());
    let out = host.say(PEER, &[7; 1400]);
    host.take(&too_big(&out[0], 1300));
    assert_eq!(mtu(PEER), Some(1300));
    assert!(host.domain.app.errors.is_empty());
    assert_eq!(host.say(PEER, &[7; 1400]).len(), 2, "in fragments now");
}

#[test]
fn a_socket_without_a_peer_learns_of_ipv6_too() {
    // RFC 8201 4/5, 5.5/1
    use crate::harness::v6::*;
    use std::net::Ipv6Addr;
    let mut host = host6(|_| ());
    host.call(Call::BindUdp(end6(Ipv6Addr::UNSPECIFIED, 53), ()));
    let tell = |frame: &wire::Packet, mtu: u32| {
        let rest = [&mtu.to_be_bytes()[..], &frame.to_vec()[14..]].concat();
        datagram6(ip6(protocol::ICMPV6), &icmp6(2, 0, &rest[..rest.len().min(1236)]))
    };
    let paths = host.config().paths.clone();
    let small = host.say6(PEER6, &[7; 1200]);
    host.take(&tell(&small[0], 1280));
    assert!(paths.is_empty(), "each link carries as much");
    let large = host.say6(PEER6, &[7; 1400]);
    host.take(&tell(&large[0], 1300));
    assert_eq!(paths.path(PEER6.into()).mtu, Some(1300));
    assert_eq!(host.say6(PEER6, &[7; 1400]).len(), 2, "in fragments now");
}
