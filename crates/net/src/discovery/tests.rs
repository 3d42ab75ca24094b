//! What a host finds out, by frames and by time.

mod full;
mod routers;
mod temporary;

use super::*;
use crate::DropReason;
use crate::harness::v6::*;
use crate::harness::{Host, MAC, PEER_MAC};
use std::net::Ipv6Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::ndp::{Message, Options, Said};
use wire::{EthernetAddress, Packet, ipv6, protocol};

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// Notes what it is told.
#[derive(Default)]
pub(super) struct Notes(Mutex<Vec<Change>>);

impl Follow for Notes {
    fn follow(&self, changes: Vec<Change>) -> Vec<(u16, Ipv6Addr)> {
        self.0.lock().extend(changes);
        Vec::new()
    }
}

impl Notes {
    pub(super) fn take(&self) -> Vec<Change> {
        std::mem::take(&mut self.0.lock())
    }
}

/// A host whose interface takes part so, and what it tells.
pub(super) fn host(dad: Dad, slaac: Option<bool>) -> (Host, Arc<Notes>) {
    let notes = Arc::<Notes>::default();
    let follower: Arc<dyn Follow> = notes.clone();
    let host = lonely6(|config| {
        config.discovery.attach(Arc::downgrade(&follower));
        let slaac = slaac.map(|temporary| Slaac { key: [1, 2], temporary });
        let link = Link { ethernet: MAC, mtu: 1500, dad, slaac, given: vec![our_link_local()] };
        config.discovery.begin(0, link);
    });
    (host, notes)
}

/// The message in a frame of ours, whose hop limit and sum have to be right.
pub(super) fn said(frame: &Packet) -> (ipv6::Header, Vec<u8>) {
    let (link, header, payload) = checked6(frame);
    assert_eq!((header.next_header, header.hop_limit), (protocol::ICMPV6, 255));
    if header.destination.is_multicast() {
        assert_eq!(link.destination, ipv6::ethernet_group(header.destination));
    }
    Message::parse(&payload).expect("a message");
    (header, payload)
}

/// The nonce of a probe for `target`.
fn probe(frame: &Packet, target: Ipv6Addr) -> [u8; 6] {
    let (header, payload) = said(frame);
    assert_eq!(header.source, Ipv6Addr::UNSPECIFIED);
    assert_eq!(header.destination, ipv6::solicited_node(target));
    let message = Message::Solicitation { target, source_link: None };
    assert_eq!(Message::parse(&payload), Ok(message));
    let nonce = Options::of_neighbour(&payload).iter().find_map(|option| match option {
        Said::Nonce(nonce) => Some(nonce),
        _ => None,
    });
    nonce.expect("RFC 7527")
}

/// A frame of somebody who checks `target`, with this nonce.
fn probe_of_another(target: Ipv6Addr, nonce: Option<[u8; 6]>) -> Vec<u8> {
    let mut bytes = vec![0; 24];
    Message::Solicitation { target, source_link: None }.emit(&mut bytes);
    if let Some(nonce) = nonce {
        bytes.extend([14, 1]);
        bytes.extend(nonce);
    }
    frame_of(Ipv6Addr::UNSPECIFIED, ipv6::solicited_node(target), bytes)
}

/// A frame with a message of neighbour discovery.
pub(super) fn frame_of(source: Ipv6Addr, destination: Ipv6Addr, message: Vec<u8>) -> Vec<u8> {
    let bytes = summed(source, destination, protocol::ICMPV6, 2, message);
    let header = ipv6::Header { source, destination, hop_limit: 255, ..ip6(protocol::ICMPV6) };
    let mut frame = datagram6(header, &bytes);
    if destination.is_multicast() {
        frame[..6].copy_from_slice(&ipv6::ethernet_group(destination).0);
    }
    frame
}

const NEW: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0x77);

#[test]
fn silence_makes_an_address_ours() {
    // RFC 4862 5.4/1
    for dad in [Dad::Strict, Dad::Optimistic] {
        let (mut host, notes) = host(dad, None);
        host.config().discovery.check(0, NEW, 64);
        let out = but_reports(host.call(crate::Call::Look));
        assert_eq!(out.len(), 1);
        probe(&out[0], NEW);
        assert_eq!(host.config().discovery.tentative(), [NEW]);
        assert!(but_reports(host.wait(SECOND - Duration::from_nanos(1))).is_empty());
        assert_eq!(notes.take(), []);
        assert!(but_reports(host.wait(Duration::from_nanos(1))).is_empty());
        let mut told = vec![Change::Verified(0, NEW)];
        if dad == Dad::Strict {
            let (temporary, optimistic, prefix) = (false, false, 64);
            let add = Change::Add { interface: 0, address: NEW, prefix, temporary, optimistic };
            told.insert(0, add);
        }
        assert_eq!(notes.take(), told);
        assert!(host.config().discovery.tentative().is_empty());
    }
}

#[test]
fn who_has_it_or_wants_it_says_so() {
    // RFC 4862 5.4.3/1, 5.4.4/1
    let theirs = advertisement(NEW, Some(PEER_MAC), false, true);
    let other = [7; 6];
    for frame in [theirs, probe_of_another(NEW, None), probe_of_another(NEW, Some(other))] {
        let (mut host, notes) = host(Dad::Strict, None);
        host.config().discovery.check(0, NEW, 64);
        host.call(crate::Call::Look);
        assert!(host.take(&frame).is_empty());
        assert_eq!(notes.take(), [Change::Duplicate(0, NEW)]);
        assert!(but_reports(host.wait(10 * SECOND)).is_empty());
        assert_eq!(notes.take(), [], "it is over");
    }
    // Before our own question has gone: it is his as well.
    let (mut host, notes) = host(Dad::Strict, None);
    host.config().discovery.check(0, NEW, 64);
    host.domain.input(
        Packet::copy_of(&probe_of_another(NEW, None)),
        host.now,
        &mut crate::Egress::new(1),
    );
    assert_eq!(notes.take(), [Change::Duplicate(0, NEW)]);
}

#[test]
fn our_own_question_that_comes_back_is_no_other_station() {
    // RFC 4862 5.4.3/1
    let (mut host, notes) = host(Dad::Strict, None);
    host.config().discovery.check(0, NEW, 64);
    let out = but_reports(host.call(crate::Call::Look));
    let nonce = probe(&out[0], NEW);
    host.take(&probe_of_another(NEW, Some(nonce)));
    assert_eq!(notes.take(), []);
    //= RFC 7527 4.1: three more, a second apart
    for _ in 0..3 {
        let out = but_reports(host.wait(SECOND));
        assert_eq!(out.len(), 1);
        assert_eq!(probe(&out[0], NEW), nonce);
    }
    assert!(but_reports(host.wait(SECOND)).is_empty());
    assert_eq!(notes.take().last(), Some(&Change::Verified(0, NEW)));
}

#[test]
fn an_address_that_is_still_checked_harms_no_cache() {
    let (mut host, _notes) = host(Dad::Optimistic, None);
    let mut config = host.config().clone();
    config.optimistic = vec![US6.into(), our_link_local().into()];
    let config = Arc::new(config);
    config.host.publish(&config);
    // Our questions do not say who asks, and our answers replace nothing.
    let (_, payload) = said(&host.say6(PEER6, b"x")[0]);
    let question = Message::Solicitation { target: PEER6, source_link: None };
    assert_eq!(Message::parse(&payload), Ok(question));
    let out = host.take(&solicitation(PEER6, Some(PEER_MAC), US6));
    let answer = out.iter().map(checked6).find_map(|(_, header, payload)| {
        match (header.next_header, Message::parse(&payload)) {
            (protocol::ICMPV6, Ok(Message::Advertisement { overrides, .. })) => Some(overrides),
            _ => None,
        }
    });
    assert_eq!(answer, Some(false));
}

#[test]
fn an_address_that_was_checked_is_defended() {
    let (mut host, notes) = host(Dad::Optimistic, None);
    // Somebody checks it: he is told.
    let out = host.take(&probe_of_another(US6, Some([9; 6])));
    let (header, payload) = said(&out[0]);
    assert_eq!(header.destination, "ff02::1".parse::<Ipv6Addr>().expect("a group"));
    assert!(matches!(Message::parse(&payload), Ok(Message::Advertisement { target: US6, .. })));
    // Somebody uses it: all are told, and not again for ten seconds.
    let other = EthernetAddress([2, 0, 0, 0, 0, 0x77]);
    let claim = advertisement(US6, Some(other), false, true);
    let out = host.take(&claim);
    let (_, payload) = said(&out[0]);
    let target_link = Some(MAC);
    let (target, router, solicited, overrides) = (US6, false, false, true);
    let answer = Message::Advertisement { target, target_link, router, solicited, overrides };
    assert_eq!(Message::parse(&payload), Ok(answer));
    host.drops(&claim, DropReason::NdpConflict);
    host.wait(10 * SECOND);
    assert_eq!(host.take(&claim).len(), 1);
    assert_eq!(host.domain.counters.addresses_defended, 2);
    assert_eq!(notes.take(), []);
}

#[test]
fn a_flood_of_probes_is_a_bounded_matter() {
    let (mut host, notes) = host(Dad::Strict, None);
    for n in 0..1000u128 {
        host.config().discovery.check(0, Ipv6Addr::from_bits(u128::from(NEW) + n), 64);
    }
    assert_eq!(host.config().discovery.tentative().len(), 128);
    assert_eq!(host.config().discovery.turned_away().addresses, 1000 - 128);
    assert_eq!(but_reports(host.call(crate::Call::Look)).len(), 128);
    for n in 0..100_000u128 {
        let frame = probe_of_another(Ipv6Addr::from_bits(u128::from(PEER6) << 8 | n), None);
        assert!(host.take(&frame).is_empty());
    }
    assert_eq!(notes.take(), []);
    assert_eq!(host.domain.neighbours(), 0);
    // They are all checked at the same time.
    host.wait(SECOND);
    assert_eq!(notes.take().len(), 256);
}

/// Sixty-four packets wait for it, which is no reason to do sixty-four times what follows.
#[test]
fn a_router_that_does_not_answer_is_lost_once() {
    // RFC 4861 7.3.3/1
    let (mut host, notes) = host(Dad::Off, Some(false));
    let router = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x99);
    let all = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let said = [&[134, 0, 0, 0, 64, 0, 7, 8][..], &[0; 8]].concat();
    host.take(&frame_of(router, all, said));
    assert!(matches!(notes.take()[..], [.., Change::Routers(_)]));
    for _ in 0..64 {
        host.say6(router, b"x");
    }
    for _ in 0..4 {
        host.wait(SECOND);
    }
    assert_eq!(host.domain.counters.out_dropped, 64);
    assert!(matches!(notes.take()[..], [.., Change::Routers(_)]));
    assert_eq!(host.config().discovery.table.lock().losses, 1);
}
