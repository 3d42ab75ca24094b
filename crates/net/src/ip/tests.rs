use crate::harness::*;
use crate::{Call, DropReason, InterfaceConfig};
use proptest::prelude::*;
use std::net::Ipv4Addr;
use std::time::Duration;
use wire::{checksum, ipv4, protocol, udp};

mod one_block;
mod owned;
mod raw;
mod rejected;

/// A host with a UDP socket on every address, port 53.
fn listening() -> Host {
    let mut host = Host::new(|_| ());
    host.call(Call::BindUdp(end(Ipv4Addr::UNSPECIFIED, 53), ()));
    host
}

/// The bytes of the only datagram that has come.
fn received(host: &mut Host) -> Vec<u8> {
    let mut all = std::mem::take(&mut host.domain.app.datagrams);
    assert_eq!(all.len(), 1);
    all.remove(0).payload.iter().flat_map(|p| p.to_vec()).collect()
}

#[test]
fn padding_is_cut_off_and_options_are_passed_over() {
    // RFC 9293 MUST-50
    // RFC 1122 3.2.1.8/1
    let mut host = listening();
    let mut frame = datagram(ip(protocol::UDP), &udp_bytes(53, b"data"));
    frame.extend([0xee; 30]);
    host.take(&frame);
    assert_eq!(received(&mut host), b"data");

    let udp = udp_bytes(53, b"behind options");
    let mut header = ip(protocol::UDP);
    header.header_len = 60;
    header.total_len = 60 + udp.len() as u16;
    let mut bytes = vec![0; 20];
    header.emit(&mut bytes);
    bytes.extend([1; 40]);
    bytes[10..12].fill(0);
    let sum = !checksum::sum(&bytes);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes.extend(udp);
    host.take(&framed(link(0x0800), &bytes));
    assert_eq!(received(&mut host), b"behind options");
}

#[test]
fn bad_headers() {
    // RFC 1122 3.2.1.1/1, 3.2.1.2/1
    let mut host = listening();
    let good = datagram(ip(protocol::UDP), &udp_bytes(53, b"data"));
    let mut spoilt = good.clone();
    spoilt[14 + 8] ^= 1;
    host.drops(&spoilt, DropReason::IpChecksum);
    host.drops(&good[..14 + 19], DropReason::IpMalformed);
    host.drops(&good[..good.len() - 1], DropReason::IpMalformed);
    let mut version = good.clone();
    version[14] = 0x65;
    host.drops(&version, DropReason::IpMalformed);
    for len in [0x44, 0x4f] {
        let mut short = good[..14 + 32].to_vec();
        short[14] = len;
        host.drops(&short, DropReason::IpMalformed);
    }
}

#[test]
fn martians_and_strangers() {
    // RFC 9293 MUST-63
    // RFC 1122 3.2.1.3/1, 3.2.1.3/2, 4.1.3.6/1
    martians(&mut listening());
}

/// A way to ourselves lets nobody else in.
#[test]
fn martians_and_strangers_beside_loopback() {
    // RFC 1122 3.2.1.3/4
    let mut host = Host::new(|config| {
        config.loopback = Some(1);
        let addresses = vec![(Ipv4Addr::LOCALHOST.into(), 8)];
        config.interfaces.push(InterfaceConfig { is_ethernet: false, addresses, ..interface() });
    });
    host.call(Call::BindUdp(end(Ipv4Addr::UNSPECIFIED, 53), ()));
    martians(&mut host);
}

fn martians(host: &mut Host) {
    let bytes = udp_bytes(53, b"x");
    let nobodys = ["127.0.0.1", "0.0.0.0", "0.1.2.3", "240.0.0.1", "224.0.0.5"];
    // Our own among them, as in a LAND attack.
    for source in nobodys.into_iter().chain(["255.255.255.255", "10.0.0.255", "10.0.0.1"]) {
        let header = ipv4::Header { source: source.parse().unwrap(), ..ip(protocol::UDP) };
        host.drops(&datagram(header, &bytes), DropReason::IpSource);
    }
    for destination in ["10.0.0.3", "10.0.1.255", "127.0.0.1"] {
        let destination = destination.parse().unwrap();
        let header = ipv4::Header { destination, ..ip(protocol::UDP) };
        host.drops(&datagram(header, &bytes), DropReason::IpNotOurs);
    }
}

#[test]
fn broadcasts_reach_udp_and_are_never_answered() {
    // RFC 9293 MUST-57
    // RFC 1122 3.2.2/3
    let mut host = listening();
    for destination in ["10.0.0.255", "255.255.255.255", "224.0.0.1"] {
        let destination = destination.parse().unwrap();
        let header = ipv4::Header { destination, ..ip(protocol::UDP) };
        let frame = |port| {
            let mut bytes = udp_bytes(port, b"all");
            bytes[6..8].fill(0);
            datagram(header, &bytes)
        };
        host.take(&frame(53));
        assert_eq!(received(&mut host), b"all");
        host.drops(&frame(54), DropReason::UdpNoPort);
        let tcp = ipv4::Header { protocol: protocol::TCP, ..header };
        host.drops(&datagram(tcp, &[0; 20]), DropReason::TcpGroup);
        let unknown = ipv4::Header { protocol: 99, ..header };
        host.drops(&datagram(unknown, &[0; 20]), DropReason::ProtocolUnknown);
        let echo = ipv4::Header { protocol: protocol::ICMP, ..header };
        assert!(host.take(&datagram(echo, &icmp_bytes(8, 0, &[0; 4]))).is_empty());
    }
}

#[test]
fn unknown_protocols_are_told_so() {
    // RFC 1122 3.2.2/2, 3.2.2.1/1
    let mut host = listening();
    let out = host.take(&datagram(ip(99), &[1; 40]));
    assert_eq!(host.domain.counters.dropped(DropReason::ProtocolUnknown), 1);
    let (header, bytes) = parse(&out[0]);
    assert_eq!((header.protocol, header.destination), (protocol::ICMP, PEER));
    assert_eq!(bytes[..2], [3, 2]);
    let quoted = ipv4::Header::parse(&bytes[8..]).expect("quote");
    assert_eq!((quoted.protocol, quoted.source, quoted.destination), (99, PEER, US));
    assert_eq!(bytes[28..], [1; 40]);
}

/// The fragments of one UDP datagram of `len` bytes, cut every `cut` bytes.
fn fragments(len: usize, cut: usize, identification: u16) -> (Vec<u8>, Vec<Vec<u8>>) {
    let data: Vec<u8> = (0..len).map(|i| (i * 7 + i / 256) as u8).collect();
    let whole = udp_bytes(53, &data);
    let pieces = whole.chunks(cut).enumerate().map(|(i, piece)| {
        let header = ipv4::Header {
            identification,
            fragment_offset: (i * cut) as u16,
            more_fragments: i * cut + piece.len() < whole.len(),
            ..ip(protocol::UDP)
        };
        datagram(header, piece)
    });
    (data, pieces.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn fragments_in_any_order_some_twice(
        len in 100usize..9000,
        cut in 1usize..185,
        order in prop::collection::vec(any::<prop::sample::Index>(), 400),
    ) {
        // RFC 1122 3.2.1.4/1, 3.3.2/1
        // No more pieces than reassembly takes.
        let cut = (cut * 8).max((len / 100).next_multiple_of(8));
        let mut host = listening();
        let (data, pieces) = fragments(len, cut, 9);
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
        for next in left {
            host.take(&pieces[next]);
        }
        prop_assert_eq!(received(&mut host), data);
        prop_assert_eq!(host.domain.counters.delivered, 1);
        prop_assert_eq!(host.domain.ip_bytes(), 0);
    }
}

#[test]
fn fragments_of_two_datagrams_do_not_mix() {
    let mut host = listening();
    let (_, a) = fragments(3000, 1480, 1);
    let (data, b) = fragments(3000, 1480, 2);
    for frame in [&a[0], &b[1], &b[2], &a[2]] {
        host.take(frame);
    }
    assert!(host.domain.app.datagrams.is_empty());
    host.take(&b[0]);
    assert_eq!(received(&mut host), data);
}

#[test]
fn overlaps_end_the_datagram() {
    let mut host = listening();
    let (_, pieces) = fragments(5000, 1480, 3);
    let piece = |offset, len: usize, more_fragments| {
        let header = ipv4::Header {
            identification: 3,
            fragment_offset: offset,
            more_fragments,
            ..ip(protocol::UDP)
        };
        datagram(header, &vec![0; len])
    };
    for bad in [
        piece(1472, 1480, true),
        piece(8, 16, true),
        piece(0, 1472, true),
        piece(0, 2960, true),
        // Another end, before and behind what has come.
        piece(1480, 100, false),
        piece(4440, 1, false),
    ] {
        host.take(&pieces[1]);
        host.take(&pieces[0]);
        host.take(&pieces[3]);
        host.drops(&bad, DropReason::FragmentBad);
        assert_eq!(host.domain.ip_bytes(), 0, "all of it is gone");
    }
    assert!(host.domain.app.datagrams.is_empty());
}

#[test]
fn fragments_that_cannot_be() {
    let mut host = listening();
    let piece = |fragment_offset, len: usize, more_fragments| {
        let header = ipv4::Header { fragment_offset, more_fragments, ..ip(protocol::UDP) };
        datagram(header, &vec![0; len])
    };
    host.drops(&piece(0, 9, true), DropReason::FragmentBad);
    host.drops(&piece(0, 0, true), DropReason::FragmentBad);
    host.drops(&piece(65528, 1480, false), DropReason::FragmentBad);
    host.drops(&piece(65528, 8, true), DropReason::FragmentBad);
    assert_eq!(host.domain.ip_bytes(), 0);
}

#[test]
fn fragments_are_bounded_and_do_not_wait_for_ever() {
    // RFC 1122 3.3.2/2
    let mut host = Host::new(|config| config.reassembly_bytes = 100_000);
    for identification in 0..1000 {
        host.take(&fragments(3000, 1480, identification).1[0]);
        assert!(host.domain.ip_bytes() <= 100_000);
    }
    assert!(host.domain.ip_bytes() > 50_000);
    host.wait(Duration::from_secs(61));
    assert_eq!(host.domain.ip_bytes(), 0);
    assert!(host.domain.counters.reassembly_timeouts > 0);
    // One datagram alone never takes more than there is, either.
    for offset in 0..2000u16 {
        let header = ipv4::Header {
            fragment_offset: offset * 16,
            more_fragments: true,
            ..ip(protocol::UDP)
        };
        host.take(&datagram(header, &[0; 8]));
        assert!(host.domain.ip_bytes() <= 100_000);
    }
}

#[test]
fn pings_of_any_length_come_back() {
    // RFC 1122 3.2.2.6/1, 3.2.2.6/2
    let mut host = Host::new(|_| ());
    for len in [0, 1, 56, 1472] {
        let request = icmp_bytes(8, 0, &[&[1, 2, 3, 4], &vec![5; len][..]].concat());
        let out = host.take(&datagram(ip(protocol::ICMP), &request));
        let (header, reply) = parse(&out[0]);
        assert_eq!((header.source, header.destination, header.ttl), (US, PEER, 64));
        assert_eq!((reply[0], reply[1]), (0, 0));
        assert!(checksum::is_right(checksum::sum(&reply)));
        assert_eq!(reply[4..], request[4..]);
    }
}

#[test]
fn a_fragmented_ping_comes_back_in_fragments() {
    let mut host = Host::new(|_| ());
    let request = icmp_bytes(8, 0, &vec![7; 5000]);
    let mut out = Vec::new();
    for (i, piece) in request.chunks(1480).enumerate() {
        let header = ipv4::Header {
            fragment_offset: (i * 1480) as u16,
            more_fragments: (i + 1) * 1480 < request.len(),
            ..ip(protocol::ICMP)
        };
        out = host.take(&datagram(header, piece));
    }
    let pieces: Vec<_> = out.iter().map(parse).collect();
    let mut reply = Vec::new();
    for (header, bytes) in &pieces {
        assert_eq!(usize::from(header.fragment_offset), reply.len());
        assert_eq!(header.identification, pieces[0].0.identification);
        reply.extend(bytes);
        assert_eq!(header.more_fragments, reply.len() < request.len());
    }
    assert!(checksum::is_right(checksum::sum(&reply)));
    assert_eq!(reply[4..], request[4..]);
}

#[test]
fn bad_icmp() {
    let mut host = Host::new(|_| ());
    let mut spoilt = icmp_bytes(8, 0, &[0; 60]);
    spoilt[20] ^= 1;
    host.drops(&datagram(ip(protocol::ICMP), &spoilt), DropReason::IcmpMalformed);
    host.drops(&datagram(ip(protocol::ICMP), &[8, 0, 0, 0]), DropReason::IcmpMalformed);
    // An error that quotes nothing, or something that cannot be ours.
    for quote in [vec![], vec![0; 3], vec![0x45; 27], datagram(ip(6), &[0; 8])[14..].to_vec()] {
        let rest = [vec![0; 4], quote].concat();
        host.drops(
            &datagram(ip(protocol::ICMP), &icmp_bytes(3, 1, &rest)),
            DropReason::IcmpMalformed,
        );
    }
}

#[test]
fn errors_are_so_many_a_second() {
    let mut host = Host::new(|config| config.errors_per_second = 80);
    let lost = datagram(ip(protocol::UDP), &udp_bytes(9, b"x"));
    let count = |host: &mut Host| (0..50).map(|_| host.take(&lost).len()).sum::<usize>();
    assert_eq!(count(&mut host), 10);
    host.wait(Duration::from_millis(500));
    assert_eq!(count(&mut host), 5);
    host.wait(Duration::from_millis(1000));
    assert_eq!(count(&mut host), 10);
    let counters = &host.domain.counters;
    assert_eq!(counters.dropped(DropReason::UdpNoPort), 150);
    assert_eq!((counters.icmp_errors_out, counters.icmp_errors_limited), (25, 125));
}

#[test]
fn echo_requests_are_answered_so_many_a_second() {
    let mut host = Host::new(|config| config.errors_per_second = 80);
    let request = datagram(ip(protocol::ICMP), &icmp_bytes(8, 0, &[0; 4]));
    assert_eq!((0..50).map(|_| host.take(&request).len()).sum::<usize>(), 10);
    let counters = &host.domain.counters;
    assert_eq!((counters.echo_replies_out, counters.echo_replies_limited), (10, 40));
}

#[test]
fn a_datagram_whose_fragments_do_not_come_is_told_of() {
    // RFC 1122 3.3.2/3
    let mut host = Host::new(|config| config.neighbour_lifetime = Duration::from_secs(1000));
    let (_, pieces) = fragments(3000, 1480, 77);
    host.take(&pieces[0]);
    // RFC 1122 3.3.2: not if the first fragment is missing.
    host.take(&fragments(3000, 1480, 78).1[1]);
    assert!(host.wait(Duration::from_secs(59)).is_empty());
    let out = host.wait(Duration::from_secs(2));
    let [(header, bytes)] = out.iter().map(parse).collect::<Vec<_>>().try_into().expect("one");
    assert_eq!((header.protocol, header.destination), (protocol::ICMP, PEER));
    assert_eq!(bytes[..2], [11, 1]);
    assert!(checksum::is_right(checksum::sum(&bytes)));
    let quoted = ipv4::Header::parse(&bytes[8..]).expect("quote");
    assert_eq!((quoted.identification, quoted.more_fragments), (77, true));
    assert_eq!(bytes[28..], pieces[0][34..][..bytes.len() - 28]);
    assert_eq!(host.domain.counters.reassembly_timeouts, 2);
}

#[test]
fn fragments_of_a_ping_are_told_of_and_of_an_error_not() {
    // RFC 1122 3.2.2/3
    for (kind, answers) in [(8, 1), (3, 0)] {
        let mut host = Host::new(|config| config.neighbour_lifetime = Duration::from_secs(1000));
        let header = ipv4::Header { more_fragments: true, ..ip(protocol::ICMP) };
        host.take(&datagram(header, &icmp_bytes(kind, 0, &[0; 36])));
        assert_eq!(host.wait(Duration::from_secs(61)).len(), answers);
    }
}

#[test]
fn identifications_are_counted_for_each_destination() {
    // RFC 1122 3.3.3/1
    let mut host = Host::new(|_| ());
    let others = [3, 4, 5].map(|last| Ipv4Addr::new(10, 0, 0, last));
    others
        .iter()
        .for_each(|other| drop(host.take(&arp_frame(wire::arp::Operation::Request, *other, US))));
    let say = |host: &mut Host, to| parse(&host.say(to, b"x")[0]).0.identification;
    let first = say(&mut host, PEER);
    let begins = others.map(|other| say(&mut host, other).wrapping_sub(first));
    assert_eq!(say(&mut host, PEER), first.wrapping_add(1));
    assert!(begins.iter().all(|step| !(1..=8).contains(step)), "{begins:?}");
}

#[test]
fn groups_are_reached_on_the_link_only() {
    let mut host = Host::new(|_| ());
    let ttl = |host: &mut Host, to| parse(&host.say(to, b"x")[0]).0.ttl;
    host.domain.app.leaving.clear();
    assert_eq!(ttl(&mut host, Ipv4Addr::new(10, 0, 0, 255)), 64);
    assert_eq!(ttl(&mut host, PEER), 64);
    let mut everywhere = Host::new(|config| {
        let (network, gateway) = (Ipv4Addr::UNSPECIFIED.into(), PEER.into());
        config.routes = vec![crate::config::RouteConfig::new(network, 0, gateway)];
    });
    //= RFC 1112 6.1: the default time to live of multicast datagrams is 1
    assert_eq!(ttl(&mut everywhere, Ipv4Addr::new(224, 0, 0, 251)), 1);
    // Some addresses nothing leaves for, whatever the routes say.
    for nowhere in ["127.0.0.1", "127.9.9.9", "240.0.0.1", "255.0.0.1", "0.1.2.3", "0.0.0.0"] {
        assert!(everywhere.say(nowhere.parse().unwrap(), b"x").is_empty(), "{nowhere}");
    }
    assert_eq!(everywhere.domain.counters.out_dropped, 6);
}

#[test]
fn a_frame_to_a_group_brings_nothing_for_one_host() {
    // RFC 1122 2.4/1, 3.3.6/1
    let mut host = listening();
    for protocol in [protocol::UDP, protocol::TCP, protocol::ICMP] {
        let mut frame = datagram(ip(protocol), &udp_bytes(53, b"x"));
        // The cache of accepted addresses does not let it pass either.
        for _ in 0..2 {
            host.take(&datagram(ip(protocol::UDP), &udp_bytes(53, b"x")));
            frame[..6].fill(0xff);
            host.drops(&frame, DropReason::IpLinkGroup);
            frame[..6].copy_from_slice(&[1, 0, 0x5e, 0, 0, 1]);
            host.drops(&frame, DropReason::IpLinkGroup);
        }
    }
}

#[test]
fn large_datagrams_leave_in_fragments() {
    let mut host = Host::new(|config| config.interfaces[0].mtu = 576);
    let data: Vec<u8> = (0..3000).map(|i| (i * 3) as u8).collect();
    let out = host.say(PEER, &data);
    let mut bytes = Vec::new();
    for frame in &out {
        let (header, piece) = parse(frame);
        assert!(header.total_len <= 576 && !header.dont_fragment);
        assert_eq!(usize::from(header.fragment_offset), bytes.len());
        bytes.extend(piece);
    }
    let header = udp::Header::parse(&bytes).expect("UDP");
    assert_eq!(usize::from(header.length), bytes.len());
    assert_eq!(bytes[udp::LEN..], data);
    // Two datagrams do not share an identification.
    let again = host.say(PEER, &data);
    assert_ne!(parse(&out[0]).0.identification, parse(&again[0]).0.identification);
}

#[test]
fn no_route_and_broadcast_out() {
    let mut host = listening();
    assert!(host.say(Ipv4Addr::new(192, 0, 2, 1), b"x").is_empty());
    assert_eq!(host.domain.counters.out_dropped, 1);
    let out = host.say(Ipv4Addr::new(10, 0, 0, 255), b"x");
    assert_eq!(out[0].to_vec()[..6], [0xff; 6]);
}

#[test]
fn datagrams_that_are_complete_leave_no_names_behind() {
    let mut host = listening();
    for identification in 0..20_000 {
        for frame in fragments(100, 56, identification).1 {
            host.take(&frame);
        }
        host.domain.app.datagrams.clear();
        assert!(host.domain.reassembly_names() <= 512);
    }
    assert_eq!(host.domain.counters.delivered, 20_000);
    assert!(host.domain.next_timeout().is_none_or(|at| at > host.now));
}
