use super::MOST;
use crate::harness::*;
use crate::{Call, Config, Connections};
use wire::Seq;
use wire::tcp::{Flags, Header};

fn segment(port: u16, flags: Flags, seq: u32, ack: Seq) -> Vec<u8> {
    let header = Header { window: 10_000, ..tcp_header(port, flags, seq, ack) };
    tcp_frame(&header, b"")
}

/// A host with as many connections from ports of the peer, the first of them 5000, and its next
/// number on each.
fn host(connections: u16, change: impl FnOnce(&mut Config)) -> (Host, Vec<Seq>) {
    let mut host = Host::new(change);
    host.call(Call::Listen(end(US, 80), ()));
    let open = |port| {
        let answer = host.take(&segment(port, Flags::SYN, 0, Seq(0)));
        let ours = parse_tcp(&answer[0]).seq + 1;
        host.take(&segment(port, Flags::ACK, 1, ours));
        ours
    };
    let ours = (5000..5000 + connections).map(open).collect();
    (host, ours)
}

/// The peer resets each connection and opens the next, in one batch; what leaves.
fn reset_and_open(host: &mut Host, ours: &[Seq]) -> Vec<Header> {
    let pair = |(port, ours): (u16, &Seq)| {
        let reset = segment(port, Flags::RST.with(Flags::ACK), 1, *ours);
        [reset, segment(port, Flags::SYN, 90_000, Seq(0))]
    };
    let frames: Vec<_> = (5000..).zip(ours).flat_map(pair).collect();
    host.take_batch(&frames);
    let out = host.settle();
    host.conserved();
    out.iter().map(parse_tcp).collect()
}

fn opens_anew(change: impl FnOnce(&mut Config)) {
    let (mut host, ours) = host(1, change);
    let out = reset_and_open(&mut host, &ours);
    let [answer] = &out[..] else { panic!("{out:?}") };
    assert_eq!((answer.flags, answer.ack), (Flags::SYN.with(Flags::ACK), Seq(90_001)));
    host.take(&segment(5000, Flags::ACK, 90_001, answer.seq + 1));
    assert_eq!(host.domain.app.closed, [Some(tcp::Error::Reset)]);
    assert_eq!((host.domain.app.opened.len(), host.domain.connections().len()), (2, 1));
}

#[test]
fn a_syn_right_behind_a_reset_opens_the_next_connection() {
    opens_anew(|_| ());
}

#[test]
fn so_it_does_where_fast_open_is_used() {
    opens_anew(|config| config.fast_open.turn_on());
}

#[test]
fn so_many_wait_and_the_others_come_again() {
    let (mut host, ours) = host(MOST as u16 + 3, |_| ());
    assert_eq!(reset_and_open(&mut host, &ours).len(), MOST);
    assert_eq!(host.domain.connections().len(), MOST);
}

/// The listener is gone meanwhile: the peer hears it at once.
#[test]
fn a_syn_that_has_waited_is_refused_as_any_other() {
    let (mut host, ours) = host(1, |_| ());
    host.only_call(Call::Unlisten(end(US, 80)));
    let out = reset_and_open(&mut host, &ours);
    assert_eq!(
        out.iter().map(|reply| reply.flags).collect::<Vec<_>>(),
        [Flags::RST.with(Flags::ACK)]
    );
}
