//! From which addresses something leaves.

use crate::harness::*;
use crate::{Call, Datagram};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::tcp::{Flags, Header};
use wire::{Packet, Seq, arp, ethernet, ipv4};

/// The address that takes the place of [`US`].
const OTHER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 77);

/// The host has this address from now on, and no other.
fn readdress(host: &mut Host, address: Ipv4Addr) {
    let mut config = host.config().clone();
    config.interfaces[0].addresses = vec![(address.into(), 24)];
    let config = Arc::new(config);
    config.host.publish(&config);
    host.call(Call::Look);
}

/// How many of these frames are datagrams from `source`.
fn sent_from(source: Ipv4Addr, frames: &[Packet]) -> usize {
    let is_from = |frame: &&Packet| {
        let bytes = frame.to_vec();
        let (link, len) = ethernet::Header::parse(&bytes).expect("Ethernet");
        link.ethertype == ethernet::ethertype::IPV4
            && ipv4::Header::parse(&bytes[len..]).expect("IP").source == source
    };
    frames.iter().filter(is_from).count()
}

/// The frames of so many seconds. The peer says who it is when it is asked.
fn seconds(host: &mut Host, count: usize) -> Vec<Packet> {
    let mut frames = Vec::new();
    for _ in 0..count {
        let out = host.wait(Duration::from_secs(1));
        let asks = out.iter().filter(|frame| frame.to_vec()[12..14] == [8, 6]).map(parse_arp);
        for (_, question) in asks.collect::<Vec<_>>() {
            let answer = arp_frame(arp::Operation::Reply, PEER, question.sender_ip);
            frames.extend(host.take(&answer));
        }
        frames.extend(out);
    }
    frames
}

#[test]
fn a_connection_whose_address_is_lost_sends_nothing_until_it_is_back() {
    let mut host = Host::new(|_| ());
    host.call(Call::Listen(end(US, 80), ()));
    let segment = |seq: u32, ack: u32, flags| {
        let header = tcp_header(5000, flags, seq, Seq(ack));
        tcp_frame(&Header { window: 10_000, ..header }, &[])
    };
    let out = host.take(&segment(999, 0, Flags::SYN));
    let ours = parse_tcp(&out[0]).seq.0.wrapping_add(1);
    host.domain.app.text = b"hello".to_vec();
    assert_eq!(sent_from(US, &host.take(&segment(1000, ours, Flags::ACK))), 1);

    readdress(&mut host, OTHER);
    let before = host.domain.counters.out_dropped;
    let out = seconds(&mut host, 60);
    assert_eq!(sent_from(US, &out), 0);
    assert!(host.domain.counters.out_dropped > before, "what it sends is lost");
    readdress(&mut host, US);
    assert!(sent_from(US, &seconds(&mut host, 60)) > 0, "it has not given up");
}

#[test]
fn so_do_sockets_of_datagrams() {
    let mut host = Host::new(|_| ());
    let say = |host: &mut Host, from: Ipv4Addr, to: Ipv4Addr| {
        let payload = wire::Parts::from_iter([wire::Slice::copy_of(b"x")]);
        let (local, remote) = (end(from, 53), end(to, 4000));
        host.domain.app.leaving.push_back(Datagram { local, remote, payload });
        let mut out = host.call(Call::FlushUdp(()));
        out.extend(seconds(host, 1));
        sent_from(US, &out) + sent_from(OTHER, &out)
    };
    let group = Ipv4Addr::new(239, 1, 2, 3);
    assert_eq!([PEER, group].map(|to| say(&mut host, US, to)), [1, 1]);
    readdress(&mut host, OTHER);
    assert_eq!([PEER, group].map(|to| say(&mut host, US, to)), [0, 0]);
    assert_eq!(host.domain.counters.out_dropped, 2);
    // From the one that it has, they go; and between them the other does not.
    for _ in 0..2 {
        assert_eq!([OTHER, US].map(|from| say(&mut host, from, PEER)), [1, 0]);
    }
    let any = Ipv4Addr::UNSPECIFIED;
    assert_eq!([PEER, group].map(|to| say(&mut host, any, to)), [1, 1]);
}
