//! ARP (RFC 826): answers for our addresses, learns from what is said, and defends
//! our addresses against others who use them (RFC 5227).

use super::neighbours::Learned;
use super::{Link, frame};
use crate::neighbourhood::Waiting;
use crate::{Counters, DropReason, Egress};
use wire::arp::{self, Message, Operation};
use wire::{Address, EthernetAddress, Instant, Packet};

pub(super) fn input(
    packet: &Packet,
    link: &mut Link,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let index = packet.meta().interface;
    let Ok(message) = Message::parse(packet.front()) else {
        return counters.drop(DropReason::ArpMalformed);
    };
    if !message.sender.is_station() {
        return counters.drop(DropReason::ArpMalformed);
    }
    let sender = Address::from(message.sender_ip);
    let is_ours = |ip: Address| link.interface(index).addresses.iter().any(|(a, _)| *a == ip);
    if is_ours(sender) {
        return conflict(&message, link, index, now, counters, egress);
    }
    let for_us = is_ours(message.target_ip.into());
    //= RFC 5227 2.1.1: a probe for what we use is answered, and is no conflict
    if !(for_us && sender.is_unspecified()) {
        link.config.claims.heard(index, link.interface(index).ethernet, &message);
    }
    // A probe (RFC 5227) has no sender address yet, and what is not on the link is
    // reached by a router: both are answered, and teach nothing.
    if sender.is_unicast() && link.config.is_on_link(index, sender) {
        let learn = |table: &mut super::Neighbours| {
            table.learn((index, sender), message.sender, for_us, now)
        };
        match link.neighbours.with(learn) {
            Learned::Locked => return counters.drop(DropReason::ArpLocked),
            Learned::Ignored => {}
            Learned::Yes(waiting) => {
                link.last = None;
                link.departures.clear();
                for Waiting { packet, .. } in waiting {
                    frame::frame(packet, message.sender, link, counters, egress);
                }
            }
        }
    }
    counters.absorbed += 1;
    if for_us && link.unit.answers_for_host() && message.operation == Operation::Request {
        let ours = link.interface(index).ethernet;
        let answer = Message {
            operation: Operation::Reply,
            sender: ours,
            sender_ip: message.target_ip,
            target: message.sender,
            target_ip: message.sender_ip,
        };
        send(&answer, message.sender, link, index, counters, egress);
    }
}

/// Somebody else says that our address is his. We say that it is ours, unless we
/// have just done so: then two hosts would go on for ever.
#[cold]
fn conflict(
    message: &Message,
    link: &mut Link,
    index: u16,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    counters.drop(DropReason::ArpConflict);
    let ours = link.interface(index).ethernet;
    // What we have said ourselves may come back to us.
    let is_echo = message.sender == ours;
    let address = message.sender_ip.into();
    let is_soon = link.was_defended(index, address, now);
    if is_soon && !is_echo {
        link.config.claims.lost(index, message.sender_ip, message.sender);
    }
    if is_echo || is_soon || !link.unit.answers_for_host() {
        return;
    }
    link.defends(index, address, now);
    counters.addresses_defended += 1;
    //= RFC 5227 2.4: it broadcasts one single ARP Announcement
    let announcement = Message {
        operation: Operation::Request,
        sender: ours,
        sender_ip: message.sender_ip,
        target: EthernetAddress::default(),
        target_ip: message.sender_ip,
    };
    send(&announcement, EthernetAddress::BROADCAST, link, index, counters, egress);
}

/// Asks for `address`: everyone, or the station that had it last.
pub(super) fn solicit(
    link: &Link,
    address: Address,
    interface: u16,
    known: Option<EthernetAddress>,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let sender = link.interface(interface);
    // As a host of the network that the neighbour is in.
    let ours = sender.network_of(address).or_else(|| sender.addresses.first().map(|(a, _)| *a));
    let (Some(sender_ip), Some(target_ip)) = (ours.and_then(Address::v4), address.v4()) else {
        return;
    };
    let request = Message {
        operation: Operation::Request,
        sender: sender.ethernet,
        sender_ip,
        target: EthernetAddress::default(),
        target_ip,
    };
    let to = known.unwrap_or(EthernetAddress::BROADCAST);
    send(&request, to, link, interface, counters, egress);
}

fn send(
    message: &Message,
    to: EthernetAddress,
    link: &Link,
    interface: u16,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let mut packet = Packet::new();
    message.emit(packet.push(arp::LEN));
    packet.meta_mut().interface = interface;
    frame::arp_frame(packet, to, link, counters, egress);
}
