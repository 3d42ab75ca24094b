use super::Names;
use crate::harness::*;
use crate::{Call, ConnId};
use wire::tcp::{Flags, Header};
use wire::{Packet, Seq};

fn segment(port: u16, flags: Flags, seq: u32, ack: Seq) -> Header {
    Header { window: 10_000, ..tcp_header(port, flags, seq, ack) }
}

const FIRST: u16 = 5000;

/// A host with as many connections from ports of the peer, and its numbers on each.
fn host(connections: u16) -> (Host, Vec<Seq>) {
    let mut host = Host::new(|_| ());
    host.call(Call::Listen(end(US, 80), ()));
    let ours = (FIRST..FIRST + connections).map(|port| {
        let answer = host.take(&tcp_frame(&segment(port, Flags::SYN, 0, Seq(0)), b""));
        let ours = parse_tcp(&answer[0]).seq + 1;
        host.take(&tcp_frame(&segment(port, Flags::ACK, 1, ours), b""));
        ours
    });
    let ours = ours.collect();
    (host, ours)
}

/// The application asks for turns of these, the first of the host's connections.
fn notify(host: &mut Host, connections: usize) {
    for at in 0..connections {
        let (id, _) = host.domain.app.opened[at];
        host.only_call(Call::Notify(id));
    }
}

/// There is room for one packet, and whoever has a turn writes as much. The port that it goes to.
fn serve_one(host: &mut Host) -> Option<u16> {
    host.domain.app.text = b"x".to_vec();
    let out: Vec<Packet> = host.serve(1);
    assert!(out.len() <= 1, "{out:?}");
    out.first().map(|frame| parse_tcp(frame).destination_port)
}

#[test]
fn who_has_heard_something_does_not_wait_until_all_others_have_sent() {
    let (mut host, ours) = host(200);
    notify(&mut host, 199);
    let last = FIRST + 199;
    host.take_batch(&[tcp_frame(&segment(last, Flags::ACK, 1, ours[199]), b"data")]);
    let order: Vec<_> = (0..200).map(|_| serve_one(&mut host)).collect();
    assert!(order[..2].contains(&Some(last)), "{order:?}");
    let mut ports: Vec<_> = order.into_iter().flatten().collect();
    ports.retain(|port| *port != last);
    assert_eq!(ports, (FIRST..last).collect::<Vec<_>>(), "each in its turn");
}

#[test]
fn who_was_asked_to_send_does_not_wait_until_nobody_hears_anything() {
    let (mut host, ours) = host(20);
    notify(&mut host, 10);
    let mut order = Vec::new();
    for n in 0..20 {
        let at = 10 + n % 10;
        let seq = 1 + n as u32 / 10;
        let port = FIRST + at as u16;
        host.take_batch(&[tcp_frame(&segment(port, Flags::ACK, seq, ours[at]), b"d")]);
        order.extend(serve_one(&mut host));
    }
    let asked = order.iter().filter(|port| **port < FIRST + 10).count();
    assert_eq!(asked, 10, "{order:?}");
}

#[test]
fn names_come_out_in_their_order_and_take_no_more_room_than_twice_as_many() {
    let (mut names, mut pushed, mut popped) = (Names::default(), 0, 0);
    let name = |slot| ConnId { unit: 0, slot, generation: 0 };
    for round in 0..2000 {
        for _ in 0..1 + round % 3 {
            names.push(name(pushed));
            pushed += 1;
        }
        // There are always some that wait.
        for _ in 0..(pushed - popped).saturating_sub(40) {
            assert_eq!(names.pop(), Some(&name(popped)));
            popped += 1;
        }
        assert_eq!(names.len(), (pushed - popped) as usize);
    }
    assert!(names.names.capacity() <= 256, "{}", names.names.capacity());
    while let Some(next) = names.pop() {
        assert_eq!(*next, name(popped));
        popped += 1;
    }
    names.end();
    assert_eq!((popped, names.len(), names.begin(), names.gone), (pushed, 0, 0, 0));
}

/// One that always stands there again when its turn is over does not wander through memory.
#[test]
fn rounds_begin_in_front() {
    let name = |slot| ConnId { unit: 0, slot, generation: 0 };
    let mut names = Names::default();
    names.push(name(0));
    let mut furthest = 0;
    for round in 0..1000 {
        for _ in 0..names.begin() {
            let next = *names.pop().expect("it stands there");
            names.push(next);
            if round == 500 {
                (1..1000).for_each(|slot| names.push(name(slot)));
            }
            if round > 503 {
                furthest = furthest.max(names.gone);
            }
        }
        if round == 502 {
            while names.len() > 1 {
                names.pop();
            }
        }
    }
    assert!(names.len() == 1 && furthest <= 2, "{furthest}");
}
