use super::*;
use crate::Call;
use crate::harness::v6::*;
use crate::harness::*;
use std::time::Duration;
use wire::tcp::{Flags, Header};
use wire::{Packet, Seq, ethernet};

/// More connections than are in any cache, as far as [`MANY`] goes.
const PORTS: std::ops::Range<u16> = 2000..2000 + 2 * MANY as u16;

#[test]
fn flows_are_read_off_frames_of_every_shape() {
    let plain = tcp_header(4000, Flags::ACK, 1, Seq(1));
    let frame = tcp_frame(&plain, b"four");
    let flow = FlowKey { local: end(US, 80), remote: end(PEER, 4000) };
    assert_eq!(flow_in(&frame, true), Some(flow));
    assert_eq!(flow_in(&frame[ethernet::LEN..], false), Some(flow));
    let mut tagged = frame.clone();
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    assert_eq!(flow_in(&tagged, true), Some(flow));

    let frame = tcp6(&plain, b"six");
    let flow = flow_in(&frame, true).expect("a segment over IPv6");
    assert_eq!((flow.local.port, flow.remote.port), (80, 4000));
    assert!(!flow.local.address.is_v4() && flow.local.address != flow.remote.address);
    assert_eq!(flow_in(&frame[ethernet::LEN..], false), Some(flow));
}

#[test]
fn of_other_frames_and_broken_ones_nothing_is_read() {
    assert_eq!(flow_in(&datagram(ip(protocol::UDP), &udp_bytes(9, b"x")), true), None);
    assert_eq!(flow_in(&arp_frame(wire::arp::Operation::Request, PEER, US), true), None);
    for frame in [tcp_frame, |h: &Header, d: &[u8]| tcp6(h, d)] {
        let frame = frame(&tcp_header(4000, Flags::ACK, 1, Seq(1)), b"");
        let ports = frame.len() - 20 + 4;
        for len in 0..ports {
            assert_eq!(flow_in(&frame[..len], true), None, "{len} bytes");
        }
        assert!(flow_in(&frame[..ports], true).is_some());
    }
}

/// A host with a connection of each of the ports, and our next sequence numbers.
fn crowded() -> (Host, Vec<Seq>) {
    let mut host = Host::new(|config| config.max_connections = 4 * MANY);
    host.call(Call::Listen(end(US, 80), ()));
    let ours = PORTS.map(|port| {
        let answer = host.take(&tcp_frame(&tcp_header(port, Flags::SYN, 0, Seq(0)), b""));
        let ours = parse_tcp(&answer[0]).seq + 1;
        host.take(&tcp_frame(&tcp_header(port, Flags::ACK, 1, ours), b""));
        ours
    });
    let ours: Vec<Seq> = ours.collect();
    assert!(host.domain.connections().len() >= MANY);
    (host, ours)
}

/// All have heard something before the first has its turn, so the list is long, and the memory is
/// asked for who comes next.
#[test]
fn who_waits_behind_many_others_has_a_turn_like_any() {
    let (mut host, ours) = crowded();
    let data = |(port, ack): (u16, &Seq)| {
        tcp_frame(&tcp_header(port, Flags::ACK.with(Flags::PSH), 1, *ack), &port.to_be_bytes())
    };
    let frames: Vec<Vec<u8>> = PORTS.zip(&ours).map(data).collect();
    host.take_batch(&frames);
    let mut answers = host.serve(usize::MAX);
    answers.extend(host.wait(Duration::from_millis(50)));
    let mut ports: Vec<u16> = answers.iter().map(|f| parse_tcp(f).destination_port).collect();
    ports.sort_unstable();
    assert_eq!(ports, PORTS.collect::<Vec<_>>());
}

/// Frames are looked at ahead in one host and not in the other: what both do is the same.
#[test]
fn looking_ahead_changes_nothing_that_can_be_seen() {
    let run = |ahead: bool| {
        let (mut host, ours) = crowded();
        let data = |(port, ack): (u16, &Seq)| {
            tcp_frame(&tcp_header(port, Flags::ACK.with(Flags::PSH), 1, *ack), &port.to_be_bytes())
        };
        let mut frames: Vec<Vec<u8>> = PORTS.zip(&ours).map(data).collect();
        // One of no connection, and one again.
        frames.insert(7, tcp_frame(&tcp_header(999, Flags::ACK, 1, Seq(1)), b"x"));
        frames.insert(70, frames[69].clone());
        let mut sent = Vec::new();
        for batch in frames.chunks(3 * FRAMES / 2) {
            let packets: Vec<Packet> = batch.iter().map(|f| Packet::copy_of(f)).collect();
            if ahead {
                host.domain.look_ahead(packets.iter());
            }
            packets.into_iter().for_each(|packet| sent.extend(host.take_packet(packet)));
        }
        sent.extend(host.wait(Duration::from_millis(50)));
        let sent: Vec<Vec<u8>> = sent.iter().map(Packet::to_vec).collect();
        (sent, format!("{:?}", host.domain.counters), host.domain.app.read)
    };
    let (with, without) = (run(true), run(false));
    assert!(!with.0.is_empty());
    assert_eq!(with, without);
}
