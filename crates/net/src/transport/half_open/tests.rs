use crate::connections::Connections;
use crate::harness::*;
use crate::{Call, DropReason};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::tcp::Flags;
use wire::{FlowKey, Seq};

fn segment(port: u16, flags: Flags, seq: u32, ack: Seq) -> Vec<u8> {
    let header = tcp_header(port, flags, seq, ack);
    tcp_frame(&header, b"")
}

fn listening(most_half_open: usize) -> Host {
    listening_with(most_half_open, false)
}

fn listening_with(most_half_open: usize, cookies: bool) -> Host {
    let mut host = Host::new(|config| config.syn_cookies = cookies);
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

#[test]
fn with_cookies_a_flood_forgets_nobody_and_keeps_nothing() {
    let mut host = listening_with(10, true);
    let first = host.take(&segment(999, Flags::SYN, 1, Seq(0)));
    for port in 1000..6000 {
        assert_eq!(host.take(&segment(port, Flags::SYN, 1, Seq(0))).len(), 1, "{port}");
    }
    assert_eq!(host.domain.connections().ids().len(), 10);
    assert_eq!(host.domain.counters.cookies_out, 4991);
    // Who was there before is still there, and who came in the middle of it gets in.
    let iss = parse_tcp(&first[0]).seq;
    assert!(host.take(&segment(999, Flags::ACK, 2, iss + 1)).is_empty());
    let answer = parse_tcp(&host.take(&segment(7000, Flags::SYN, 9, Seq(0)))[0]);
    assert_eq!((answer.flags, answer.ack), (Flags::SYN.with(Flags::ACK), Seq(10)));
    host.wait(Duration::from_secs(3));
    assert!(host.take(&segment(7000, Flags::ACK, 10, answer.seq + 1)).is_empty());
    assert_eq!(host.domain.connections().ids().len(), 11);
    let flow = FlowKey { local: end(US, 80), remote: end(PEER, 7000) };
    let found = host.domain.connections_mut().with_flow(&flow, |c| c.tcb.info());
    let info = found.expect("a connection");
    assert_eq!((info.state, info.mss), (tcp::State::Established, 536));
    // A guess is no cookie.
    let out = host.take(&segment(7001, Flags::ACK, 10, answer.seq + 1));
    assert!(parse_tcp(&out[0]).flags.rst());
}

/// Before, the SYN was answered by a cookie, and its acknowledgment by TIME-WAIT, until that was over: who came again by a
/// port that he had used a moment ago waited for a minute, while a flood of SYNs lasted.
#[test]
fn a_flow_in_time_wait_is_opened_again_whatever_flood_there_is() {
    for (most, table) in [(10, 1 << 20), (usize::MAX, 10)] {
        let mut host = Host::new(|config| config.max_connections = table);
        host.domain.app.most_half_open = Some(most);
        host.call(Call::Listen(end(Ipv4Addr::UNSPECIFIED, 80), ()));
        let iss = parse_tcp(&host.take(&segment(999, Flags::SYN, 1, Seq(0)))[0]).seq;
        host.take(&segment(999, Flags::ACK, 2, iss + 1));
        host.domain.app.close = true;
        let id = host.domain.app.opened[0].0;
        host.call(Call::Notify(id));
        host.domain.app.close = false;
        host.take(&segment(999, Flags::FIN.with(Flags::ACK), 2, iss + 2));
        assert_eq!(host.domain.time_wait_len(), 1);
        for port in 1000..1100 {
            assert_eq!(host.take(&segment(port, Flags::SYN, 1, Seq(0))).len(), 1, "{port}");
        }
        assert_eq!((host.domain.connections().len(), host.domain.time_wait_len()), (10, 1));
        let answer = parse_tcp(&host.take(&segment(999, Flags::SYN, 90_000, Seq(0)))[0]);
        assert_eq!((answer.flags, answer.ack), (Flags::SYN.with(Flags::ACK), Seq(90_001)));
        assert!(answer.seq.after(iss), "old segments are none of the new ones");
        let out = host.take(&segment(999, Flags::ACK, 90_001, answer.seq + 1));
        assert!(out.is_empty(), "the handshake ends well: {out:?}");
        let flow = FlowKey { local: end(US, 80), remote: end(PEER, 999) };
        let state = host.domain.connections_mut().with_flow(&flow, |c| c.tcb.state());
        assert_eq!((state, host.domain.time_wait_len()), (Some(tcp::State::Established), 0));
        assert!(host.domain.connections().len() <= table);
    }
}

#[test]
fn a_full_queue_of_connections_takes_no_cookie() {
    let mut host = listening_with(0, true);
    let answer = parse_tcp(&host.take(&segment(7000, Flags::SYN, 9, Seq(0)))[0]);
    host.domain.app.full = true;
    host.drops(&segment(7000, Flags::ACK, 10, answer.seq + 1), DropReason::TcpBacklog);
}

#[test]
fn where_no_cookie_was_sent_none_is_looked_for() {
    let mut host = listening_with(0, true);
    let answer = parse_tcp(&host.take(&segment(7000, Flags::SYN, 9, Seq(0)))[0]);
    host.wait(Duration::from_secs(140));
    host.take(&arp_frame(wire::arp::Operation::Request, PEER, US));
    let out = host.take(&segment(7000, Flags::ACK, 10, answer.seq + 1));
    assert!(parse_tcp(&out[0]).flags.rst());
}

/// A host that takes ten connections at most, and a listener that sets no bound.
fn small(cookies: bool) -> Host {
    let mut host = Host::new(|config| {
        config.syn_cookies = cookies;
        config.max_connections = 10;
    });
    host.call(Call::Listen(end(Ipv4Addr::UNSPECIFIED, 80), ()));
    host
}

/// Before, as many SYNs as the table has places shut all others out until they had timed out.
#[test]
fn a_flood_of_syns_that_fills_the_table_shuts_nobody_out() {
    for cookies in [false, true] {
        let mut host = small(cookies);
        for port in 1000..6000 {
            assert_eq!(host.take(&segment(port, Flags::SYN, 1, Seq(0))).len(), 1, "{port}");
        }
        let mut iss = Vec::new();
        for port in 7000..7004 {
            let answer = parse_tcp(&host.take(&segment(port, Flags::SYN, 9, Seq(0)))[0]);
            assert_eq!((answer.flags, answer.ack), (Flags::SYN.with(Flags::ACK), Seq(10)));
            host.take(&segment(8000 + port, Flags::SYN, 1, Seq(0)));
            iss.push((port, answer.seq));
        }
        for (port, iss) in iss {
            let out = host.take(&segment(port, Flags::ACK, 10, iss + 1));
            assert!(out.is_empty(), "the handshake ends well: {out:?}");
            let flow = FlowKey { local: end(US, 80), remote: end(PEER, port) };
            let state = host.domain.connections_mut().with_flow(&flow, |c| c.tcb.state());
            assert_eq!(state, Some(tcp::State::Established), "cookies: {cookies}");
            assert!(host.domain.connections().len() <= 10);
        }
        // We can connect as well.
        host.call(Call::Connect { remote: end(PEER, 80), local: None, connection: () });
        assert_eq!(host.domain.app.failed, []);
        assert!(host.domain.connections().len() <= 10);
        assert_eq!(host.domain.counters.dropped(DropReason::TcpTableFull), 0);
    }
}

#[test]
fn established_connections_are_not_forgotten_for_room() {
    for cookies in [false, true] {
        let mut host = small(cookies);
        for port in 1000..1010 {
            let answer = host.take(&segment(port, Flags::SYN, 1, Seq(0)));
            let iss = parse_tcp(&answer[0]).seq;
            host.take(&segment(port, Flags::ACK, 2, iss + 1));
        }
        host.drops(&segment(1010, Flags::SYN, 1, Seq(0)), DropReason::TcpTableFull);
        assert_eq!(host.domain.connections().ids().len(), 10);
    }
}
