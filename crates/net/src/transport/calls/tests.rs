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

/// Opens a connection to port 80 of the peer, from any port.
fn open(host: &mut Host) {
    host.call(Call::Connect { remote: end(PEER, 80), local: None, connection: () });
}

/// The peer refuses a connection.
fn refuse(host: &mut Host, syn: &Header) {
    let flags = Flags::RST.with(Flags::ACK);
    let (port, ack) = (syn.source_port, syn.seq + 1);
    let reset = Header { source_port: 80, destination_port: port, ..tcp_header(80, flags, 0, ack) };
    host.take(&tcp_frame(&reset, b""));
}

/// Before, each connection that was not opened took a port away, for as long as any other to the
/// same destination lasted: when the table had room again, there was no port left.
#[test]
fn a_full_table_uses_up_no_ports() {
    let mut host = Host::new(|config| {
        config.ephemeral_ports = (40_000, 40_009);
        config.max_connections = 2;
    });
    let first = Call::Connect { remote: end(PEER, 80), local: None, connection: () };
    let syn = parse_tcp(&host.call(first)[0]);
    for _ in 0..100 {
        open(&mut host);
    }
    assert_eq!(host.domain.connections().len(), 2);
    assert!(host.domain.app.failed.iter().all(|error| *error == ConnectError::TableFull));
    refuse(&mut host, &syn);
    assert_eq!(host.domain.connections().len(), 1);
    open(&mut host);
    assert_eq!(host.domain.app.failed.len(), 99, "{:?}", host.domain.app.failed.last());
}

/// Before, a port that was tried while a connection from a fixed port had it did not come back with
/// that one's end.
#[test]
fn a_port_that_a_fixed_one_had_comes_back() {
    let mut host = Host::new(|config| config.ephemeral_ports = (40_000, 40_003));
    open(&mut host);
    let ours = host.domain.app.opened[0].1.local.port;
    let fixed = |host: &mut Host, port| {
        let local = Some(end(US, port));
        let call = Call::Connect { remote: end(PEER, 80), local, connection: () };
        parse_tcp(&host.call(call)[0])
    };
    let others = (40_000..40_004).filter(|port| *port != ours);
    let syns: Vec<Header> = others.map(|port| fixed(&mut host, port)).collect();
    open(&mut host);
    assert_eq!((host.domain.connections().len(), host.domain.app.failed.len()), (4, 1));
    syns.iter().for_each(|syn| refuse(&mut host, syn));
    (0..3).for_each(|_| open(&mut host));
    assert_eq!(host.domain.app.failed.len(), 1, "{:?}", host.domain.app.failed);
    assert_eq!(host.domain.connections().len(), 4);
}
