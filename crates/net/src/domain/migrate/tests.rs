use crate::application::ConnectError;
use crate::config::Unit;
use crate::connections::{ConnId, Connection, Connections};
use crate::domain::Domain;
use crate::harness::*;
use crate::{Call, Counters, DropReason, HostShared};
use std::time::Duration;
use wire::arp::Operation;
use wire::tcp::{Flags, Header, Options};
use wire::{Packet, Seq};

const SECOND: Duration = Duration::from_secs(1);
/// A port of ours whose flows have left.
const TAKEN: u16 = 4321;
const FIN_ACK: Flags = Flags::FIN.with(Flags::ACK);

fn segment(port: u16, flags: Flags, seq: u32, ack: Seq, data: &[u8]) -> Vec<u8> {
    let header = Header {
        source_port: port,
        destination_port: 80,
        seq: Seq(seq),
        ack,
        flags,
        window: 10_000,
        urgent: 0,
        options: Options::NONE,
    };
    tcp_frame(&header, data)
}

/// A host that hands over, which knows its peer, and the table that it shares.
fn origin() -> (Host, HostShared) {
    let lonely = Host::lonely(Unit::ONLY, |_| ());
    let host_shared = HostShared::new(&lonely.domain.transport.config);
    let mut origin = Host::with_domain(lonely.domain.sharing(&host_shared));
    origin.domain.migrate_on_established(|flow| flow.local.port == TAKEN);
    origin.take(&arp_frame(Operation::Request, PEER, US));
    origin.domain.counters = Counters::default();
    origin.call(Call::Listen(end(US, 80), ()));
    (origin, host_shared)
}

fn guests(origin: &Host, host_shared: &HostShared, generation: u32) -> Host {
    let config = origin.domain.transport.config.clone();
    let domain = Domain::for_guests(config, Unit::any(7, 1), generation, App::default());
    let mut host = Host::with_domain(domain.sharing(host_shared));
    host.now = origin.now;
    host
}

/// The one connection that leaves now.
fn leaving(origin: &mut Host) -> Box<Connection<()>> {
    let [id] = origin.domain.take_leaving()[..] else { panic!("not one leaves") };
    origin.domain.extract(id, origin.now).expect("it is there")
}

/// A peer connects from `port` with sequence number 1; our next one.
fn handshake(origin: &mut Host, port: u16) -> Seq {
    let answer = origin.take(&segment(port, Flags::SYN, 0, Seq(0), b""));
    let ours = parse_tcp(&answer[0]).seq + 1;
    assert!(origin.domain.take_leaving().is_empty(), "not before it is established");
    let out = origin.take(&segment(port, Flags::ACK, 1, ours, b""));
    assert!(out.is_empty());
    ours
}

/// A connection with a peer at `port` that lives with guests now.
fn moved(port: u16) -> (Host, Host, Seq) {
    let (mut origin, host_shared) = origin();
    let ours = handshake(&mut origin, port);
    let connection = leaving(&mut origin);
    let mut guests = guests(&origin, &host_shared, 3);
    assert!(guests.domain.adopt(connection).is_ok());
    assert!(guests.settle().is_empty());
    (origin, guests, ours)
}

#[test]
fn an_established_connection_goes_on_elsewhere() {
    let (mut origin, mut guests, ours) = moved(5000);
    let (first, flow) = origin.domain.app.opened[0];
    let (second, same) = guests.domain.app.opened[0];
    assert_eq!((first.unit, second), (0, ConnId { unit: 7, slot: 0, generation: 3 }));
    assert_eq!(flow, same);
    let mut out = guests.take(&segment(5000, Flags::ACK, 1, ours, b"hello"));
    out.extend(guests.wait(SECOND));
    assert_eq!(out.iter().map(|f| parse_tcp(f).ack).collect::<Vec<_>>(), [Seq(6)]);
    // Its old name finds nothing, nor do lists and timers there.
    assert!(origin.call(Call::Notify(first)).is_empty());
    assert!(origin.wait(60 * SECOND).is_empty());
    assert!(origin.domain.connections().is_empty());
}

#[test]
fn what_has_come_for_it_goes_with_it() {
    let (mut origin, host_shared) = origin();
    let ours = handshake(&mut origin, 5000);
    // They wait to be put together, behind the one that has found the connection.
    let data = vec![7; 1000];
    let frames = [1u32, 1001, 2001].map(|seq| segment(5000, Flags::ACK, seq, ours, &data));
    origin.take_batch(&frames);
    let connection = leaving(&mut origin);
    assert_eq!(connection.tcb.received(), 3000);
    let mut guests = guests(&origin, &host_shared, 0);
    assert!(guests.domain.adopt(connection).is_ok());
    let mut out = guests.settle();
    out.extend(guests.wait(SECOND));
    assert_eq!(parse_tcp(out.last().expect("an answer")).ack, Seq(3001));
    origin.conserved();
}

#[test]
fn timers_run_where_it_lives() {
    let (mut origin, mut guests, ours) = moved(5000);
    guests.domain.app.close = true;
    let id = guests.domain.app.opened[0].0;
    let fin = guests.call(Call::Notify(id));
    assert!(parse_tcp(&fin[0]).flags.has(Flags::FIN));
    let again = guests.wait(3 * SECOND);
    assert_eq!(parse_tcp(&again[0]).seq, ours);
    assert!(origin.wait(3 * SECOND).is_empty());
}

#[test]
fn what_is_left_of_it_comes_home() {
    let (mut origin, mut guests, ours) = moved(5000);
    guests.domain.app.close = true;
    guests.call(Call::Notify(guests.domain.app.opened[0].0));
    let fin = segment(5000, FIN_ACK, 1, ours + 1, b"");
    let out = guests.take(&fin);
    assert_eq!(parse_tcp(&out[0]).ack, Seq(2));
    assert!(guests.domain.connections().is_empty());
    assert_eq!(guests.domain.time_wait_len(), 0);
    for closed_flow in guests.domain.take_closed_flows() {
        origin.domain.keep_closed_flow(closed_flow, origin.now);
    }
    assert_eq!(origin.domain.time_wait_len(), 1);
    //= RFC 9293 3.10.7.4: TIME-WAIT: acknowledge a retransmitted FIN
    let out = origin.take(&fin);
    assert_eq!((parse_tcp(&out[0]).flags, parse_tcp(&out[0]).ack), (Flags::ACK, Seq(2)));
}

/// An active open that has just been established; the peer's answer is given.
fn connected(origin: &mut Host) -> Header {
    let call = Call::Connect { remote: end(PEER, 80), local: None, connection: () };
    let syn = parse_tcp(&origin.call(call)[0]);
    let header = Header {
        source_port: 80,
        destination_port: syn.source_port,
        seq: Seq(100),
        ack: syn.seq + 1,
        flags: Flags::SYN.with(Flags::ACK),
        window: 10_000,
        urgent: 0,
        options: Options::NONE,
    };
    origin.take(&tcp_frame(&header, b""));
    header
}

#[test]
fn ports_come_home_too() {
    let (mut origin, host_shared) = origin();
    let answer = connected(&mut origin);
    let mut guests = guests(&origin, &host_shared, 0);
    assert!(guests.domain.adopt(leaving(&mut origin)).is_ok());
    let out = guests.settle();
    assert_eq!(parse_tcp(&out[0]).ack, Seq(101), "the handshake ends");
    guests.take(&tcp_frame(&Header { flags: Flags::RST, seq: Seq(101), ..answer }, b""));
    let closed_flows = guests.domain.take_closed_flows();
    assert_eq!(closed_flows.len(), 1);
    let remote = end(PEER, 80);
    let fresh = |origin: &mut Host| origin.domain.conns.allocate_port(remote, |_| true);
    // All others are taken first, then the one that came back.
    assert_ne!(fresh(&mut origin), Some(answer.destination_port));
    closed_flows
        .into_iter()
        .for_each(|closed_flow| origin.domain.keep_closed_flow(closed_flow, origin.now));
    let all = std::iter::from_fn(|| fresh(&mut origin));
    assert_eq!(all.last(), Some(answer.destination_port));
}

fn is_reset(out: &[Packet]) -> bool {
    matches!(out, [reset] if parse_tcp(reset).flags.has(Flags::RST))
}

#[test]
fn who_has_nowhere_to_go_is_refused() {
    let (mut origin, _) = origin();
    handshake(&mut origin, 5000);
    let passive = leaving(&mut origin);
    assert!(is_reset(&origin.refuse(passive)));
    assert_eq!((origin.domain.app.refused, origin.domain.app.closed.len()), (1, 0));
    connected(&mut origin);
    let active = leaving(&mut origin);
    assert!(is_reset(&origin.refuse(active)));
    assert_eq!(origin.domain.app.failed, [ConnectError::Refused("no more threads")]);
    assert_eq!(origin.domain.counters.refused_no_thread, 2);
    assert!(origin.domain.connections().is_empty());
}

#[test]
fn without_threads_nobody_gets_in() {
    let (mut origin, _) = origin();
    origin.domain.set_refusal(Some("no more threads"));
    assert!(is_reset(&origin.take(&segment(5000, Flags::SYN, 0, Seq(0), b""))));
    assert_eq!(origin.domain.counters.dropped(DropReason::TcpNoThread), 1);
    let call = Call::Connect { remote: end(PEER, 80), local: None, connection: () };
    assert!(origin.call(call).is_empty());
    assert_eq!(origin.domain.app.failed, [ConnectError::Refused("no more threads")]);
    origin.domain.set_refusal(None);
    handshake(&mut origin, 5000);
}

#[test]
fn a_flow_that_has_left_is_not_opened_again() {
    let (mut origin, _) = origin();
    let connect = |local| Call::Connect { remote: end(PEER, 80), local, connection: () };
    assert!(origin.call(connect(Some(end(US, TAKEN)))).is_empty());
    assert_eq!(origin.domain.app.failed, [ConnectError::InUse]);
    assert_eq!(origin.call(connect(Some(end(US, TAKEN + 1)))).len(), 1, "a SYN");
}

#[test]
fn handshakes_are_bounded_while_others_leave() {
    let (mut origin, _) = origin();
    origin.domain.app.most_half_open = Some(10);
    handshake(&mut origin, 4999);
    // To the listener its handshake is over.
    origin.domain.app.closed.push(None);
    let connection = leaving(&mut origin);
    for port in 5000..6000 {
        assert_eq!(origin.take(&segment(port, Flags::SYN, 0, Seq(0), b"")).len(), 1, "{port}");
    }
    assert_eq!(origin.domain.connections().len(), 10);
    assert!(origin.domain.adopt(connection).is_ok(), "and back again");
}

#[test]
fn neighbours_are_shared_and_what_waits_in_vain_comes_back() {
    let (mut origin, host_shared) = origin();
    let mut other = guests(&origin, &host_shared, 0);
    // The peer is known to both, though only one has heard of it.
    assert_eq!(parse(&other.say(PEER, b"x")[0]).1.last(), Some(&b'x'));
    let stranger = std::net::Ipv4Addr::new(10, 0, 0, 77);
    assert_eq!(parse_arp(&other.say(stranger, b"y")[0]).1.target_ip, stranger);
    assert!(origin.say(stranger, b"z").is_empty(), "asked once");
    let out = origin.take(&arp_frame(Operation::Reply, stranger, US));
    let said: Vec<u8> = out.iter().map(|f| *parse(f).1.last().expect("a payload")).collect();
    assert_eq!(said, b"yz", "the unit that gets the answer sends for all");
    // Nobody answers: each gets what is its own.
    let nobody = std::net::Ipv4Addr::new(10, 0, 0, 78);
    other.say(nobody, b"a");
    origin.say(nobody, b"b");
    for _ in 0..3 {
        origin.wait(SECOND);
        other.wait(SECOND);
    }
    assert_eq!((origin.domain.counters.out_dropped, other.domain.counters.out_dropped), (1, 1));
    assert_eq!(origin.domain.next_timeout(), None);
    assert_eq!(other.domain.next_timeout(), None);
}
