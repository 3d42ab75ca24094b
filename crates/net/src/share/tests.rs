use crate::connections::Connections;
use crate::harness::*;
use crate::{Call, DropReason};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::FlowKey;
use wire::Seq;
use wire::tcp::{Flags, Header, Options};

fn segment(port: u16, flags: Flags, seq: u32, ack: Seq, data: &[u8]) -> Vec<u8> {
    let header = Header {
        options: Options { mss: flags.syn().then_some(1460), ..Options::NONE },
        ..tcp_header(port, flags, seq, ack)
    };
    tcp_frame(&header, data)
}

/// A host that may use so many bytes of memory.
fn host(memory: usize, max_orphans: usize) -> Host {
    let mut host = Host::new(|config| {
        config.memory = memory;
        config.max_orphans = max_orphans;
    });
    host.call(Call::Listen(end(Ipv4Addr::UNSPECIFIED, 80), ()));
    host
}

/// Opens a connection from this port of the peer; returns our SND.NXT.
fn open(host: &mut Host, port: u16) -> Seq {
    let answer = host.take(&segment(port, Flags::SYN, 0, Seq(0), b""));
    let ack = parse_tcp(&answer[0]).seq + 1;
    host.take(&segment(port, Flags::ACK, 1, ack, b""));
    ack
}

/// What the connection of this port knows.
fn info(host: &mut Host, port: u16) -> tcp::Info {
    let flow = FlowKey { local: end(US, 80), remote: end(PEER, port) };
    let info = host.domain.connections_mut().with_flow(&flow, |c| c.tcb.info());
    info.expect("a connection")
}

#[test]
fn memory_is_bounded_over_all_connections() {
    let mut host = host(1 << 20, 10);
    let account = host.config().account.clone();
    let mut acks = Vec::new();
    for port in 1000..1100 {
        acks.push((port, open(&mut host, port)));
    }
    // Each keeps a hole in front of all it sends: 100 windows would be 6 MB.
    for round in 0..40 {
        for &(port, ack) in &acks {
            let seq = 1002 + round * 1000;
            host.take(&segment(port, Flags::ACK, seq, ack, &[7; 1000]));
        }
        assert!(account.memory() < 1 << 20, "{} after {round}", account.memory());
    }
    // All of them go on.
    for &(port, ack) in &acks {
        host.take(&segment(port, Flags::ACK, 1, ack, &[7; 1001]));
        assert!(info(&mut host, port).received >= 1001, "{port}");
    }
    let disorder: usize = acks.iter().map(|(port, _)| info(&mut host, *port).out_of_order).sum();
    assert!(disorder < 1 << 20);
}

#[test]
fn new_connections_are_refused_when_all_of_it_is_used() {
    // One byte more than the first connections need for themselves.
    let mut host = host(40_000, 10);
    let mut port = 1000;
    while host.domain.counters.dropped(DropReason::TcpMemory) == 0 {
        host.take(&segment(port, Flags::SYN, 0, Seq(0), b""));
        port += 1;
        assert!(port < 1200, "nothing refuses");
    }
    let open = host.domain.connections().len();
    assert!((30..=70).contains(&open), "{open} connections in 40,000 bytes");
    host.call(Call::Connect { remote: end(PEER, 80), local: None, connection: () });
    assert_eq!(host.domain.app.failed, [crate::application::ConnectError::NoMemory]);
    host.call(Call::Reset);
    assert_eq!(host.domain.connections().len(), 0);
    assert!(host.config().account.memory() < 5000, "{:?}", host.config().account);
    host.call(Call::Listen(end(Ipv4Addr::UNSPECIFIED, 80), ()));
    assert_eq!(host.take(&segment(5000, Flags::SYN, 0, Seq(0), b"")).len(), 1);
}

#[test]
fn orphans_beyond_their_number_are_reset() {
    let mut host = host(1 << 30, 5);
    let account = host.config().account.clone();
    let mut acks = Vec::new();
    for port in 1000..1010 {
        acks.push((port, open(&mut host, port)));
    }
    host.domain.app.release = true;
    let mut resets = 0;
    for &(port, ack) in &acks {
        let out = host.take(&segment(port, Flags::ACK.with(Flags::PSH), 1, ack, b""));
        resets += out.iter().filter(|o| parse_tcp(o).flags.rst()).count();
    }
    assert_eq!((resets, account.orphans(), host.domain.counters.orphans_reset), (5, 5, 5));
    // The others are gone when they are over.
    for &(port, ack) in &acks {
        host.take(&segment(port, Flags::RST, 1, ack, b""));
    }
    assert_eq!(account.orphans(), 0);
}

#[test]
fn scarcity_that_lasts_costs_nothing_for_those_that_are_gone() {
    let mut host = host(1 << 30, 10);
    let nearly = (1 << 30) / 10 * 9;
    host.config().account.memory.fetch_add(nearly, std::sync::atomic::Ordering::Relaxed);
    for port in 1000..3000 {
        let ack = open(&mut host, port);
        host.take(&segment(port, Flags::RST, 1, ack, b""));
    }
    assert_eq!(host.domain.connections().len(), 0);
    assert!(host.domain.pressed() <= 64 + 1, "{}", host.domain.pressed());
}

/// Bytes that peers may send at once, as the account knows.
fn promised(host: &Host) -> i64 {
    host.config().account.promised.load(std::sync::atomic::Ordering::Relaxed)
}

/// A host that may use a megabyte, for so many connections as it has room for otherwise.
fn bounded() -> Host {
    let mut host = Host::new(|config| {
        (config.memory, config.memory_reserve) = (1 << 20, Some(1 << 20));
        let tcp = tcp::Config::default().with_receive_buffer(16_000);
        let tcp = tcp.with_max_receive_buffer(60_000);
        config.tcp =
            Arc::new(tcp.with_keepalive(Some(tcp::Keepalive::new(Duration::from_secs(60)))));
    });
    host.call(Call::Listen(end(Ipv4Addr::UNSPECIFIED, 80), ()));
    host
}

#[test]
fn what_was_promised_counts_until_the_connection_is_silent() {
    let mut host = bounded();
    // Its window is to open.
    let speak = |host: &mut Host, port, ack, seq| {
        let flow = FlowKey { local: end(US, 80), remote: end(PEER, port) };
        let conns = host.domain.connections_mut();
        conns.with_flow(&flow, |c| c.tcb.set_receive_buffer(60_000));
        host.take(&segment(port, Flags::ACK.with(Flags::PSH), seq, ack, &[7; 1000]));
        info(host, port).receive_window
    };
    let mut windows = Vec::new();
    let acks: Vec<_> = (1000..1030).map(|port| (port, open(&mut host, port))).collect();
    for &(port, ack) in &acks {
        windows.push(speak(&mut host, port, ack, 1));
    }
    assert!(windows[..5].iter().all(|window| *window >= 59_000), "{windows:?}");
    // They share what is left: first each has less than the one before it, in the end four segments.
    assert!(windows[20..].iter().all(|window| *window < 20_000), "{windows:?}");
    assert!((700_000..1_048_576).contains(&promised(&host)), "{}", promised(&host));
    // All of it is read, so nothing is held; and the peers are silent, though there is keep-alive.
    for _ in 0..5 {
        host.wait(Duration::from_secs(1));
    }
    assert!(promised(&host) < 10_000, "{}", promised(&host));
    assert!(host.domain.app.rested >= 30);
    let &(port, ack) = acks.last().expect("thirty");
    assert!(speak(&mut host, port, ack, 1001) >= 59_000);
    assert!(promised(&host) > 50_000);
    for _ in 0..5 {
        host.wait(Duration::from_secs(1));
    }
    assert!(promised(&host) < 10_000, "{}", promised(&host));
    // Those that are over were promised nothing.
    for &(port, ack) in &acks {
        let seq = if port == acks.last().expect("thirty").0 { 2001 } else { 1001 };
        host.take(&segment(port, Flags::RST, seq, ack, b""));
    }
    assert_eq!(host.domain.connections().len(), 0);
    assert!(promised(&host).abs() < 10_000, "{}", promised(&host));
}

#[test]
fn others_are_taken_as_long_as_there_is_a_reserve_for_them() {
    for (reserve, taken) in [(None, false), (Some(1 << 20), true)] {
        let mut host = Host::new(|config| {
            (config.memory, config.memory_reserve) = (1 << 20, reserve);
        });
        host.call(Call::Listen(end(Ipv4Addr::UNSPECIFIED, 80), ()));
        host.config().account.memory.fetch_add(1_100_000, std::sync::atomic::Ordering::Relaxed);
        let answers = host.take(&segment(1000, Flags::SYN, 0, Seq(0), b""));
        assert_eq!(!answers.is_empty(), taken);
    }
}
