use crate::harness::v6::*;
use crate::harness::{Host, PEER, PEER_MAC, US};
use crate::{Call, DropReason};
use proptest::prelude::*;
use std::net::Ipv6Addr;
use std::time::Duration;
use wire::icmpv6::{Message, Unreachable};
use wire::ipv6::{Fragment, Header, LEN, extension};
use wire::{ndp, protocol, udp};

/// A host with a UDP socket on every address, port 53.
fn listening() -> Host {
    let mut host = host6(|_| ());
    host.call(Call::BindUdp(end6(Ipv6Addr::UNSPECIFIED, 53), ()));
    host
}

/// The bytes of the only datagram that has come.
fn received(host: &mut Host) -> Vec<u8> {
    let mut all = std::mem::take(&mut host.domain.app.datagrams);
    assert_eq!(all.len(), 1);
    all.remove(0).payload.iter().flat_map(|p| p.to_vec()).collect()
}

/// The ICMP error in a frame of ours to the peer, and what it quotes.
fn error(frame: &wire::Packet) -> (Message, Vec<u8>) {
    let (link, header, payload) = checked6(frame);
    assert_eq!((link.destination, header.destination), (PEER_MAC, PEER6));
    (Message::parse(&payload).expect("ICMP"), payload[8..].to_vec())
}

#[test]
fn datagrams_come_and_go() {
    let mut host = listening();
    host.take(&datagram6(ip6(protocol::UDP), &udp6(53, b"data")));
    assert_eq!(received(&mut host), b"data");
    let out = host.say6(PEER6, b"answer");
    let (link, header, payload) = checked6(&out[0]);
    assert_eq!((link.destination, header.source, header.destination), (PEER_MAC, US6, PEER6));
    assert_eq!((header.hop_limit, &payload[udp::LEN..]), (64, &b"answer"[..]));
    // The label is the flow's.
    let again = checked6(&host.say6(PEER6, b"again")[0]).1;
    assert_eq!(header.flow_label, again.flow_label);
    assert_ne!(header.flow_label, 0);
    let other = checked6(
        &host
            .say6(our_link_local(), b"")
            .into_iter()
            .chain(host.say6("2001:db8::1:2".parse().unwrap(), b""))
            .next()
            .expect("NS"),
    )
    .1;
    assert_eq!(other.flow_label, 0, "a question has none");
}

#[test]
fn a_socket_of_one_family_gets_nothing_of_the_other() {
    let mut host = host6(|_| ());
    host.call(Call::BindUdp(crate::harness::end(std::net::Ipv4Addr::UNSPECIFIED, 53), ()));
    let out = host.take(&datagram6(ip6(protocol::UDP), &udp6(53, b"x")));
    assert_eq!(error(&out[0]).0, Message::Unreachable(Unreachable::Port));
    assert!(host.domain.app.datagrams.is_empty());
}

#[test]
fn martians_and_strangers() {
    let mut host = listening();
    let from = |source: &str| {
        let header = Header { source: source.parse().unwrap(), ..ip6(protocol::UDP) };
        datagram6(header, &udp6(53, b"x"))
    };
    let to = |destination: &str| {
        let header = Header { destination: destination.parse().unwrap(), ..ip6(protocol::UDP) };
        datagram6(header, &udp6(53, b"x"))
    };
    // Also after a good one, for which there is a short way.
    host.take(&datagram6(ip6(protocol::UDP), &udp6(53, b"x")));
    for source in ["::", "::1", "ff02::1", "2001:db8::1", "::ffff:10.0.0.2"] {
        host.drops(&from(source), DropReason::IpSource);
    }
    for destination in ["::1", "2001:db8::3", "::ffff:10.0.0.1", "ff02::2", "fe80::9"] {
        host.drops(&to(destination), DropReason::IpNotOurs);
    }
    let mut group = datagram6(ip6(protocol::UDP), &udp6(53, b"x"));
    group[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 1]);
    host.drops(&group, DropReason::IpLinkGroup);
}

#[test]
fn bad_headers() {
    let mut host = listening();
    let good = datagram6(ip6(protocol::UDP), &udp6(53, b"data"));
    host.drops(&good[..14 + LEN - 1], DropReason::IpMalformed);
    host.drops(&good[..good.len() - 1], DropReason::IpMalformed);
    let mut unsummed = good.clone();
    unsummed[14 + LEN + 6..][..2].fill(0);
    host.drops(&unsummed, DropReason::UdpNoChecksum);
    let mut padded = good;
    padded.extend([0xee; 9]);
    host.take(&padded);
    assert_eq!(received(&mut host), b"data");
}

#[test]
fn extension_headers_are_passed_over_or_told_of() {
    // RFC 8200 4/1, 4/2
    // RFC 4443 2.2/1
    let mut host = listening();
    let padding = |next: u8| vec![next, 0, 1, 4, 0, 0, 0, 0];
    let good = [padding(60), padding(protocol::UDP), udp6(53, b"behind")].concat();
    host.take(&datagram6(ip6(extension::HOP_BY_HOP), &good));
    assert_eq!(received(&mut host), b"behind");
    // Nothing behind them.
    assert!(host.take(&datagram6(ip6(60), &padding(protocol::NO_NEXT_HEADER))).is_empty());
    // What we do not know (RFC 8200 4): the error says where.
    for (next, bytes, code, at, reason) in [
        (99, vec![1; 30], 1, 6, DropReason::ProtocolUnknown),
        (60, padding(99), 1, 40, DropReason::ProtocolUnknown),
        (60, padding(extension::HOP_BY_HOP), 1, 40, DropReason::ExtensionHeader),
        (60, vec![17, 0, 0xc5, 4, 0, 0, 0, 0], 2, 42, DropReason::ExtensionHeader),
        // A jumbogram (RFC 2675), and a route through us (RFC 5095).
        (0, vec![17, 0, 0xc2, 4, 0, 1, 0, 0], 2, 42, DropReason::ExtensionHeader),
        (43, vec![17, 0, 0, 1, 0, 0, 0, 0], 0, 42, DropReason::ExtensionHeader),
    ] {
        let frame = datagram6(ip6(next), &bytes);
        let out = host.take(&frame);
        let (message, quote) = error(&out[0]);
        assert_eq!(message, Message::ParameterProblem(code, at));
        assert_eq!(quote, frame[14..]);
        assert_eq!(host.domain.counters.dropped(reason), 1);
        host.domain.counters = crate::Counters::default();
    }
    host.drops(&datagram6(ip6(60), &[17, 1, 1, 4, 0, 0, 0, 0]), DropReason::ExtensionHeader);
    host.drops(&datagram6(ip6(60), &padding(60).repeat(9)), DropReason::ExtensionHeader);
    // To a group: only where the option says so.
    for (option, answers) in [(0xc5, 0), (0x85, 1)] {
        let header = Header { destination: "ff02::1".parse().unwrap(), ..ip6(60) };
        let mut frame = datagram6(header, &[17, 0, option, 4, 0, 0, 0, 0]);
        frame[..6].copy_from_slice(&[0x33, 0x33, 0, 0, 0, 1]);
        let out = host.take(&frame);
        assert_eq!(out.len(), answers);
        out.iter().for_each(|frame| assert_eq!(checked6(frame).1.source, US6));
    }
}

#[test]
fn pings_of_any_length_come_back() {
    // RFC 4443 2.2/1, 4.2/1
    let mut host = host6(|_| ());
    for len in [0, 1, 56, 1448] {
        let request = icmp6(128, 0, &[&[1, 2, 3, 4], &vec![5; len][..]].concat());
        let out = host.take(&datagram6(ip6(protocol::ICMPV6), &request));
        let (_, header, reply) = checked6(&out[0]);
        assert_eq!((header.source, header.destination), (US6, PEER6));
        assert_eq!((reply[0], reply[1]), (129, 0));
        assert_eq!(reply[4..], request[4..]);
    }
    // In fragments, both ways.
    for len in [1460usize, 5000, 65_000] {
        let data: Vec<u8> = (0..len).map(|i| (i * 7 + i / 256) as u8).collect();
        let request = icmp6(128, 0, &data);
        let mut out = Vec::new();
        for frame in fragments6(protocol::ICMPV6, &request, 1448, len as u32) {
            out = host.take(&frame);
        }
        let mut reply = Vec::new();
        let mut names = Vec::new();
        for frame in &out {
            let (_, header, payload) = parse6(frame);
            assert_eq!(header.next_header, extension::FRAGMENT);
            assert!(usize::from(header.payload_len) + LEN <= 1500);
            let fragment = Fragment::parse(&payload).expect("a fragment");
            assert_eq!(usize::from(fragment.offset), reply.len());
            reply.extend(&payload[8..]);
            assert_eq!(fragment.more, reply.len() < request.len());
            names.push(fragment.identification);
        }
        names.dedup();
        assert_eq!((names.len(), reply[0], &reply[4..]), (1, 129, &request[4..]));
    }
    // A ping to all is answered from an address of ours.
    let all = "ff02::1".parse().unwrap();
    let bytes = summed(PEER6, all, protocol::ICMPV6, 2, vec![128, 0, 0, 0, 0, 1, 0, 2]);
    let header = Header { destination: all, ..ip6(protocol::ICMPV6) };
    assert_eq!(checked6(&host.take(&datagram6(header, &bytes))[0]).1.source, US6);
}

#[test]
fn bad_icmp() {
    // RFC 8200 5/1
    // RFC 4443 2.3/1, 2.4/2
    let mut host = host6(|_| ());
    let frame = |bytes: &[u8]| datagram6(ip6(protocol::ICMPV6), bytes);
    let mut spoilt = icmp6(128, 0, &[0; 60]);
    spoilt[20] ^= 1;
    host.drops(&frame(&spoilt), DropReason::IcmpMalformed);
    host.drops(&frame(&[128, 0, 0, 0]), DropReason::IcmpMalformed);
    for quote in [vec![], vec![0; 3], vec![0x60; 47], datagram6(ip6(6), &[0; 8])[14..].to_vec()] {
        let rest = [vec![0; 4], quote].concat();
        host.drops(&frame(&icmp6(1, 3, &rest)), DropReason::IcmpMalformed);
    }
    // An MTU below the least (RFC 8201).
    host.drops(&frame(&icmp6(2, 0, &[0, 0, 4, 255])), DropReason::IcmpMalformed);
    // Neighbour discovery behind an extension header (RFC 6980 forbids fragments of it).
    let message = ndp::Message::Solicitation { target: US6, source_link: None };
    let plain = discovery(PEER6, US6, &message);
    let bytes = [&[58, 0, 1, 4, 0, 0, 0, 0], &plain[14 + LEN..]].concat();
    host.drops(&datagram6(Header { hop_limit: 255, ..ip6(60) }, &bytes), DropReason::NdpMalformed);
    // Types that nobody knows, and answers to nothing.
    for kind in [100, 127, 129, 143, 200] {
        assert!(host.take(&frame(&icmp6(kind, 0, &[0; 40]))).is_empty());
    }
}

#[test]
fn errors_quote_what_fits_and_are_so_many_a_second() {
    // RFC 4443 2.4/3, 2.4/5, 2.4/6, 3.1/1
    let mut host = host6(|config| config.errors_per_second = 80);
    let long = datagram6(ip6(protocol::UDP), &udp6(9, &[7; 1400]));
    let out = host.take(&long);
    let (message, quote) = error(&out[0]);
    assert_eq!(message, Message::Unreachable(Unreachable::Port));
    assert_eq!(quote, long[14..][..1280 - 48]);
    let count = (0..50).map(|_| host.take(&long).len()).sum::<usize>();
    assert_eq!(count, 9);
    assert_eq!(host.domain.counters.icmp_errors_limited, 41);
    // An error about an error is not sent: an unknown header inside one.
    host.wait(Duration::from_secs(2));
    let to_group = Header { destination: "ff02::1".parse().unwrap(), ..ip6(99) };
    assert!(host.take(&datagram6(to_group, &[0; 8])).is_empty());
}

#[test]
fn an_error_comes_to_the_socket_that_it_is_about() {
    // RFC 4443 2.4/4
    let mut host = listening();
    let out = host.say6(PEER6, b"lost");
    let sent = out[0].to_vec();
    let rest = [&[0; 4], &sent[14..]].concat();
    host.take(&datagram6(ip6(protocol::ICMPV6), &icmp6(1, 4, &rest)));
    assert_eq!(host.domain.app.errors.len(), 1);
    assert_eq!(host.domain.app.errors[0].0, end6(PEER6, 4000));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn fragments_in_any_order_some_twice(
        len in 100usize..9000,
        cut in 1usize..185,
        order in prop::collection::vec(any::<prop::sample::Index>(), 400),
    ) {
        // RFC 8200 4.5/1, 5/2
        let cut = (cut * 8).max((len / 100).next_multiple_of(8));
        let mut host = listening();
        let data: Vec<u8> = (0..len).map(|i| (i * 7 + i / 256) as u8).collect();
        let pieces = fragments6(protocol::UDP, &udp6(53, &data), cut, 9);
        let mut left: Vec<usize> = (0..pieces.len()).collect();
        for index in order {
            if left.is_empty() {
                break;
            }
            let next = left.swap_remove(index.index(left.len()));
            host.take(&pieces[next]);
            if !left.is_empty() {
                host.take(&pieces[next]);
            }
        }
        left.into_iter().for_each(|next| drop(host.take(&pieces[next])));
        prop_assert_eq!(received(&mut host), data);
        prop_assert_eq!(host.domain.ip_bytes(), 0);
    }
}

#[test]
fn fragments_that_cannot_be() {
    // RFC 8200 4.5/3, 4.5/4, 4.5/5, 4.5/6
    let mut host = listening();
    let of =
        |offset, more| Fragment { next_header: protocol::UDP, offset, more, identification: 3 };
    // Atomic ones go up at once, and disturb nothing (RFC 6946).
    host.take(&fragment6(of(0, true), &udp6(53, &[1; 56])[..32]));
    host.take(&fragment6(of(0, false), &udp6(53, b"atomic")));
    assert_eq!(received(&mut host), b"atomic");
    // Overlaps end the datagram (RFC 5722).
    host.drops(&fragment6(of(8, true), &[0; 32]), DropReason::FragmentBad);
    assert_eq!(host.domain.ip_bytes(), 0);
    // The first without the transport header (RFC 7112).
    let first = Fragment { next_header: 60, ..of(0, true) };
    host.drops(&fragment6(first, &[17, 0, 1, 4, 0, 0, 0, 0]), DropReason::FragmentBad);
    host.drops(&fragment6(of(65_528, false), &[0; 48]), DropReason::FragmentBad);
    host.drops(&fragment6(of(8, false), &[]), DropReason::FragmentBad);
    // A length that is no multiple of 8 is told of.
    let out = host.take(&fragment6(of(0, true), &[0; 33]));
    assert_eq!(error(&out[0]).0, Message::ParameterProblem(0, 4));
    // A fragment within a fragment.
    let inner = [&[17, 0, 0, 1, 0, 0, 0, 9][..], &[0; 24]].concat();
    let outer = |offset, more| Fragment { next_header: 44, ..of(offset, more) };
    host.take(&fragment6(outer(8, false), &inner[8..]));
    host.drops(&fragment6(outer(0, true), &inner[..8]), DropReason::FragmentBad);
}

#[test]
fn what_does_not_come_in_time_is_told_of() {
    // RFC 8200 4.5/2
    let mut host = host6(|config| config.neighbour_lifetime = Duration::from_secs(1000));
    host.say6(PEER6, b"");
    host.take(&advertisement(PEER6, Some(PEER_MAC), true, true));
    let pieces = fragments6(protocol::UDP, &udp6(53, &[1; 3000]), 1448, 77);
    host.take(&pieces[0]);
    host.take(&fragments6(protocol::UDP, &udp6(53, &[1; 3000]), 1448, 78)[1]);
    let out = host.wait(Duration::from_secs(61));
    assert_eq!(out.len(), 1);
    let (message, quote) = error(&out[0]);
    assert_eq!(message, Message::TimeExceeded(1));
    assert_eq!(quote, pieces[0][14..][..quote.len()]);
    assert_eq!(host.domain.counters.reassembly_timeouts, 2);
}

#[test]
fn fragments_without_end_are_bounded() {
    let mut host = host6(|config| config.reassembly_bytes = 100_000);
    for name in 0..10_000 {
        host.take(&fragments6(protocol::UDP, &udp6(53, &[1; 3000]), 1448, name)[0]);
        assert!(host.domain.ip_bytes() <= 100_000);
    }
    assert!(host.domain.counters.reassembly_evicted > 9_000);
}

#[test]
fn routers_are_reached_by_their_link_local_address() {
    let router: Ipv6Addr = "fe80::99".parse().unwrap();
    let mut host = lonely6(|config| {
        let (network, gateway) = (Ipv6Addr::UNSPECIFIED.into(), router.into());
        config.routes = vec![crate::config::RouteConfig::new(network, 0, gateway)];
    });
    let (_, header, payload) = checked6(&host.say6("2606:4700::1111".parse().unwrap(), b"x")[0]);
    let Ok(ndp::Message::Solicitation { target, .. }) = ndp::Message::parse(&payload) else {
        panic!("no question: {header:?}")
    };
    assert_eq!((target, header.source), (router, our_link_local()));
    let message = ndp::Message::Advertisement {
        target,
        target_link: Some(PEER_MAC),
        router: true,
        solicited: true,
        overrides: true,
    };
    let (link, header, _) = checked6(&host.take(&discovery(router, our_link_local(), &message))[0]);
    //= RFC 6724 5: the source is of the destination's scope
    assert_eq!((link.destination, header.source), (PEER_MAC, US6));
    // IPv4 has no part in it.
    assert!(host.say("192.0.2.1".parse().unwrap(), b"x").is_empty());
    assert!(host.say(PEER, b"x").len() == 1, "a question for the neighbour");
}

#[test]
fn the_traffic_class_comes_and_goes() {
    use wire::ipv4::CE;
    let mut host = listening();
    // An echo has the class of its request, but for the bits of congestion (RFC 3168 5).
    let header = Header { traffic_class: 0xb8 | CE, ..ip6(protocol::ICMPV6) };
    let out = host.take(&datagram6(header, &icmp6(128, 0, &[0, 1, 0, 2])));
    assert_eq!(checked6(&out[0]).1.traffic_class, 0xb8);
    // So has what an error quotes, with them.
    let header = Header { traffic_class: 0xb8 | CE, ..ip6(protocol::UDP) };
    let (_, quote) = error(&host.take(&datagram6(header, &udp6(54, b"x")))[0]);
    assert_eq!(Header::parse(&quote).expect("quoted").traffic_class, 0xb8 | CE);
}

#[test]
fn groups_are_reached_on_the_link_only() {
    let mut host = host6(|_| ());
    let (link, header, _) = checked6(&host.say6("ff02::fb".parse().unwrap(), b"x")[0]);
    assert_eq!(link.destination.0, [0x33, 0x33, 0, 0, 0, 0xfb]);
    assert_eq!((header.hop_limit, header.source), (1, our_link_local()));
    for nowhere in ["::", "::1", "2606:4700::1111"] {
        assert!(host.say6(nowhere.parse().unwrap(), b"x").is_empty(), "{nowhere}");
    }
}

/// Who is on one link only is heard by the addresses of that link only: from another one, the
/// answer would go to whoever has the peer's address there.
#[test]
fn a_link_local_peer_reaches_what_its_link_has() {
    let address = |text: &str| text.parse::<Ipv6Addr>().unwrap();
    let (second, owned) = (address("2001:db8:2::1"), address("2001:db8:9::5"));
    let mut host = host6(|config| {
        let mut interface = config.interfaces[0].clone();
        interface.addresses = vec![(second.into(), 64), (address("fe80::7").into(), 64)];
        config.interfaces.push(interface);
        let network = address("2001:db8:9::").into();
        config.owned = vec![crate::OwnedPrefix { interface: 1, network, prefix: 48 }];
    });
    host.call(Call::BindUdp(end6(Ipv6Addr::UNSPECIFIED, 53), ()));
    let source = address("fe80::9");
    let ours = [(US6, 0), (our_link_local(), 0), (second, 1), (address("fe80::7"), 1), (owned, 1)];
    for (destination, link) in ours {
        let mut bytes = udp6(53, b"x");
        bytes[6..8].fill(0);
        let bytes = summed(source, destination, protocol::UDP, 6, bytes);
        let header = Header { source, destination, ..ip6(protocol::UDP) };
        for index in [0, 1] {
            let mut frame = wire::Packet::copy_of(&datagram6(header, &bytes));
            frame.meta_mut().interface = index;
            host.take_packet(frame);
            let came = !std::mem::take(&mut host.domain.app.datagrams).is_empty();
            assert_eq!(came, index == link, "{destination} by {index}");
        }
    }
    assert_eq!(host.domain.counters.dropped(DropReason::IpNotOurs), 5);
}

#[test]
fn the_largest_datagrams_go_in_fragments() {
    let mut host = host6(|config| config.interfaces[0].mtu = 65_535);
    for len in [65_487, 65_488, 65_507] {
        let out = host.say6(PEER6, &vec![1; len]);
        assert_eq!(out.len(), if len == 65_487 { 1 } else { 2 }, "{len}");
        let total: usize = out.iter().map(|frame| parse6(frame).2.len()).sum();
        assert_eq!(total, len + udp::LEN + if len == 65_487 { 0 } else { 16 });
    }
}

#[test]
fn connections_open_and_learn_the_path() {
    // RFC 4443 3.2/1
    use wire::tcp::{Flags, Header as Tcp, Options};
    let mut host = host6(|_| ());
    host.call(Call::Listen(end6(Ipv6Addr::UNSPECIFIED, 80), ()));
    let mut segment = Tcp {
        source_port: 5000,
        destination_port: 80,
        seq: wire::Seq(999),
        ack: wire::Seq(0),
        flags: Flags::SYN,
        window: 10_000,
        urgent: 0,
        options: Options { mss: Some(9000), ..Options::NONE },
    };
    let out = host.take(&tcp6(&segment, &[]));
    let (_, header, payload) = checked6(&out[0]);
    let (answer, _) = Tcp::parse(&payload).expect("TCP");
    assert_eq!((header.next_header, answer.ack), (protocol::TCP, wire::Seq(1000)));
    assert_eq!(answer.options.mss, Some(1440));
    (segment.seq, segment.ack) = (wire::Seq(1000), answer.seq + 1);
    (segment.flags, segment.options) = (Flags::ACK, Options::NONE);
    host.take(&tcp6(&segment, &[]));
    assert_eq!(host.domain.app.opened[0].1.remote, end6(PEER6, 5000));
    // To a port where nobody is: a reset.
    segment.destination_port = 81;
    let out = host.take(&tcp6(&segment, &[]));
    assert!(Tcp::parse(&checked6(&out[0]).2).expect("TCP").0.flags.rst());
}

#[test]
fn identifications_of_fragments_come_again_when_32_bits_are_over_only() {
    // RFC 8200 4.5/7
    let mut host = host6(|_| ());
    let bytes = vec![7; 1600];
    let mut say = || {
        let out = host.say6(PEER6, &bytes);
        let names: Vec<[u8; 4]> =
            out.iter().filter_map(|frame| parse6(frame).2[4..].first_chunk().copied()).collect();
        assert_eq!((names.len(), names[0]), (2, names[1]));
        names[0]
    };
    let seen: std::collections::HashSet<_> = (0..70_000).map(|_| say()).collect();
    assert_eq!(seen.len(), 70_000);
}

/// An error quotes a datagram of mapped addresses: it is not about a flow of IPv4.
#[test]
fn an_error_about_mapped_addresses_is_about_nothing() {
    let mut host = host6(|_| ());
    host.call(Call::BindUdp(crate::harness::end(US, 53), ()));
    host.domain.app.connected = Some(crate::harness::end(PEER, 4000));
    let mut quote = vec![0; LEN];
    Header::new(US.to_ipv6_mapped(), PEER.to_ipv6_mapped(), protocol::UDP, 8).emit(&mut quote);
    quote.extend([0, 53, 0x0f, 0xa0, 0, 8, 0, 0]);
    for (kind, code, field) in [(1, 4, 0u32), (2, 0, 1280)] {
        let rest = [&field.to_be_bytes()[..], &quote].concat();
        let told = datagram6(ip6(protocol::ICMPV6), &icmp6(kind, code, &rest));
        host.drops(&told, DropReason::IcmpMalformed);
    }
    assert!(host.domain.app.errors.is_empty(), "{:?}", host.domain.app.errors);
    assert_eq!(host.config().paths.path(PEER.into()).mtu, None);
}
