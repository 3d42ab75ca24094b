use crate::Call;
use crate::application::ConnectError;
use crate::connections::Connections;
use crate::harness::*;
use std::time::Duration;
use wire::Seq;
use wire::tcp::{Flags, Header, Options};

/// A segment of port 80 of the peer to our port 1234.
fn segment(flags: Flags, seq: u32, ack: Seq, timestamps: Option<(u32, u32)>) -> Vec<u8> {
    let header = Header {
        source_port: 80,
        destination_port: 1234,
        seq: Seq(seq),
        ack,
        flags,
        window: 1000,
        urgent: 0,
        options: Options { timestamps, ..Options::NONE },
    };
    tcp_frame(&header, b"")
}

/// Opens a connection from port 1234, and closes it; returns our next number.
fn into_time_wait(host: &mut Host, timestamps: bool) -> Seq {
    let stamp = |value| timestamps.then_some((value, 0));
    let local = Some(end(US, 1234));
    let out = host.call(Call::Connect { remote: end(PEER, 80), local, connection: () });
    let iss = parse_tcp(&out[0]).seq;
    host.domain.app.close = true;
    host.take(&segment(Flags::SYN.with(Flags::ACK), 0, iss + 1, stamp(1)));
    host.take(&segment(Flags::FIN.with(Flags::ACK), 1, iss + 2, stamp(2)));
    host.domain.app.close = false;
    assert_eq!((host.domain.connections().len(), host.domain.time_wait_len()), (0, 1));
    iss + 2
}

#[test]
fn a_flow_in_time_wait_is_opened_again_where_time_stamps_tell_them_apart() {
    let mut host = Host::new(|_| ());
    let last = into_time_wait(&mut host, true);
    let call =
        || Call::Connect { remote: end(PEER, 80), local: Some(end(US, 1234)), connection: () };
    assert!(host.call(call()).is_empty());
    assert_eq!(host.domain.app.failed, [ConnectError::InUse], "within a second");
    host.wait(Duration::from_millis(1100));
    let syn = parse_tcp(&host.call(call())[0]);
    assert!(syn.flags.syn() && syn.seq.after(last + 65_536), "{:?} after {last:?}", syn.seq);
    assert_eq!((host.domain.connections().len(), host.domain.time_wait_len()), (1, 0));
}

#[test]
fn without_time_stamps_it_is_not() {
    let mut host = Host::new(|_| ());
    into_time_wait(&mut host, false);
    host.wait(Duration::from_millis(1100));
    let local = Some(end(US, 1234));
    let out = host.call(Call::Connect { remote: end(PEER, 80), local, connection: () });
    assert!(out.is_empty());
    assert_eq!(host.domain.app.failed, [ConnectError::InUse]);
    assert_eq!(host.domain.time_wait_len(), 1);
}
