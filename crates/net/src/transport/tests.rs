use crate::application::ConnectError;
use crate::harness::*;
use crate::{Call, Connections, DropReason, Unit};
use proptest::prelude::*;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::tcp::{Flags, Header, Options};
use wire::{Endpoint, FlowKey, Seq, ipv4, protocol};

mod paths;

const SECOND: Duration = Duration::from_secs(1);

fn header(source_port: u16, destination_port: u16, seq: u32, ack: u32, flags: Flags) -> Header {
    Header {
        source_port,
        destination_port,
        seq: Seq(seq),
        ack: Seq(ack),
        flags,
        window: 10_000,
        urgent: 0,
        options: Options::NONE,
    }
}

const SYN_ACK: Flags = Flags::SYN.with(Flags::ACK);
const FIN_ACK: Flags = Flags::FIN.with(Flags::ACK);

fn listening() -> Host {
    let mut host = Host::new(|_| ());
    host.call(Call::Listen(end(US, 80), ()));
    host
}

/// A connection from `port` of the peer, whose next sequence number is `seq`;
/// returns ours.
fn accepted(host: &mut Host, port: u16, seq: u32) -> u32 {
    let out = host.take(&tcp_frame(&header(port, 80, seq.wrapping_sub(1), 0, Flags::SYN), &[]));
    let answer = parse_tcp(&out[0]);
    assert_eq!((answer.flags, answer.ack), (SYN_ACK, Seq(seq)));
    let ours = answer.seq.0.wrapping_add(1);
    host.take(&tcp_frame(&header(port, 80, seq, ours, Flags::ACK), &[]));
    ours
}

fn connect(host: &mut Host) -> (Header, Vec<wire::Packet>) {
    let call = Call::Connect { remote: end(PEER, 80), local: None, connection: () };
    let out = host.call(call);
    (parse_tcp(&out[0]), out)
}

#[test]
fn a_syn_opens_and_data_is_acknowledged() {
    let mut host = listening();
    let ours = accepted(&mut host, 5000, 1000);
    assert_eq!(host.domain.app.opened.len(), 1);
    let flow = FlowKey { local: end(US, 80), remote: end(PEER, 5000) };
    assert_eq!(host.domain.app.opened[0].1, flow);
    let mut out = host.take(&tcp_frame(&header(5000, 80, 1000, ours, Flags::ACK), b"hello"));
    out.extend(host.wait(SECOND));
    assert_eq!(out.iter().map(|f| parse_tcp(f).ack).collect::<Vec<_>>(), [Seq(1005)]);
    assert_eq!(host.domain.counters.opened_passive, 1);
}

#[test]
fn closed_ports_answer_with_a_reset() {
    let mut host = listening();
    //= RFC 9293 3.10.7.1: <SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>
    let out = host.take(&tcp_frame(&header(5000, 81, 7, 0, Flags::SYN), b"abc"));
    let reset = parse_tcp(&out[0]);
    assert_eq!((reset.flags, reset.seq, reset.ack), (Flags::RST.with(Flags::ACK), Seq(0), Seq(11)));
    assert_eq!((reset.source_port, reset.destination_port), (81, 5000));
    //= RFC 9293 3.10.7.1: <SEQ=SEG.ACK><CTL=RST>
    let out = host.take(&tcp_frame(&header(5000, 81, 7, 99, Flags::ACK), &[]));
    assert_eq!((parse_tcp(&out[0]).flags, parse_tcp(&out[0]).seq), (Flags::RST, Seq(99)));
    host.drops(&tcp_frame(&header(5000, 81, 7, 99, Flags::RST), &[]), DropReason::TcpNoPort);
    // An ACK to a listening port, too; a RST to one is ignored.
    let out = host.take(&tcp_frame(&header(5000, 80, 7, 99, Flags::ACK), &[]));
    assert_eq!((parse_tcp(&out[0]).flags, parse_tcp(&out[0]).seq), (Flags::RST, Seq(99)));
    host.drops(&tcp_frame(&header(5000, 80, 7, 99, Flags::RST), &[]), DropReason::TcpNotSyn);
}

#[test]
fn resets_are_so_many_a_second() {
    let mut host = Host::new(|config| config.errors_per_second = 80);
    let stray = tcp_frame(&header(5000, 81, 7, 0, Flags::SYN), &[]);
    assert_eq!((0..50).map(|_| host.take(&stray).len()).sum::<usize>(), 10);
    let counters = &host.domain.counters;
    assert_eq!((counters.resets_out, counters.resets_limited), (10, 40));
}

/// A prober makes up segments in the name of a peer of ours, and then counts the
/// resets to segments of its own. The count says nothing about whether the peer has
/// a connection.
#[test]
fn resets_do_not_tell_whether_a_connection_exists() {
    let count = |connected: bool, prober: Ipv4Addr| {
        let mut host = Host::new(|config| {
            config.errors_per_second = 100;
            config.interfaces[0].addresses[0].1 = 8;
        });
        host.call(Call::Listen(end(US, 80), ()));
        if connected {
            accepted(&mut host, 5000, 1000);
        }
        let guess = tcp_frame(&header(5000, 80, 77, 99, Flags::ACK), &[]);
        (0..100).for_each(|_| drop(host.take(&guess)));
        let known = arp_frame(wire::arp::Operation::Request, prober, US);
        host.take(&known);
        let own = tcp_frame_from(prober, &header(6000, 81, 77, 99, Flags::ACK), &[]);
        (0..100).map(|_| host.take(&own).len()).sum::<usize>()
    };
    for prober in [Ipv4Addr::new(10, 0, 0, 3), Ipv4Addr::new(10, 7, 7, 7)] {
        assert_eq!(count(true, prober), count(false, prober));
        assert!(count(true, prober) > 0);
    }
}

#[test]
fn malformed_segments() {
    // RFC 9293 MUST-3
    let mut host = listening();
    let good = tcp_frame(&header(5000, 80, 7, 0, Flags::SYN), &[]);
    let mut spoilt = good.clone();
    spoilt[14 + 20 + 4] ^= 1;
    host.drops(&spoilt, DropReason::TcpChecksum);
    host.drops(&tcp_frame(&header(0, 80, 7, 0, Flags::SYN), &[]), DropReason::TcpMalformed);
    host.drops(&tcp_frame(&header(5000, 0, 7, 0, Flags::SYN), &[]), DropReason::TcpMalformed);
    let mut vouched = wire::Packet::copy_of(&datagram(ip(protocol::TCP), &[0; 5]));
    vouched.meta_mut().checksum = wire::packet::ChecksumState::Verified;
    assert!(host.take_packet(vouched).is_empty());
    assert_eq!(host.domain.counters.dropped(DropReason::TcpMalformed), 3);
    host.domain.app.full = true;
    host.drops(&good, DropReason::TcpBacklog);
}

#[test]
fn a_full_table_takes_no_more() {
    let mut host = Host::new(|config| config.max_connections = 2);
    host.call(Call::Listen(end(Ipv4Addr::UNSPECIFIED, 80), ()));
    accepted(&mut host, 5000, 1);
    accepted(&mut host, 5001, 1);
    host.drops(&tcp_frame(&header(5002, 80, 0, 0, Flags::SYN), &[]), DropReason::TcpTableFull);
    host.call(Call::Connect { remote: end(PEER, 80), local: None, connection: () });
    assert_eq!(host.domain.app.failed, [ConnectError::TableFull]);
}

/// Closes the connection of `port` from our side, and returns our next number.
fn to_time_wait(host: &mut Host, port: u16) -> u32 {
    let ours = accepted(host, port, 1000);
    host.domain.app.close = true;
    let id = host.domain.app.opened.last().expect("open").0;
    let out = host.call(Call::Notify(id));
    host.domain.app.close = false;
    assert!(parse_tcp(out.last().expect("FIN")).flags.fin());
    host.take(&tcp_frame(&header(port, 80, 1000, ours + 1, FIN_ACK), &[]));
    ours + 1
}

#[test]
fn time_wait_is_compact_and_answers() {
    let mut host = listening();
    let ours = to_time_wait(&mut host, 5000);
    assert_eq!((host.domain.connections().len(), host.domain.time_wait_len()), (0, 1));
    // The FIN again: acknowledged again.
    let out = host.take(&tcp_frame(&header(5000, 80, 1000, ours, FIN_ACK), &[]));
    assert_eq!((parse_tcp(&out[0]).flags, parse_tcp(&out[0]).ack), (Flags::ACK, Seq(1001)));
    // RFC 1337: a reset does not end it.
    assert!(host.take(&tcp_frame(&header(5000, 80, 1001, 0, Flags::RST), &[])).is_empty());
    assert_eq!(host.domain.time_wait_len(), 1);
    // A SYN beyond the old numbers opens anew, beyond ours.
    let out = host.take(&tcp_frame(&header(5000, 80, 2000, 0, Flags::SYN), &[]));
    let answer = parse_tcp(&out[0]);
    assert_eq!((answer.flags, answer.ack), (SYN_ACK, Seq(2001)));
    assert!(answer.seq.after(Seq(ours)));
    assert_eq!((host.domain.connections().len(), host.domain.time_wait_len()), (1, 0));
}

/// A client's connection that the client has closed: the peer's port, which anybody
/// may guess, is all that a forged SYN needs.
#[test]
fn a_syn_for_which_nothing_opens_does_not_end_time_wait() {
    let mut host = Host::new(|_| ());
    let (syn, _) = connect(&mut host);
    let (port, ours) = (syn.source_port, syn.seq.0.wrapping_add(1));
    host.take(&tcp_frame(&header(80, port, 500, ours, SYN_ACK), &[]));
    host.domain.app.close = true;
    let id = host.domain.app.opened[0].0;
    host.call(Call::Notify(id));
    host.take(&tcp_frame(&header(80, port, 501, ours.wrapping_add(1), FIN_ACK), &[]));
    assert_eq!((host.domain.connections().len(), host.domain.time_wait_len()), (0, 1));
    let forged = tcp_frame(&header(80, port, 90_000, 0, Flags::SYN), &[]);
    let out = host.take(&forged);
    assert_eq!(host.domain.time_wait_len(), 1);
    //= RFC 5961 4.2: a SYN is answered with a challenge ACK
    let [answer] = &out[..] else { panic!("{out:?}") };
    assert_eq!((parse_tcp(answer).flags, parse_tcp(answer).ack), (Flags::ACK, Seq(502)));
    // Nor does one that a listener has no room for.
    host.call(Call::Listen(end(US, port), ()));
    host.domain.app.full = true;
    host.drops(&forged, DropReason::TcpBacklog);
    assert_eq!(host.domain.time_wait_len(), 1);
    host.domain.app.full = false;
    host.domain.app.close = false;
    assert_eq!(parse_tcp(&host.take(&forged)[0]).flags, SYN_ACK);
    assert_eq!((host.domain.connections().len(), host.domain.time_wait_len()), (1, 0));
}

#[test]
fn time_wait_ends_and_is_bounded() {
    let mut host = Host::new(|config| config.max_time_wait = 3);
    host.call(Call::Listen(end(US, 80), ()));
    for port in 5000..5010 {
        to_time_wait(&mut host, port);
        assert!(host.domain.time_wait_len() <= 3);
    }
    host.wait(61 * SECOND);
    assert_eq!(host.domain.time_wait_len(), 0);
}

#[test]
fn ports_steer_to_their_unit() {
    for index in 0..4 {
        let mut host = Host::lonely(Unit::new(index, 4), |_| ());
        for _ in 0..200 {
            host.call(Call::Connect { remote: end(PEER, 80), local: None, connection: () });
        }
        assert_eq!(host.domain.app.opened.len(), 200);
        let steering = wire::steering::Steering::new(7);
        let mut ports: Vec<u16> = Vec::new();
        for (_, flow) in &host.domain.app.opened {
            assert_eq!(steering.flow(flow) % 4, u32::from(index));
            ports.push(flow.local.port);
        }
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 200);
    }
}

#[test]
fn ports_run_out_and_come_back() {
    let mut host = Host::new(|config| config.ephemeral_ports = (40_000, 40_009));
    let open = |host: &mut Host| connect_again(host);
    for _ in 0..10 {
        open(&mut host);
    }
    host.call(Call::Connect { remote: end(PEER, 80), local: None, connection: () });
    assert_eq!(host.domain.app.failed, [ConnectError::NoPort]);
    // Another destination has ports of its own.
    host.call(Call::Connect { remote: end(PEER, 81), local: None, connection: () });
    assert_eq!(host.domain.app.failed.len(), 1);
    // One is refused: its port is free again.
    let flow = host.domain.app.opened[3].1;
    let port = flow.local.port;
    let syn = host.wait(2 * SECOND).iter().map(parse_tcp).find(|h| h.source_port == port);
    let ack = syn.expect("sent again").seq.0.wrapping_add(1);
    host.take(&tcp_frame(&header(80, port, 0, ack, Flags::RST.with(Flags::ACK)), &[]));
    assert_eq!(host.domain.app.closed, [Some(tcp::Error::Refused)]);
    open(&mut host);
    assert_eq!(host.domain.app.opened.last().expect("open").1, flow);
}

fn connect_again(host: &mut Host) {
    let before = host.domain.app.opened.len();
    connect(host);
    assert_eq!(host.domain.app.opened.len(), before + 1);
}

#[test]
fn opens_that_cannot_be() {
    // RFC 9293 MUST-43, MUST-46
    let mut host = Host::new(|_| ());
    let mut fails = |remote: Endpoint, local: Option<Endpoint>, error| {
        let out = host.call(Call::Connect { remote, local, connection: () });
        assert!(out.is_empty());
        assert_eq!(host.domain.app.failed.pop(), Some(error));
    };
    fails(end(Ipv4Addr::new(192, 0, 2, 1), 80), None, ConnectError::NoRoute);
    fails(end(PEER, 0), None, ConnectError::NoRoute);
    fails(end(Ipv4Addr::BROADCAST, 80), None, ConnectError::NoRoute);
    fails(end(Ipv4Addr::new(10, 0, 0, 255), 80), None, ConnectError::NoRoute);
    let local = Some(end(US, 1234));
    host.call(Call::Connect { remote: end(PEER, 80), local, connection: () });
    host.call(Call::Connect { remote: end(PEER, 80), local, connection: () });
    assert_eq!(host.domain.app.failed, [ConnectError::InUse]);
}

/// An ICMP message of the peer about `frame` of ours.
fn about(frame: &wire::Packet, kind: u8, code: u8, word: [u8; 4], quote: usize) -> Vec<u8> {
    let bytes = frame.to_vec();
    let rest = [&word[..], &bytes[14..(14 + quote).min(bytes.len())]].concat();
    datagram(ip(protocol::ICMP), &icmp_bytes(kind, code, &rest))
}

#[test]
fn errors_end_only_what_is_opening() {
    // RFC 9293 MUST-54
    // RFC 1122 3.2.2.1/2
    let mut host = listening();
    let (_, out) = connect(&mut host);
    // 28 bytes of the quote are enough.
    host.take(&about(&out[0], 3, 1, [0; 4], 28));
    let error = tcp::Error::Unreachable(tcp::Unreachable::Host);
    assert_eq!(host.domain.app.closed, [Some(error)]);
    // Forged: another sequence number.
    let (syn, out) = connect(&mut host);
    let mut forged = about(&out[0], 3, 1, [0; 4], 28);
    let at = forged.len() - 1;
    forged[at] ^= 0x55;
    let sum = 14 + 20 + 2;
    forged[sum..sum + 2].fill(0);
    let right = (!wire::checksum::sum(&forged[34..])).to_be_bytes();
    forged[sum..sum + 2].copy_from_slice(&right);
    host.take(&forged);
    assert_eq!(host.domain.app.closed.len(), 1);
    // An open connection outlives it.
    let ack = syn.seq.0.wrapping_add(1);
    host.take(&tcp_frame(&header(80, syn.source_port, 500, ack, SYN_ACK), &[]));
    host.take(&about(&out[0], 3, 1, [0; 4], 28));
    assert_eq!((host.domain.app.closed.len(), host.domain.connections().len()), (1, 1));
}

#[test]
fn udp_sockets_hear_of_errors() {
    // RFC 1122 3.2.2.1/2, 4.1.3.3/1
    let mut host = Host::new(|_| ());
    host.call(Call::BindUdp(end(Ipv4Addr::UNSPECIFIED, 53), ()));
    for (kind, code, error) in [
        (3, 3, Some(tcp::Unreachable::Port)),
        (3, 0, Some(tcp::Unreachable::Network)),
        (11, 0, Some(tcp::Unreachable::Host)),
        (3, 4, None),
        (12, 0, None),
        (4, 0, None),
    ] {
        let out = host.say(PEER, b"question");
        host.take(&about(&out[0], kind, code, [0; 4], 28));
        let told = std::mem::take(&mut host.domain.app.errors);
        let wanted: Vec<_> =
            error.map(|e| (end(PEER, 4000), tcp::Error::Unreachable(e))).into_iter().collect();
        assert_eq!(told, wanted, "{kind} {code}");
    }
}

#[test]
fn udp_to_nobody_is_answered_with_its_own_words() {
    // RFC 1122 3.2.2/2, 3.2.2.1/1, 4.1.3.1/1
    let mut host = Host::new(|_| ());
    let lost = udp_bytes(9, &[7; 1000]);
    let out = host.take(&datagram(ip(protocol::UDP), &lost));
    let (header, bytes) = parse(&out[0]);
    assert!(header.total_len <= 576, "RFC 1812 4.3.2.3");
    assert_eq!(bytes[..2], [3, 3]);
    assert!(wire::checksum::is_right(wire::checksum::sum(&bytes)));
    let quoted = ipv4::Header::parse(&bytes[8..]).expect("quote");
    assert_eq!((quoted.source, quoted.destination), (PEER, US));
    assert_eq!(usize::from(quoted.total_len), 20 + lost.len());
    assert_eq!(bytes[28..], lost[..bytes.len() - 28]);
}

#[test]
fn udp_checksums_and_lengths() {
    // RFC 1122 4.1.3.4/1
    let mut host = Host::new(|_| ());
    host.call(Call::BindUdp(end(US, 53), ()));
    let mut take = |change: fn(&mut Vec<u8>), len: usize, reason: Option<DropReason>| {
        let mut bytes = udp_bytes(53, &vec![3; len]);
        change(&mut bytes);
        let frame = datagram(ip(protocol::UDP), &bytes);
        match reason {
            Some(reason) => host.drops(&frame, reason),
            None => {
                host.take(&frame);
                let got = host.domain.app.datagrams.pop().expect("delivered");
                assert_eq!(got.payload.iter().map(|p| p.len()).sum::<usize>(), len);
            }
        }
    };
    for len in [0, 1, 2, 3, 1472] {
        take(|_| (), len, None);
        take(|bytes| bytes[6..8].fill(0), len, None);
        take(|bytes| bytes[7] ^= 1, len, Some(DropReason::UdpChecksum));
        // Bytes behind UDP's own length do not count.
        take(|bytes| bytes.extend([9; 3]), len, None);
        take(|bytes| bytes[5] += 1, len, Some(DropReason::UdpMalformed));
    }
    take(|bytes| bytes[4..6].copy_from_slice(&[0, 7]), 10, Some(DropReason::UdpMalformed));
    take(|bytes| bytes[2..4].fill(0), 10, Some(DropReason::UdpMalformed));
    take(|bytes| bytes.truncate(7), 10, Some(DropReason::UdpMalformed));
    host.domain.app.full = true;
    host.drops(&datagram(ip(protocol::UDP), &udp_bytes(53, b"x")), DropReason::UdpQueueFull);
}

#[test]
fn reset_ends_everything() {
    let mut host = listening();
    host.call(Call::BindUdp(end(US, 53), ()));
    let ours = accepted(&mut host, 5000, 1000);
    connect(&mut host);
    let out = host.call(Call::Reset);
    let resets: Vec<_> = out.iter().map(parse_tcp).collect();
    assert_eq!(resets.len(), 1, "nobody has to hear of the other");
    assert!(resets[0].flags.rst());
    assert_eq!((resets[0].destination_port, resets[0].seq), (5000, Seq(ours)));
    assert_eq!(host.domain.connections().len(), 0);
    assert_eq!((host.domain.app.closed.len(), host.domain.app.ports_closed), (2, 2));
    assert!(host.domain.is_over());
}

#[test]
fn reassembled_datagrams_find_their_unit() {
    let mut host = Host::lonely(Unit::new(0, 8), |_| ());
    host.call(Call::BindUdp(end(US, 53), ()));
    let whole = udp_bytes(53, &[1; 2000]);
    for (i, piece) in whole.chunks(1480).enumerate() {
        let header = ipv4::Header {
            fragment_offset: (i * 1480) as u16,
            more_fragments: i == 0,
            ..ip(protocol::UDP)
        };
        host.domain.input(
            wire::Packet::copy_of(&datagram(header, piece)),
            host.now,
            &mut crate::Egress::new(1),
        );
    }
    let flow = FlowKey { local: end(US, 53), remote: end(PEER, 4000) };
    let unit = (wire::steering::Steering::new(7).flow(&flow) % 8) as u16;
    let foreign: Vec<_> = host.domain.take_misrouted().collect();
    if unit == 0 {
        assert!(foreign.is_empty());
        return assert_eq!(host.domain.app.datagrams.len(), 1);
    }
    let [(to, packet)] = <[_; 1]>::try_from(foreign).expect("one");
    assert_eq!(to, unit);
    let mut right = Host::lonely(Unit::new(unit, 8), |_| ());
    right.call(Call::BindUdp(end(US, 53), ()));
    let now = right.now;
    right.domain.input_misrouted(packet, now, &mut crate::Egress::new(1));
    assert_eq!(right.domain.app.datagrams.len(), 1);
}

proptest! {
    /// Whatever comes is counted once.
    #[test]
    fn packets_are_conserved(
        frames in prop::collection::vec(
            (0usize..4, prop::collection::vec(any::<u8>(), 0..80)),
            0..50,
        ),
    ) {
        let mut host = listening();
        host.call(Call::BindUdp(end(US, 53), ()));
        for (kind, bytes) in frames {
            let frame = match kind {
                0 => bytes,
                1 => framed(link(0x0806), &bytes),
                2 => {
                    let protocol = [1, 6, 17, 50][bytes.len() % 4];
                    let fragment = bytes.first().copied().unwrap_or(0);
                    datagram(
                        ipv4::Header {
                            more_fragments: fragment & 7 == 1,
                            fragment_offset: u16::from(fragment >> 5) * 8,
                            ..ip(protocol)
                        },
                        &bytes,
                    )
                }
                _ => {
                    let flags = Flags(bytes.first().copied().unwrap_or(2).into());
                    tcp_frame(&header(5000, 80, 1, 1, flags), &bytes)
                }
            };
            // Looks at the counters after each.
            host.take(&frame);
        }
    }
}

/// Each is refused before the next is opened.
#[test]
fn connections_one_after_another_have_other_ports() {
    let mut host = Host::new(|_| ());
    let ports: std::collections::HashSet<u16> = (0..100)
        .map(|_| {
            let (syn, _) = connect(&mut host);
            let (port, ack) = (syn.source_port, syn.seq.0.wrapping_add(1));
            host.take(&tcp_frame(&header(80, port, 0, ack, Flags::RST.with(Flags::ACK)), &[]));
            assert!(host.domain.connections().is_empty());
            port
        })
        .collect();
    assert_eq!(ports.len(), 100);
}
