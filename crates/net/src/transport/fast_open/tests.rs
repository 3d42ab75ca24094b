use crate::connections::Connections;
use crate::harness::*;
use crate::{Call, Config};
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::tcp::{FastOpen, Flags, Header, Options};
use wire::{FlowKey, Packet, Seq, checksum, protocol};

/// A SYN from `source` with this option and `data`.
fn syn(source: Ipv4Addr, port: u16, option: Option<FastOpen>, data: &[u8]) -> Vec<u8> {
    let header = header(port, Flags::SYN, 1, Seq(0));
    let known = header.len();
    let mut bytes = vec![0; known + option.map_or(0, |option| option.len())];
    header.emit(&mut bytes[..known]);
    if let Some(option) = option {
        option.emit(&mut bytes[known..]);
    }
    bytes[12] = ((bytes.len() / 4) << 4) as u8;
    bytes.extend_from_slice(data);
    let (source_address, len) = (source.into(), bytes.len() as u32);
    let pseudo = checksum::pseudo_header(source_address, US.into(), protocol::TCP, len);
    let sum = !checksum::add(pseudo, checksum::sum(&bytes));
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    datagram(wire::ipv4::Header { source, ..ip(protocol::TCP) }, &bytes)
}

fn header(port: u16, flags: Flags, seq: u32, ack: Seq) -> Header {
    Header {
        options: Options { mss: Some(1000), ..Options::NONE },
        ..tcp_header(port, flags, seq, ack)
    }
}

/// A host that listens, and lets so many connections open early at a time.
fn listening(early: usize, tune: impl FnOnce(&mut Config)) -> Host {
    let mut host = Host::new(tune);
    host.config().fast_open.turn_on();
    host.domain.app.early = early;
    host.call(Call::Listen(end(Ipv4Addr::UNSPECIFIED, 80), ()));
    host
}

/// The option of the only frame.
fn option(out: &[Packet]) -> Option<FastOpen> {
    let [frame] = out else { panic!("{out:?}") };
    parse_tcp(frame);
    let (_, bytes) = parse(frame);
    FastOpen::find(&bytes[20..usize::from(bytes[12] >> 4) * 4])
}

fn cookie(host: &mut Host, source: Ipv4Addr, port: u16) -> FastOpen {
    let out = host.take(&syn(source, port, Some(FastOpen::REQUEST), b""));
    assert_eq!(parse_tcp(&out[0]).ack, Seq(2));
    option(&out).expect("a cookie")
}

fn state(host: &mut Host, port: u16) -> Option<tcp::State> {
    let flow = FlowKey { local: end(US, 80), remote: end(PEER, port) };
    host.domain.connections_mut().with_flow(&flow, |c| c.tcb.state())
}

#[test]
fn who_shows_its_cookie_is_answered_before_the_handshake_is_over() {
    // RFC 7413 4.2.1/1, 4.2.2/1, 4.2.2/2
    for tune in [|_: &mut Config| {}, |config: &mut Config| config.express = false] {
        let mut host = listening(9, tune);
        let cookie = cookie(&mut host, PEER, 1000);
        host.domain.app.text = b"answer".to_vec();
        let out = host.take(&syn(PEER, 1001, Some(cookie), b"question"));
        let [syn_ack, answer] = &out[..] else { panic!("{out:?}") };
        let (syn_ack, answer) = (parse_tcp(syn_ack), parse_tcp(answer));
        assert_eq!((syn_ack.ack, answer.ack), (Seq(10), Seq(10)));
        assert_eq!(answer.seq, syn_ack.seq + 1);
        assert_eq!(option(&out[..1]), None, "the cookie is good");
        assert_eq!(host.domain.app.read, b"question");
        assert_eq!(state(&mut host, 1001), Some(tcp::State::SynReceived));
        let end = answer.seq + 6;
        assert!(host.take(&tcp_frame(&header(1001, Flags::ACK, 10, end), b"")).is_empty());
        assert_eq!(state(&mut host, 1001), Some(tcp::State::Established));
    }
}

#[test]
fn what_comes_without_a_good_cookie_counts_for_nothing() {
    // RFC 7413 4.2.2/3
    let mut host = listening(9, |_| {});
    let good = cookie(&mut host, PEER, 1000);
    let other = Ipv4Addr::new(10, 0, 0, 77);
    host.take(&arp_frame(wire::arp::Operation::Request, other, US));
    let forged = FastOpen::new(&[7; 8]).expect("of this length there are");
    for (source, sent, fresh) in
        [(PEER, Some(forged), true), (other, Some(good), true), (PEER, None, false)]
    {
        let out = host.take(&syn(source, 2000, sent, b"question"));
        assert_eq!(parse_tcp(&out[0]).ack, Seq(2), "{sent:?}");
        assert_eq!(option(&out).is_some(), fresh, "{sent:?}");
        assert_eq!(host.domain.app.read, b"");
        host.take(&tcp_frame(&header(2000, Flags::RST, 2, Seq(0)), b""));
    }
    // The data comes again behind the handshake, as always.
    let out = host.take(&syn(PEER, 2001, Some(forged), b"question"));
    let iss = parse_tcp(&out[0]).seq;
    host.take(&tcp_frame(&header(2001, Flags::ACK, 2, iss + 1), b"question"));
    assert_eq!(host.domain.app.read, b"question");
}

#[test]
fn beyond_the_limit_the_handshake_is_an_ordinary_one() {
    // RFC 7413 5.1/1
    let mut host = listening(2, |_| {});
    let cookie = cookie(&mut host, PEER, 1000);
    let acks: Vec<Seq> = (2000..2004)
        .map(|port| parse_tcp(&host.take(&syn(PEER, port, Some(cookie), b"ten bytes."))[0]).ack)
        .collect();
    assert_eq!(acks, [Seq(12), Seq(12), Seq(2), Seq(2)]);
    assert_eq!(host.domain.app.read, b"ten bytes.ten bytes.");
}

#[test]
fn where_nobody_wants_it_nothing_changes() {
    let mut host = listening(0, |_| {});
    for sent in [None, Some(FastOpen::REQUEST), FastOpen::new(&[7; 8])] {
        let out = host.take(&syn(PEER, 2000, sent, b"question"));
        assert_eq!((parse_tcp(&out[0]).ack, option(&out)), (Seq(2), None), "{sent:?}");
        host.take(&tcp_frame(&header(2000, Flags::RST, 2, Seq(0)), b""));
    }
    assert_eq!(host.domain.app.read, b"");
}

#[test]
fn the_cookie_takes_the_place_of_counters_of_marks() {
    let mut host = listening(9, |config| {
        let tcp = tcp::Config::default().with_ecn(tcp::EcnMode::AskAccurate);
        config.tcp = tcp.into();
    });
    let mut header = header(1000, Flags::SYN.with(Flags::ACE), 1, Seq(0));
    header.options.timestamps = Some((1, 0));
    header.options.window_scale = Some(3);
    header.options.sack_permitted = true;
    let plain = tcp_frame(&header, b"");
    assert!(parse_tcp(&host.take(&plain)[0]).options.acc_ecn.is_some());
    host.take(&tcp_frame(&self::header(1000, Flags::RST, 2, Seq(0)), b""));
    // The same with a request behind it.
    let at = plain.len() - header.len();
    let mut bytes = plain[at..].to_vec();
    bytes.extend([34, 2, 1, 1]);
    bytes[12] = bytes[12] & 0xf | ((bytes.len() / 4) << 4) as u8;
    bytes[16..18].fill(0);
    let len = bytes.len() as u32;
    let pseudo = checksum::pseudo_header(PEER.into(), US.into(), protocol::TCP, len);
    let sum = !checksum::add(pseudo, checksum::sum(&bytes));
    bytes[16..18].copy_from_slice(&sum.to_be_bytes());
    let out = host.take(&datagram(ip(protocol::TCP), &bytes));
    let answer = parse_tcp(&out[0]);
    assert_eq!((answer.options.acc_ecn, answer.options.window_scale.is_some()), (None, true));
    assert!(option(&out).is_some());
}

#[test]
fn a_flood_of_syns_with_data_shows_an_application_nothing() {
    let mut host = listening(100, |_| {});
    for n in 0..3000_u16 {
        let guess = FastOpen::new(&u64::from(n).to_be_bytes());
        host.take(&syn(PEER, 1000 + n, guess, b"question"));
        host.now += Duration::from_millis(1);
    }
    assert_eq!(host.domain.app.read, b"");
    assert_eq!(host.domain.app.opened_early, 0);
}

#[test]
fn who_asks_by_the_option_of_the_experiments_is_answered_by_it() {
    let mut host = listening(9, |_| ());
    let usual = cookie(&mut host, PEER, 1000);
    let ask = FastOpen::REQUEST.with_experimental(true);
    let out = host.take(&syn(PEER, 1001, Some(ask), b""));
    let told = option(&out).expect("a cookie");
    assert_eq!(told, usual.with_experimental(true));
    host.take(&syn(PEER, 1002, Some(told), b"question"));
    assert_eq!(host.domain.app.read, b"question");
}

#[test]
fn a_listener_may_have_a_key_of_its_own_or_need_none() {
    let mut host = listening(9, |_| ());
    let of_host = cookie(&mut host, PEER, 1000);
    host.domain.app.fast_open_terms.key = Some(tcp::FastOpenKey([7; 16]));
    let own = cookie(&mut host, PEER, 1001);
    assert_ne!(own, of_host);
    host.take(&syn(PEER, 1002, Some(of_host), b"not so "));
    assert!(host.domain.app.read.is_empty());
    host.take(&syn(PEER, 1003, Some(own), b"so "));
    assert_eq!(host.domain.app.read, b"so ");

    host.domain.app.fast_open_terms.without_cookie = true;
    host.take(&syn(PEER, 1004, None, b"and without"));
    assert_eq!(host.domain.app.read, b"so and without");
    // What brings no data, and asks for nothing, is an ordinary handshake.
    host.take(&syn(PEER, 1005, None, b""));
    assert_eq!(host.domain.app.opened_early, 2);
}
