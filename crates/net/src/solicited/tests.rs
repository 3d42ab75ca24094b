//! Of the groups by which neighbours ask for our addresses routers and switches are told.

use super::*;
use crate::discovery::{Dad, Link};
use crate::groups::{Filter, MAX_GROUPS};
use crate::harness::v6::*;
use crate::harness::{Host, MAC};
use crate::{Call, InterfaceConfig};
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::group::Kind;
use wire::protocol;

/// Our address whose group no other of ours has.
const OWN: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x77);
const IS_EXCLUDE: u8 = Kind::IsExclude as u8;
const TO_EXCLUDE: u8 = Kind::ToExclude as u8;
const TO_INCLUDE: u8 = Kind::ToInclude as u8;

fn group(of: Ipv6Addr) -> Address {
    ipv6::solicited_node(of).into()
}

/// What the reports among these frames say: kinds and groups, by group.
fn told(frames: &[Packet]) -> Vec<(u8, Address)> {
    let mut told = Vec::new();
    for frame in frames.iter().filter(|frame| is_report(frame)) {
        let (_, header, bytes) = parse6(frame);
        assert!(Address::from(header.source).is_link_local_v6());
        let records = bytes[8..][8..].chunks(20);
        told.extend(records.map(|record| {
            assert_eq!(record[1..4], [0, 0, 0], "no sources");
            let group: [u8; 16] = record[4..].try_into().expect("an address");
            (record[0], Address::from(Ipv6Addr::from(group)))
        }));
    }
    told.sort_by_key(|(_, group)| *group);
    told
}

/// The host has these addresses from now on; what it tells of that.
fn publish(host: &mut Host, change: impl FnOnce(&mut InterfaceConfig)) -> Vec<(u8, Address)> {
    let mut config = host.config().clone();
    change(&mut config.interfaces[0]);
    let config = Arc::new(config);
    config.host.publish(&config);
    told(&host.call(Call::Look))
}

/// The answer to a router that asks for all groups.
fn answer(host: &mut Host) -> Vec<(u8, Address)> {
    let router = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 9);
    let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let query = [&[130, 0, 0, 0, 0, 100, 0, 0][..], &[0; 16], &[2, 125, 0, 0]].concat();
    let query = summed(router, all, protocol::ICMPV6, 2, query);
    let header =
        ipv6::Header { source: router, destination: all, hop_limit: 1, ..ip6(protocol::ICMPV6) };
    let mut frame = datagram6(header, &query);
    frame[..6].copy_from_slice(&ipv6::ethernet_group(all).0);
    assert!(host.take(&frame).is_empty());
    told(&host.wait(Duration::from_millis(100)))
}

#[test]
fn they_are_told_at_the_start_and_when_addresses_come_and_go() {
    // RFC 4861 7.2.1/1
    let mut host = unheard6(|config| config.interfaces[0].addresses.push((OWN.into(), 64)));
    // Two addresses have one group.
    assert_eq!(group(US6), group(our_link_local()));
    let both = |kind| vec![(kind, group(US6)), (kind, group(OWN))];
    assert_eq!(told(&host.call(Call::Look)), both(TO_EXCLUDE));
    assert_eq!(told(&host.wait(Duration::from_secs(1))), both(TO_EXCLUDE));
    assert!(host.wait(Duration::from_secs(60)).is_empty());
    assert_eq!(answer(&mut host), both(IS_EXCLUDE));

    let has = |ours: Ipv6Addr| move |of: &(Address, u8)| of.0 == ours.into();
    let gone = publish(&mut host, |interface| interface.addresses.retain(|a| !has(OWN)(a)));
    assert_eq!(gone, [(TO_INCLUDE, group(OWN))]);
    assert_eq!(told(&host.wait(Duration::from_secs(1))), gone);
    assert_eq!(answer(&mut host), [(IS_EXCLUDE, group(US6))]);
    // The group of one that goes is another's as well.
    let gone = publish(&mut host, |interface| interface.addresses.retain(|a| !has(US6)(a)));
    assert!(gone.is_empty());
    let here = publish(&mut host, |interface| interface.addresses.push((OWN.into(), 64)));
    assert_eq!(here, [(TO_EXCLUDE, group(OWN))]);
}

#[test]
fn an_address_is_asked_for_when_its_group_is_joined() {
    // RFC 4862 5.4.2/2
    for dad in [Dad::Optimistic, Dad::Strict] {
        for looks in [true, false] {
            let mut host = lonely6(|config| {
                let given = vec![our_link_local(), US6];
                config
                    .discovery
                    .begin(0, Link { ethernet: MAC, mtu: 1500, dad, slaac: None, given });
            });
            host.call(Call::Look);
            host.wait(Duration::from_secs(2));
            host.config().discovery.check(0, OWN, 64);
            let out = if looks { host.call(Call::Look) } else { host.settle() };
            assert_eq!(told(&out), [(TO_EXCLUDE, group(OWN))]);
            let asks = out.iter().position(|frame| !is_report(frame)).expect("a question");
            assert_eq!(Address::from(parse6(&out[asks]).1.destination), group(OWN));
            assert_eq!((asks, out.len()), (1, 2), "behind the report");
        }
    }
}

#[test]
fn they_do_not_count_and_are_none_of_a_sockets() {
    let mut host = host6(|config| config.interfaces[0].addresses.push((OWN.into(), 64)));
    let groups = host.config().groups.clone();
    let wants = || groups.wants(Some(0), group(OWN), PEER6.into());
    assert_eq!((groups.count(), wants()), (0, false));
    // A socket that joins and leaves one changes nothing for others.
    groups.set(1, 0, group(OWN), Filter::any()).expect("room");
    assert_eq!((groups.count(), wants()), (1, true));
    groups.set(1, 0, group(OWN), Filter::none()).expect("it leaves");
    assert_eq!((groups.count(), wants()), (0, false));
    assert!(host.call(Call::Look).is_empty());
    // Sockets have all the room that they had.
    let other = |n: usize| Ipv6Addr::from_bits(0xff05 << 112 | n as u128).into();
    for n in 0..=MAX_GROUPS {
        assert_eq!(groups.set(1, 0, other(n), Filter::any()).is_ok(), n < MAX_GROUPS, "{n}");
    }
    assert!(groups.set(1, 0, group(OWN), Filter::any()).is_err());
    groups.leave_all(1);
    host.call(Call::FlushUdp(()));
    host.wait(Duration::from_secs(2));
    assert_eq!(answer(&mut host), [(IS_EXCLUDE, group(US6)), (IS_EXCLUDE, group(OWN))]);
}

#[test]
fn where_there_are_no_neighbours_there_are_none() {
    let mut host = lonely6(|config| config.interfaces[0].is_ethernet = false);
    assert!(host.call(Call::Look).is_empty());
    assert!(!host.config().groups.answers_by(&[(0, group(US6))].into()));
    assert!(host.config().groups.answers_by(&BTreeSet::new()));
}
