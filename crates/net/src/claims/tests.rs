use super::*;
use crate::Call;
use crate::harness::{Host, MAC, PEER, PEER_MAC, US, arp_frame};
use wire::ethernet;

const WANTED: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 50);
const NONE: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

/// A host that has no address yet.
fn without() -> Host {
    Host::lonely(crate::Unit::ONLY, |config| config.interfaces[0].addresses.clear())
}

/// The message of ARP in a frame that goes to all.
fn said(frame: &Packet) -> Message {
    let bytes = frame.to_vec();
    let (header, len) = ethernet::Header::parse(&bytes).expect("Ethernet");
    assert_eq!(header.destination, EthernetAddress::BROADCAST);
    assert_eq!((header.source, header.ethertype), (MAC, ethernet::ethertype::ARP));
    Message::parse(&bytes[len..]).expect("ARP")
}

fn taken(host: &Host) -> Option<EthernetAddress> {
    host.config().claims.taken(0, WANTED)
}

#[test]
fn a_probe_names_no_sender_and_an_announcement_does() {
    let mut host = without();
    let claims = host.config().claims.clone();
    claims.probe(0, MAC, WANTED);
    claims.announce(0, MAC, WANTED);
    let out = host.call(Call::FlushUdp(()));
    let [probe, announcement] = [0, 1].map(|at| said(&out[at]));
    assert_eq!((probe.operation, probe.sender), (Operation::Request, MAC));
    assert_eq!((probe.sender_ip, probe.target_ip), (NONE, WANTED));
    assert_eq!((announcement.sender_ip, announcement.target_ip), (WANTED, WANTED));
    assert_eq!(out.len(), 2);
    assert!(host.call(Call::FlushUdp(())).is_empty(), "once");
}

#[test]
fn who_has_the_address_or_wants_it_is_heard() {
    for (operation, sender, target) in [
        (Operation::Reply, WANTED, NONE),
        (Operation::Request, WANTED, WANTED),
        (Operation::Request, NONE, WANTED),
    ] {
        let mut host = without();
        let frame = arp_frame(operation, sender, target);
        host.take(&frame);
        assert!(host.config().claims.watch(0, WANTED));
        assert_eq!(taken(&host), None, "nobody asked before");
        host.take(&frame);
        assert_eq!(taken(&host), Some(PEER_MAC));
        host.config().claims.forget(0, WANTED);
        assert_eq!(taken(&host), None);
    }
}

#[test]
fn what_is_said_of_others_or_by_us_is_no_conflict() {
    let mut host = without();
    host.config().claims.watch(0, WANTED);
    // Somebody asks for it by his own address: he wants to speak to who has it.
    host.take(&arp_frame(Operation::Request, PEER, WANTED));
    host.take(&arp_frame(Operation::Reply, PEER, NONE));
    host.take(&arp_frame(Operation::Reply, NONE, WANTED));
    let mut echo = arp_frame(Operation::Request, NONE, WANTED);
    echo[14 + 8..14 + 14].copy_from_slice(&MAC.0);
    host.take(&echo);
    assert_eq!(taken(&host), None);
}

/// One that we have is defended once; who goes on has it (RFC 5227 2.4 b).
#[test]
fn an_address_that_we_have_is_lost_to_who_insists() {
    let mut host = Host::new(|_| ());
    host.config().claims.watch(0, US);
    let theirs = arp_frame(Operation::Request, US, US);
    assert_eq!(host.take(&theirs).len(), 1);
    assert_eq!(host.config().claims.taken(0, US), None);
    host.take(&theirs);
    assert_eq!(host.config().claims.taken(0, US), Some(PEER_MAC));
}

/// Who would like to have it is told that it is ours (RFC 5227 2.1.1).
#[test]
fn an_address_that_we_have_is_not_lost_to_who_asks_for_it() {
    let mut host = Host::new(|_| ());
    host.config().claims.watch(0, US);
    for _ in 0..3 {
        let out = host.take(&arp_frame(Operation::Request, NONE, US));
        assert_eq!(out.len(), 1, "one answer");
        let bytes = out[0].to_vec();
        let (_, len) = ethernet::Header::parse(&bytes).expect("Ethernet");
        let answer = Message::parse(&bytes[len..]).expect("ARP");
        assert_eq!((answer.operation, answer.sender_ip), (Operation::Reply, US));
        assert_eq!(host.config().claims.taken(0, US), None);
    }
}

#[test]
fn there_are_not_more_than_there_may_be() {
    let mut host = without();
    let claims = host.config().claims.clone();
    let address = |n: usize| Ipv4Addr::from_bits(0x0a00_0100 + n as u32);
    for n in 0..MAX_CLAIMS {
        assert!(claims.watch(0, address(n)));
    }
    assert!(!claims.watch(0, WANTED));
    assert!(claims.watch(0, address(0)), "again");
    (0..10 * MAX_CLAIMS).for_each(|n| claims.probe(0, MAC, address(n)));
    assert_eq!(host.call(Call::FlushUdp(())).len(), MAX_CLAIMS);
}
