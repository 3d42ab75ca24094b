//! ③ What routers and other members say of groups: IGMP and MLD.

use super::Ip;
use crate::{Counters, DropReason};
use wire::group::Message;
use wire::{Address, Instant, Packet};

/// The most of a message that is read: a query with as many sources as a link carries.
const LARGEST: usize = 1500;

/// Takes a message of IGMP, or of MLD whose checksum is right; that header is in front.
#[cold]
pub(super) fn input(packet: &Packet, ip: &Ip, now: Instant, counters: &mut Counters) {
    // RFC 3810 5.1/1
    let meta = packet.meta();
    let is_v4 = meta.source.is_v4();
    let mut bytes = [0; LARGEST];
    let len = packet.copy_front(&mut bytes);
    let message = match is_v4 {
        true => Message::parse_igmp(&bytes[..len]),
        false => Message::parse_mld(&bytes[..len]),
    };
    //= RFC 3376 4, RFC 3810 5: sent with one hop, by MLD from a link-local address
    let from_link = meta.ttl == 1 && (is_v4 || is_local(meta.source, &message));
    let Ok(message) = message.map_err(|_| ()).and_then(|m| from_link.then_some(m).ok_or(())) else {
        return counters.drop(DropReason::GroupMalformed);
    };
    counters.absorbed += 1;
    ip.config.groups.heard(&message, meta.interface, is_v4, now);
}

/// A report may come from a host that has no address yet.
fn is_local<E>(source: Address, message: &Result<Message, E>) -> bool {
    source.is_link_local_v6()
        || (source.is_unspecified() && !matches!(message, Ok(Message::Query(_))))
}
