//! Reassembly of fragments (RFC 791 3.2, RFC 815 in spirit), within limits of
//! memory, count and time. A fragment that overlaps another with other bounds
//! ends its datagram, as RFC 5722 asks of IPv6: no honest sender makes one.

use crate::hash::{Keyed, Purpose};
use crate::{Config, Counters, DropReason};
use hashbrown::HashMap;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use wire::packet::ChecksumState;
use wire::time::Duration;
use wire::{Instant, Packet, Parts, ipv4};

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
    source: Ipv4Addr,
    destination: Ipv4Addr,
    protocol: u8,
    identification: u16,
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
    first: Option<ipv4::Header>,
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

    /// Takes a fragment, IP header in front; returns the whole datagram, with
    /// the header of its last piece to arrive in front, when it is complete.
    pub(super) fn input(
        &mut self,
        packet: Packet,
        header: &ipv4::Header,
        now: Instant,
        counters: &mut Counters,
    ) -> Option<Packet> {
        let key = Key {
            source: header.source,
            destination: header.destination,
            protocol: header.protocol,
            identification: header.identification,
        };
        let len = usize::from(header.total_len) - usize::from(header.header_len);
        let end = usize::from(header.fragment_offset) + len;
        let aligned = !header.more_fragments || len % 8 == 0;
        if len == 0 || !aligned || end + usize::from(header.header_len) > usize::from(u16::MAX) {
            counters.drop(DropReason::FragmentBad);
            return None;
        }
        let footprint = packet.parts().iter().map(|p| p.footprint()).sum::<usize>() + 256;
        if !self.make_room(&key, footprint, now, counters) {
            counters.drop(DropReason::FragmentLimit);
            return None;
        }
        match self.waiting.get_mut(&key).expect("made above").add(packet, header, len) {
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
            Added::Completes(last) => Some(self.complete(&key, last, header)),
        }
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

    fn complete(&mut self, key: &Key, last: Packet, header: &ipv4::Header) -> Packet {
        let waiting = self.remove(key).expect("just completed");
        let mut meta = *last.meta();
        let mut parts = Parts::new();
        let at = usize::from(header.fragment_offset);
        let mut last = Some(last);
        for mut fragment in waiting.fragments {
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
        let mut packet = Packet::from_parts(contiguous_front(parts));
        *packet.meta_mut() = meta;
        // The caller pulls the IP header off; give it one to pull.
        let len = usize::from(header.header_len);
        packet.push(len).fill(0);
        packet
    }
}

/// Makes sure that the transport header is in one piece.
fn contiguous_front(parts: Parts) -> Parts {
    const HEADER: usize = wire::tcp::MAX_LEN;
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
        Waiting { expires, total: None, received: 0, footprint: 0, fragments, first: None }
    }

    /// The first fragment as it came, but for IP options.
    fn into_first(self) -> Option<Packet> {
        let header = self.first?;
        let mut packet = self.fragments.into_iter().next()?.payload;
        let total_len = (packet.len() + ipv4::LEN) as u16;
        ipv4::Header { header_len: ipv4::LEN as u8, total_len, ..header }
            .emit(packet.push(ipv4::LEN));
        Some(packet)
    }

    /// Adds the payload of `packet` (IP header in front, `len` bytes behind).
    fn add(&mut self, mut packet: Packet, header: &ipv4::Header, len: usize) -> Added {
        let offset = usize::from(header.fragment_offset);
        let at = self.fragments.partition_point(|f| f.offset < offset);
        if self.fragments.get(at).is_some_and(|f| f.offset == offset && f.len == len) {
            return Added::Duplicate;
        }
        let before = at.checked_sub(1).map(|i| &self.fragments[i]);
        let overlaps = before.is_some_and(|f| f.offset + f.len > offset)
            || self.fragments.get(at).is_some_and(|f| offset + len > f.offset)
            || self.total.is_some_and(|t| offset + len > t || !header.more_fragments)
            || self.fragments.len() >= MAX_FRAGMENTS;
        let last = self.fragments.last().map_or(0, |f| f.offset + f.len);
        if overlaps || (!header.more_fragments && last > offset + len) {
            return Added::Overlaps;
        }
        if !header.more_fragments {
            self.total = Some(offset + len);
        }
        packet.pull(usize::from(header.header_len));
        self.received += len;
        if self.total == Some(self.received) {
            return Added::Completes(packet);
        }
        if offset == 0 {
            self.first = Some(*header);
        }
        let meta = *packet.meta();
        let mut payload = Packet::from_parts(packet.into_parts());
        *payload.meta_mut() = meta;
        self.fragments.insert(at, Fragment { offset, len, payload });
        Added::Held
    }
}
