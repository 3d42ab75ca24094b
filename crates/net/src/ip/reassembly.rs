//! Reassembly of fragments (RFC 791 3.2, RFC 815 in spirit), within limits of
//! memory, count and time. A fragment that overlaps another with other bounds
//! ends its datagram, as RFC 5722 asks of IPv6: no honest sender makes one.

use crate::hash::{Keyed, Purpose};
use crate::{Config, Counters, DropReason};
use hashbrown::HashMap;
use std::collections::VecDeque;
use wire::packet::ChecksumState;
use wire::time::Duration;
use wire::{Address, Instant, Packet, Parts, ipv4, ipv6};

/// How long a datagram may wait for its fragments (RFC 1122 3.3.2).
const LIFETIME: Duration = Duration::from_secs(60);
/// The most datagrams that wait.
const MAX_DATAGRAMS: usize = 256;
/// The most fragments of one: 64 KiB in fragments of 576 bytes, and some.
const MAX_FRAGMENTS: usize = 128;

/// The queue by age may have this many places more than twice what waits.
const SOME: usize = 64;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    source: Address,
    destination: Address,
    /// Of IPv6 it is not looked at (RFC 8200 4.5).
    protocol: u8,
    identification: u32,
}

/// The header of a fragment, of either family.
#[derive(Clone, Copy)]
enum Header {
    V4(ipv4::Header),
    V6(ipv6::Header, ipv6::Fragment),
}

/// What a fragment's headers say of it.
pub(super) struct Piece {
    key: Key,
    header: Header,
    /// Protocol of the payload, if this is the first fragment.
    protocol: u8,
    /// Bytes of headers in front of the payload.
    front: usize,
    /// Bytes of payload.
    len: usize,
    offset: usize,
    more: bool,
    /// The most bytes that the whole payload may have.
    most: usize,
}

impl Piece {
    /// The fragment with this header.
    pub(super) fn v4(header: &ipv4::Header) -> Piece {
        let front = usize::from(header.header_len);
        Piece {
            key: Key {
                source: header.source.into(),
                destination: header.destination.into(),
                protocol: header.protocol,
                identification: header.identification.into(),
            },
            header: Header::V4(*header),
            protocol: header.protocol,
            front,
            len: usize::from(header.total_len) - front,
            offset: header.fragment_offset.into(),
            more: header.more_fragments,
            most: usize::from(u16::MAX) - front,
        }
    }

    /// The fragment with these headers, and `front` bytes of headers in all.
    // RFC 8200 4.5/1
    pub(super) fn v6(header: &ipv6::Header, fragment: ipv6::Fragment, front: usize) -> Piece {
        Piece {
            key: Key {
                source: header.source.into(),
                destination: header.destination.into(),
                protocol: 0,
                identification: fragment.identification,
            },
            header: Header::V6(*header, fragment),
            protocol: fragment.next_header,
            front,
            len: ipv6::LEN + usize::from(header.payload_len) - front,
            offset: fragment.offset.into(),
            more: fragment.more,
            most: usize::from(u16::MAX) + ipv6::LEN - front,
        }
    }
}

struct Fragment {
    offset: usize,
    len: usize,
    payload: Packet,
}

struct Waiting {
    expires: Instant,
    /// Bytes of the payload, once the last fragment is there.
    total: Option<usize>,
    received: usize,
    footprint: usize,
    fragments: Vec<Fragment>,
    /// The header of the first fragment, once it is there.
    first: Option<Header>,
    /// Protocol of the payload, which the first fragment says.
    protocol: u8,
}

/// What a fragment takes beside its blocks, bytes.
const FRAGMENT: usize = 256;

/// Bytes of memory that a fragment holds.
fn footprint(packet: &Packet) -> usize {
    packet.parts().iter().map(|part| part.footprint()).sum::<usize>() + FRAGMENT
}

/// The datagrams that wait for fragments.
pub struct Reassembly {
    max_bytes: usize,
    bytes: usize,
    waiting: HashMap<Key, Waiting, Keyed>,
    by_age: VecDeque<(Instant, Key)>,
}

impl Reassembly {
    /// No datagram yet, and the limits of `config`.
    pub fn new(config: &Config) -> Reassembly {
        Reassembly {
            max_bytes: config.reassembly_bytes,
            bytes: 0,
            waiting: HashMap::with_hasher(Keyed::new(config, Purpose::Tables)),
            by_age: VecDeque::new(),
        }
    }

    /// When the oldest datagram is to be given up.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.by_age.front().map(|(expires, _)| *expires)
    }

    /// Bytes of memory that fragments hold.
    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    #[cfg(test)]
    pub(super) fn names(&self) -> usize {
        self.by_age.len()
    }

    /// Gives up what has waited too long. Of datagrams whose first fragment is
    /// there it goes to `first_fragments`, IP header in front.
    pub fn on_timeout(
        &mut self,
        now: Instant,
        counters: &mut Counters,
        first_fragments: &mut Vec<Packet>,
    ) {
        // RFC 8200 4.5/2
        // RFC 1122 3.3.2/2
        while let Some(&(expires, key)) = self.by_age.front()
            && expires <= now
        {
            self.by_age.pop_front();
            if self.waiting.get(&key).is_some_and(|w| w.expires == expires) {
                counters.reassembly_timeouts += 1;
                first_fragments.extend(self.remove(&key).and_then(Waiting::into_first));
            }
        }
    }

    /// Takes a fragment, IP header in front; returns the payload of the whole datagram
    /// when it is complete.
    pub(super) fn input(
        &mut self,
        packet: Packet,
        piece: &Piece,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<Packet> {
        // RFC 8200 5/2
        // RFC 1122 3.2.1.4/1, 3.3.2/1
        let key = piece.key;
        let aligned = !piece.more || piece.len.is_multiple_of(8);
        if piece.len == 0 || !aligned || piece.offset + piece.len > piece.most {
            counters.drop(DropReason::FragmentBad);
            return None;
        }
        let packet = self.slim(packet);
        let footprint = footprint(&packet);
        if !self.make_room(&key, footprint, now, counters) {
            counters.drop(DropReason::FragmentLimit);
            return None;
        }
        match self.waiting.get_mut(&key).expect("made above").add(packet, piece) {
            Added::Held => {
                self.bytes += footprint;
                self.waiting.get_mut(&key).expect("still there").footprint += footprint;
                counters.absorbed += 1;
                None
            }
            Added::Duplicate => {
                counters.drop(DropReason::FragmentBad);
                None
            }
            Added::Overlaps => {
                counters.drop(DropReason::FragmentBad);
                self.remove(&key);
                None
            }
            Added::Completes(last) => Some(self.complete(piece, last)),
        }
    }

    /// The fragment with no more memory than it needs, once half of what there may be is in use: where
    /// nothing is copied on the way, each fragment holds the block of its whole datagram.
    fn slim(&self, packet: Packet) -> Packet {
        let held = footprint(&packet);
        if self.bytes + held <= self.max_bytes / 2 || held <= 4 * (packet.len() + FRAGMENT) {
            return packet;
        }
        let mut slim = Packet::copy_of(&packet.slices().flatten().copied().collect::<Vec<u8>>());
        *slim.meta_mut() = *packet.meta();
        slim
    }

    /// Finds or makes the entry of `key` with room for `footprint` more bytes,
    /// at the cost of the oldest other datagrams.
    fn make_room(
        &mut self,
        key: &Key,
        footprint: usize,
        now: Instant,
        counters: &mut Counters,
    ) -> bool {
        let is_new = !self.waiting.contains_key(key);
        while self.bytes + footprint > self.max_bytes
            || (is_new && self.waiting.len() >= MAX_DATAGRAMS)
        {
            let Some(&(expires, oldest)) = self.by_age.front() else { return false };
            let is_current = self.waiting.get(&oldest).is_some_and(|w| w.expires == expires);
            if is_current && oldest == *key {
                return false;
            }
            self.by_age.pop_front();
            if is_current {
                counters.reassembly_evicted += 1;
                self.remove(&oldest);
            }
        }
        if is_new {
            let expires = now + LIFETIME;
            self.by_age.push_back((expires, *key));
            self.waiting.insert(*key, Waiting::until(expires));
        }
        true
    }

    fn remove(&mut self, key: &Key) -> Option<Waiting> {
        let waiting = self.waiting.remove(key)?;
        self.bytes -= waiting.footprint;
        // Places of those that are gone are no more than of those that wait.
        let Reassembly { waiting: all, by_age, .. } = self;
        if by_age.len() > 2 * all.len() + SOME {
            by_age.retain(|(at, key)| all.get(key).is_some_and(|w| w.expires == *at));
        }
        Some(waiting)
    }

    fn complete(&mut self, piece: &Piece, last: Packet) -> Packet {
        let waiting = self.remove(&piece.key).expect("just completed");
        let mut meta = *last.meta();
        let mut parts = Parts::new();
        let at = piece.offset;
        let mut last = Some(last);
        for mut fragment in waiting.fragments {
            // RFC 3168 5.3/1
            if fragment.payload.meta().tos & ipv4::ECN == ipv4::CE {
                //= RFC 3168 5.3: one mark is that of the datagram
                meta.tos |= ipv4::CE;
            }
            if fragment.offset > at {
                parts.extend(last.take().into_iter().flat_map(Packet::into_parts));
            }
            parts.extend(fragment.payload.take_parts());
        }
        parts.extend(last.take().into_iter().flat_map(Packet::into_parts));
        // A checksum that some device vouched for is that of a fragment.
        meta.checksum = ChecksumState::Complete;
        meta.reassembled = true;
        meta.protocol = waiting.protocol;
        let mut packet = Packet::from_parts(contiguous_front(parts));
        *packet.meta_mut() = meta;
        packet
    }
}

/// Makes sure that the transport header is in one piece, with what extension headers may
/// stand before it.
fn contiguous_front(parts: Parts) -> Parts {
    const HEADER: usize = wire::tcp::MAX_LEN + 256;
    if parts.first().is_none_or(|p| p.len() >= HEADER) {
        return parts;
    }
    let mut front = wire::Slice::with_capacity(HEADER);
    let mut rest = Parts::new();
    for mut part in parts {
        let n = part.len().min(HEADER - front.len());
        front.append(&part[..n]);
        part.advance(n);
        if !part.is_empty() {
            rest.push(part);
        }
    }
    rest.insert(0, front);
    rest
}

enum Added {
    Held,
    Duplicate,
    Overlaps,
    Completes(Packet),
}

impl Waiting {
    fn until(expires: Instant) -> Waiting {
        let fragments = Vec::new();
        let (total, first, protocol) = (None, None, 0);
        Waiting { expires, total, received: 0, footprint: 0, fragments, first, protocol }
    }

    /// The first fragment as it came, but for IP options and other extension headers.
    fn into_first(self) -> Option<Packet> {
        let header = self.first?;
        let mut packet = self.fragments.into_iter().next()?.payload;
        match header {
            Header::V4(header) => {
                let total_len = (packet.len() + ipv4::LEN) as u16;
                ipv4::Header { header_len: ipv4::LEN as u8, total_len, ..header }
                    .emit(packet.push(ipv4::LEN));
            }
            Header::V6(header, fragment) => {
                fragment.emit(packet.push(ipv6::FRAGMENT_LEN));
                let payload_len = packet.len() as u16;
                let next_header = ipv6::extension::FRAGMENT;
                ipv6::Header { next_header, payload_len, ..header }.emit(packet.push(ipv6::LEN));
            }
        }
        Some(packet)
    }

    /// Adds the payload of `packet`, headers in front.
    fn add(&mut self, mut packet: Packet, piece: &Piece) -> Added {
        let &Piece { offset, len, more, .. } = piece;
        let at = self.fragments.partition_point(|f| f.offset < offset);
        if self.fragments.get(at).is_some_and(|f| f.offset == offset && f.len == len) {
            return Added::Duplicate;
        }
        let before = at.checked_sub(1).map(|i| &self.fragments[i]);
        // RFC 8200 4.5/3
        let overlaps = before.is_some_and(|f| f.offset + f.len > offset)
            || self.fragments.get(at).is_some_and(|f| offset + len > f.offset)
            || self.total.is_some_and(|t| offset + len > t || !more)
            || self.fragments.len() >= MAX_FRAGMENTS;
        let last = self.fragments.last().map_or(0, |f| f.offset + f.len);
        if overlaps || (!more && last > offset + len) {
            return Added::Overlaps;
        }
        if !more {
            self.total = Some(offset + len);
        }
        packet.pull(piece.front);
        self.received += len;
        if offset == 0 {
            self.protocol = piece.protocol;
        }
        if self.total == Some(self.received) {
            return Added::Completes(packet);
        }
        if offset == 0 {
            self.first = Some(piece.header);
        }
        let meta = *packet.meta();
        let mut payload = Packet::from_parts(packet.into_parts());
        *payload.meta_mut() = meta;
        self.fragments.insert(at, Fragment { offset, len, payload });
        Added::Held
    }
}
