use crate::connections::Connections;
use crate::harness::*;
use crate::{Call, DropReason};
use std::net::Ipv4Addr;
use wire::Seq;
use wire::tcp::{Flags, Header, Options};

fn segment(port: u16, flags: Flags, seq: u32, ack: Seq) -> Vec<u8> {
    let header = Header {
        source_port: port,
        destination_port: 80,
        seq: Seq(seq),
        ack,
        flags,
        window: 1000,
        urgent: 0,
        options: Options::NONE,
    };
    tcp_frame(&header, b"")
}

fn listening(most_half_open: usize) -> Host {
    let mut host = Host::new(|_| ());
    host.domain.app.most_half_open = Some(most_half_open);
    host.call(Call::Listen(end(Ipv4Addr::UNSPECIFIED, 80), ()));
    host
}

#[test]
fn a_flood_of_syns_does_not_shut_others_out() {
    let mut host = listening(10);
    for port in 1000..6000 {
        assert_eq!(host.take(&segment(port, Flags::SYN, 1, Seq(0))).len(), 1, "{port}");
    }
    let answer = host.take(&segment(999, Flags::SYN, 1, Seq(0)));
    host.take(&segment(6000, Flags::SYN, 1, Seq(0)));
    let iss = parse_tcp(&answer[0]).seq;
    let out = host.take(&segment(999, Flags::ACK, 2, iss + 1));
    assert!(out.is_empty(), "the handshake ends well: {out:?}");
    assert_eq!(host.domain.counters.dropped(DropReason::TcpBacklog), 0);
    assert_eq!(host.domain.connections().ids().len(), 10);
}

#[test]
fn established_connections_are_not_forgotten() {
    let mut host = listening(3);
    for port in 1000..1003 {
        let answer = host.take(&segment(port, Flags::SYN, 1, Seq(0)));
        let iss = parse_tcp(&answer[0]).seq;
        host.take(&segment(port, Flags::ACK, 2, iss + 1));
    }
    host.drops(&segment(1003, Flags::SYN, 1, Seq(0)), DropReason::TcpBacklog);
    assert_eq!(host.domain.connections().ids().len(), 3);
}
