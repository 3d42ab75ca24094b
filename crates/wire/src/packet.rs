//! [`Packet`]: the owned buffer round a frame, datagram or segment, on its way
//! up or down.
//!
//! A packet is a few bytes of headers that it holds itself (`head`), followed
//! by payload that it shares (`parts`). Layers on the way down push their
//! header in front; layers on the way up pull it off. A frame read from a
//! device may have its headers in the first part instead: [`Packet::front`]
//! gives them either way. The headers of a frame are always contiguous.

use crate::address::Address;
use buffer::{Pooled, SCRATCH, Slice, sum};

/// Payload: slices of shared buffers, in order.
pub type Parts = buffer::Parts;

/// Bytes of headers that a packet can hold: Ethernet with a VLAN tag, and the
/// largest IPv4 and TCP headers.
pub const HEAD: usize = 18 + 60 + 60;
const _: () = assert!(HEAD <= SCRATCH);
/// Bytes of headers that hardly a packet exceeds: Ethernet, IPv6, and TCP with timestamps.
const USUAL_HEAD: usize = 14 + 40 + 32;

/// What is known of the transport checksum of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChecksumState {
    /// In: has to be verified. Out: is filled in.
    #[default]
    Complete,
    /// In: the device vouches for it; it need not be verified.
    Verified,
    /// The field holds only the pseudo-header's sum; the rest is to be summed
    /// from [`Meta::csum_start`] on. Out: the device does it. In: the packet
    /// never left this machine, and nobody did it yet; the data is as good as
    /// memory is.
    Partial,
}

/// Facts that travel beside the bytes. On the way up each layer leaves here
/// what the next one needs; on the way down, what the layer below needs.
#[derive(Clone, Copy, Debug)]
pub struct Meta {
    /// State of the transport checksum.
    pub checksum: ChecksumState,
    /// With [`ChecksumState::Partial`]: where the transport header starts,
    /// from the start of the frame.
    pub csum_start: u16,
    /// With [`ChecksumState::Partial`]: where the checksum field is, from
    /// `csum_start`.
    pub csum_offset: u16,
    /// The payload bytes of each segment that this packet stands for, if it is
    /// one for the device to segment (TSO) or was coalesced; 0 if it is not.
    pub gso_size: u16,
    /// Index of the interface it came in by, or leaves by.
    pub interface: u16,
    /// The IP protocol of the payload.
    pub protocol: u8,
    /// IP's time to live; on the way down 0 means the default.
    pub ttl: u8,
    /// DSCP and ECN: IPv4's type of service, IPv6's traffic class.
    pub tos: u8,
    /// On the way down: nobody may cut it into fragments.
    pub whole: bool,
    /// On the way down: routers may cut it, though it is of TCP.
    pub may_be_cut: bool,
    /// IP source.
    pub source: Address,
    /// IP destination.
    pub destination: Address,
    /// On the way down: the neighbour that the frame goes to.
    pub next_hop: Address,
    /// Was it put together from fragments? It may then have come up in a unit
    /// that is not its flow's.
    pub reassembled: bool,
    /// Was it sent to a link-layer group, or to an IP broadcast or multicast
    /// address? Errors must not be answered then (RFC 1122 3.2.2).
    pub group: bool,
}

impl Meta {
    /// Of a frame of which nothing is known.
    pub const EMPTY: Meta = Meta {
        checksum: ChecksumState::Complete,
        csum_start: 0,
        csum_offset: 0,
        gso_size: 0,
        interface: 0,
        protocol: 0,
        ttl: 0,
        tos: 0,
        whole: false,
        may_be_cut: false,
        source: Address::UNSPECIFIED_V4,
        destination: Address::UNSPECIFIED_V4,
        next_hop: Address::UNSPECIFIED_V4,
        reassembled: false,
        group: false,
    };
}

#[derive(Clone, Copy)]
struct Facts {
    meta: Meta,
    /// Where the head starts in [`Pooled::scratch`]; it ends at [`HEAD`].
    head_start: u16,
}

/// A packet. It is a pointer's size, and recycled by the thread that drops it.
pub struct Packet(Pooled<Facts>);

impl Packet {
    /// An empty packet with room for all headers.
    #[inline]
    pub fn new() -> Packet {
        Packet::from_parts(Parts::new())
    }

    /// A packet of these parts. The first must hold all headers.
    #[inline]
    pub fn from_parts(parts: Parts) -> Packet {
        Packet::with_meta(&Meta::EMPTY, parts)
    }

    /// A packet of these parts, with these facts.
    #[inline]
    pub fn with_meta(meta: &Meta, parts: Parts) -> Packet {
        Packet::framed(meta, 0, parts)
    }

    /// The same with a head of `n` bytes, which hold anything: they are to be written to
    /// [`Packet::head_mut`].
    ///
    /// # Panics
    /// If the headers exceed [`HEAD`].
    #[inline(always)]
    pub fn framed(meta: &Meta, n: usize, parts: Parts) -> Packet {
        assert!(n <= HEAD);
        let head_start = (HEAD - n) as u16;
        Packet(Pooled::new_with(|| Facts { meta: *meta, head_start }, || parts))
    }

    /// The same, with a head of `N` bytes that `write` writes: what is known of it and of the parts
    /// when this is compiled need not be looked at.
    #[inline(always)]
    pub fn headed<const N: usize>(
        meta: &Meta,
        parts: impl FnOnce() -> Parts,
        write: impl FnOnce(&mut [u8; N]),
    ) -> Packet {
        const { assert!(N <= HEAD) };
        let head_start = (HEAD - N) as u16;
        let make = || Facts { meta: *meta, head_start };
        let mut packet = Packet(Pooled::new_with(make, parts));
        let (_, bytes) = packet.0.split_mut();
        if let Some(head) = bytes[..HEAD].last_chunk_mut::<N>() {
            write(head);
        }
        packet
    }

    /// A packet with a copy of the head and the facts of `like`, and `part` behind
    /// it.
    #[inline]
    pub fn like(like: &Packet, part: Slice) -> Packet {
        let parts = Parts::from_buf([part]);
        let mut packet = Packet(Pooled::new_with(|| like.0.value, || parts));
        packet.copy_head(like);
        packet
    }

    /// Copies the head of `from`, where this packet's facts are its own already.
    #[inline]
    fn copy_head(&mut self, from: &Packet) {
        let start = from.0.value.head_start as usize;
        let bytes = self.0.split_mut().1;
        if start >= HEAD - USUAL_HEAD {
            // A copy of as many bytes as are known is a few stores. What stands before the
            // head is anything.
            let all = HEAD - USUAL_HEAD..HEAD;
            bytes[all.clone()].copy_from_slice(&from.0.scratch()[all]);
        } else {
            bytes[start..HEAD].copy_from_slice(&from.0.scratch()[start..HEAD]);
        }
    }

    /// A packet with a copy of these bytes, in one part for as much as one
    /// block holds.
    pub fn copy_of(mut bytes: &[u8]) -> Packet {
        let mut packet = Packet::new();
        while !bytes.is_empty() {
            let part = Slice::copy_of(bytes);
            bytes = &bytes[part.len()..];
            packet.0.parts.push(part);
        }
        packet
    }

    /// Facts beside the bytes.
    #[inline]
    pub fn meta(&self) -> &Meta {
        &self.0.value.meta
    }
    /// Facts beside the bytes, to change.
    #[inline]
    pub fn meta_mut(&mut self) -> &mut Meta {
        &mut self.0.value.meta
    }

    /// The number of bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.head().len() + buffer::total(self.parts())
    }
    /// Are there no bytes?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that the packet holds itself, in front of the parts.
    #[inline]
    pub fn head(&self) -> &[u8] {
        &self.0.scratch()[self.0.value.head_start as usize..HEAD]
    }
    /// The bytes that the packet holds itself, to change.
    #[inline]
    pub fn head_mut(&mut self) -> &mut [u8] {
        let (inner, bytes) = self.0.split_mut();
        &mut bytes[inner.value.head_start as usize..HEAD]
    }
    /// The shared bytes behind the head.
    #[inline]
    pub fn parts(&self) -> &Parts {
        &self.0.parts
    }
    /// The shared bytes behind the head, to change.
    #[inline]
    pub fn parts_mut(&mut self) -> &mut Parts {
        &mut self.0.parts
    }
    /// Takes the parts out.
    #[inline]
    pub fn take_parts(&mut self) -> Parts {
        std::mem::take(&mut self.0.parts)
    }

    /// All bytes as parts; what the packet holds itself is copied.
    #[inline]
    pub fn into_parts(mut self) -> Parts {
        let mut parts = self.take_parts();
        if !self.head().is_empty() {
            parts.insert(0, Slice::copy_of(self.head()));
        }
        parts
    }

    /// What stands behind the first `n` bytes, as parts; see [`Packet::pull`].
    #[inline]
    pub fn into_payload(mut self, n: usize) -> Parts {
        let whole = self.parts().first().is_none_or(|part| !part.is_empty());
        if self.head().len() == n && whole {
            return self.take_parts();
        }
        self.pull(n);
        self.into_parts()
    }

    /// The one part, if there is just one, else all parts. The head goes: it is none of the payload,
    /// as the caller knows.
    #[inline(always)]
    pub fn into_part(self) -> Result<Slice, Parts> {
        self.0.into_parts().into_inner().map(|[part]| part)
    }

    /// The head and the part behind it, if there is one part.
    #[inline(always)]
    pub fn head_and_part(&self) -> Option<(&[u8], &Slice)> {
        match self.parts().as_slice() {
            [part] => Some((self.head(), part)),
            _ => None,
        }
    }

    /// Has what is not payload brought near: another processor may have written it
    /// last. A packet that is looked at after a few others costs less then.
    #[inline]
    pub fn prefetch(&self) {
        self.0.prefetch();
    }

    /// The contiguous bytes at the front, where the headers are.
    #[inline]
    pub fn front(&self) -> &[u8] {
        let head = self.head();
        if head.is_empty() { self.parts().first().map_or(&[], Slice::as_slice) } else { head }
    }

    /// Makes the packet `n` bytes longer in front, and returns the new bytes to
    /// be written; they hold anything.
    ///
    /// # Panics
    /// If the headers of this packet exceed [`HEAD`].
    #[inline]
    pub fn push(&mut self, n: usize) -> &mut [u8] {
        let (inner, bytes) = self.0.split_mut();
        let end = inner.value.head_start as usize;
        let start = end - n;
        inner.value.head_start = start as u16;
        &mut bytes[start..end]
    }

    /// Drops the first `n` bytes.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn pull(&mut self, mut n: usize) {
        let inner = &mut *self.0;
        let from_head = n.min(HEAD - inner.value.head_start as usize);
        inner.value.head_start += from_head as u16;
        n -= from_head;
        if n == 0 && inner.parts.first().is_none_or(|part| !part.is_empty()) {
            return;
        }
        let mut empty = 0;
        for part in &mut inner.parts {
            let from_part = n.min(part.len());
            part.advance(from_part);
            n -= from_part;
            if !part.is_empty() {
                break;
            }
            empty += 1;
        }
        assert_eq!(n, 0, "pulled more bytes than the packet has");
        if empty > 0 {
            inner.parts.drain(..empty);
        }
    }

    /// Keeps the first `len` bytes. The head itself is never cut.
    pub fn truncate(&mut self, len: usize) {
        let mut left = len.saturating_sub(self.head().len());
        let parts = self.parts_mut();
        let mut keep = 0;
        for part in parts.iter_mut() {
            if left == 0 {
                break;
            }
            part.truncate(left);
            left -= part.len();
            keep += 1;
        }
        parts.truncate(keep);
    }

    /// Copies all bytes to the front of `to`, and returns how many there were.
    ///
    /// # Panics
    /// If `to` is shorter.
    pub fn copy_to(&self, to: &mut [u8]) -> usize {
        let mut at = 0;
        for bytes in self.slices() {
            to[at..at + bytes.len()].copy_from_slice(bytes);
            at += bytes.len();
        }
        at
    }

    /// All bytes in one vector.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len()];
        self.copy_to(&mut bytes);
        bytes
    }

    /// Head and parts, in order.
    pub fn slices(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(self.head())
            .chain(self.parts().iter().map(Slice::as_slice))
            .filter(|s| !s.is_empty())
    }

    /// Copies the first bytes to `bytes`, whichever pieces they are in. Returns how
    /// many there were.
    pub fn copy_front(&self, bytes: &mut [u8]) -> usize {
        let mut len = 0;
        for slice in self.slices() {
            let n = slice.len().min(bytes.len() - len);
            bytes[len..len + n].copy_from_slice(&slice[..n]);
            len += n;
        }
        len
    }

    /// The ones' complement sum of the bytes from `start` on.
    #[inline]
    pub fn sum_from(&self, start: usize) -> u16 {
        // Nearly every packet has its headers in the head, and one part or none.
        match (self.head().get(start..), self.parts().as_slice()) {
            (Some(head), []) => sum::sum(head),
            (Some(head), [part]) if head.len() % 2 == 0 => sum::add(sum::sum(head), sum::sum(part)),
            _ => self.sum_slices(start),
        }
    }

    fn sum_slices(&self, mut start: usize) -> u16 {
        let (mut total, mut at) = (0, 0);
        for bytes in self.slices() {
            let skip = start.min(bytes.len());
            start -= skip;
            let bytes = &bytes[skip..];
            total = sum::combine(total, at, sum::sum(bytes));
            at += bytes.len();
        }
        total
    }
}

impl Default for Packet {
    fn default() -> Packet {
        Packet::new()
    }
}

impl Clone for Packet {
    /// A packet with a copy of the head and shared parts.
    fn clone(&self) -> Packet {
        let mut packet = Packet(Pooled::new(self.0.value, self.parts().clone()));
        packet.copy_head(self);
        packet
    }
}

impl std::fmt::Debug for Packet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "Packet({} + {} bytes, {:?})",
            self.head().len(),
            self.len() - self.head().len(),
            self.meta()
        )
    }
}

#[cfg(test)]
mod tests;
