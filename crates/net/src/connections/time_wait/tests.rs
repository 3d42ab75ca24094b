use crate::harness::*;
use crate::{Call, Connections};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::tcp::{Flags, Header, Options};
use wire::{Endpoint, FlowKey, Seq};

const FIN_ACK: Flags = Flags::FIN.with(Flags::ACK);

fn segment(flags: Flags, seq: Seq, ack: Seq) -> Vec<u8> {
    let (window, urgent, options) = (10_000, 0, Options::NONE);
    let (source_port, destination_port) = (5000, 80);
    tcp_frame(
        &Header { source_port, destination_port, seq, ack, flags, window, urgent, options },
        b"",
    )
}

/// One flow is opened and closed again and again by its peer, each time out of
/// TIME-WAIT.
#[test]
fn a_flow_that_is_reopened_leaves_no_places_behind() {
    let mut host = Host::new(|_| ());
    host.call(Call::Listen(end(Ipv4Addr::UNSPECIFIED, 80), ()));
    host.domain.app.close = true;
    let mut seq = Seq(1);
    for _ in 0..1000 {
        let answer = host.take(&segment(Flags::SYN, seq, Seq(0)));
        let ours = parse_tcp(&answer[0]).seq + 1;
        host.take(&segment(Flags::ACK, seq + 1, ours));
        host.take(&segment(FIN_ACK, seq + 1, ours + 1));
        assert_eq!(host.domain.time_wait_len(), 1);
        seq += 10;
    }
    assert!(host.domain.connections().time_wait().by_age.len() <= 2 + super::SOME);
    host.wait(Duration::from_secs(61));
    assert_eq!(host.domain.time_wait_len(), 0);
    assert_eq!(host.domain.connections().next_expiry(), None);
}

/// The time that a flow is kept is that of its last entry.
#[test]
fn a_place_of_an_earlier_entry_does_not_count() {
    let mut table = super::TimeWaitTable::new(100);
    let end = |port| Endpoint { address: Ipv4Addr::new(10, 0, 0, 1).into(), port };
    let flow = FlowKey { local: end(80), remote: end(5000) };
    let state = |ms| waiting(wire::Instant::from_millis(ms));
    table.insert(flow, 7, state(1000), false);
    assert!(!table.remove(&flow, 7));
    table.insert(flow, 7, state(5000), true);
    let at = |ms| wire::Instant::from_millis(ms);
    assert_eq!(table.expire(at(61_010)), None);
    // Never too early, and at the next common moment.
    assert_eq!(table.expire(at(64_999)), None);
    assert_eq!(table.next_timeout(), Some(super::moment(at(65_000))));
    assert_eq!(table.expire(at(65_005)), Some((flow, true)));
    assert!(table.by_age.is_empty());
}

/// What is left of a connection that went to TIME-WAIT at `now`.
fn waiting(now: wire::Instant) -> tcp::time_wait::TimeWait {
    let config = std::sync::Arc::new(tcp::Config::default());
    let isn = tcp::isn::Generator::new([1; 16], Duration::ZERO);
    let end = |port| Endpoint { address: Ipv4Addr::new(10, 0, 0, 1).into(), port };
    let isn = isn.isn(&FlowKey { local: end(1), remote: end(2) }, now);
    let mut tcb = tcp::Tcb::connect(&config, isn, 1460, now);
    let mut header = Header {
        source_port: 2,
        destination_port: 1,
        seq: Seq(1),
        ack: isn.seq + 1,
        flags: Flags::SYN.with(Flags::ACK),
        window: 1000,
        urgent: 0,
        options: Options::NONE,
    };
    let limits = tcp::TransmitOffload { segmentation: 0, want_sum: false };
    while tcb.poll_transmit(now, limits).is_some() {}
    tcb.input(&header, wire::Parts::new(), now);
    tcb.shutdown_write();
    while tcb.poll_transmit(now, limits).is_some() {}
    header = Header { seq: Seq(2), ack: isn.seq + 2, flags: FIN_ACK, ..header };
    tcb.input(&header, wire::Parts::new(), now);
    tcp::time_wait::TimeWait::new(&tcb).expect("TIME-WAIT")
}
