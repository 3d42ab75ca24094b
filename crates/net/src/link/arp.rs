//! ARP (RFC 826): answers for our addresses, and learns from what is said.

use super::{Link, output};
use crate::{Counters, Drop, Egress};
use wire::arp::{self, Message, Operation};
use wire::{Address, Instant, Packet};

pub(super) fn input(
    packet: &Packet,
    link: &mut Link,
    now: Instant,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let index = packet.meta().interface;
    let ours = |ip: Address| link.interface(index).addresses.iter().any(|(a, _)| *a == ip);
    let Ok(message) = Message::parse(packet.front()) else {
        return counters.drop(Drop::ArpMalformed);
    };
    let sender = Address::from(message.sender_ip);
    let for_us = ours(message.target_ip.into());
    if !message.sender.is_station() || ours(sender) {
        return counters.drop(Drop::ArpMalformed);
    }
    counters.absorbed += 1;
    // A probe (RFC 5227) has no sender address yet: answer it, learn nothing.
    if sender.is_unicast() {
        let waiting = link
            .neighbours
            .with(|neighbours| neighbours.learn(sender, message.sender, for_us, now));
        link.last = None;
        for (_, packet) in waiting {
            output::frame(packet, message.sender, link, counters, egress);
        }
    }
    if for_us && link.answers && message.operation == Operation::Request {
        reply(&message, link, index, counters, egress);
    }
}

fn reply(
    request: &Message,
    link: &Link,
    interface: u16,
    counters: &mut Counters,
    egress: &mut Egress,
) {
    let ours = link.interface(interface).ethernet;
    let mut packet = Packet::new();
    Message {
        operation: Operation::Reply,
        sender: ours,
        sender_ip: request.target_ip,
        target: request.sender,
        target_ip: request.sender_ip,
    }
    .emit(packet.push(arp::LEN));
    packet.meta_mut().interface = interface;
    output::arp_frame(packet, request.sender, link, counters, egress);
}
