//! IPv4 headers (RFC 791). Options are accepted and passed over.

use crate::icmpv4::{self, Message};
use crate::{Endpoint, FlowKey, Malformed, checksum, protocol};
use std::net::Ipv4Addr;

/// Bytes of a header without options.
pub const LEN: usize = 20;

/// The bits of [`Header::tos`] that say what a sender knows of congestion (RFC 3168 5).
pub const ECN: u8 = 0b11;
/// [`ECN`]: the sender listens to marks.
pub const ECT_0: u8 = 0b10;
/// ECN-capable, the other way (RFC 3168 5): of low latency (RFC 9331), or a mangled ECT(0).
pub const ECT_1: u8 = 0b01;
/// [`ECN`]: a queue on the way was long.
pub const CE: u8 = 0b11;

/// An IPv4 header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Bytes of the header itself: 20 to 60. Beyond 20 there are options.
    pub header_len: u8,
    /// DSCP and ECN.
    pub tos: u8,
    /// Bytes of the whole datagram or fragment.
    pub total_len: u16,
    /// Names the datagram that a fragment belongs to.
    pub identification: u16,
    /// Must not be fragmented.
    pub dont_fragment: bool,
    /// Is followed by more fragments.
    pub more_fragments: bool,
    /// Where this fragment's payload stands in the datagram's, in bytes; a
    /// multiple of 8.
    pub fragment_offset: u16,
    /// Time to live.
    pub ttl: u8,
    /// Protocol of the payload ([`crate::protocol`]).
    pub protocol: u8,
    /// Source.
    pub source: Ipv4Addr,
    /// Destination.
    pub destination: Ipv4Addr,
}

/// A look at the front of a datagram whose header is there: version 4, at least
/// [`LEN`] bytes, and all of them. Its checksum was not looked at, nor how many
/// bytes follow. For those who look before IP does: steering, filters, and those
/// who read what an ICMP error quotes.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    fixed: &'a [u8; LEN],
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// The datagram that starts with `front`, if it can be one.
    #[inline]
    pub fn new(front: &'a [u8]) -> Option<View<'a>> {
        let fixed = front.first_chunk::<LEN>()?;
        let header_len = usize::from(fixed[0] & 0x0f) * 4;
        let payload = front.get(header_len..)?;
        (fixed[0] >> 4 == 4 && header_len >= LEN).then_some(View { fixed, payload })
    }

    /// Protocol of the payload ([`crate::protocol`]).
    #[inline]
    pub fn protocol(self) -> u8 {
        self.fixed[9]
    }

    /// Source.
    #[inline]
    pub fn source(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.long(12))
    }

    /// Destination.
    #[inline]
    pub fn destination(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.long(16))
    }

    #[inline]
    fn long(self, at: usize) -> u32 {
        let b = self.fixed;
        u32::from_be_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]])
    }

    /// Is it a part of a datagram?
    #[inline]
    pub fn is_fragment(self) -> bool {
        u16::from_be_bytes([self.fixed[6], self.fixed[7]]) & 0x3fff != 0
    }

    /// Is the start of the datagram's payload elsewhere?
    #[inline]
    pub fn is_later_fragment(self) -> bool {
        u16::from_be_bytes([self.fixed[6], self.fixed[7]]) & 0x1fff != 0
    }

    /// What follows the header, as far as it is there.
    #[inline]
    pub fn payload(self) -> &'a [u8] {
        self.payload
    }

    /// Source and destination port: of TCP and UDP, unless they are elsewhere.
    #[inline]
    pub fn ports(self) -> Option<(u16, u16)> {
        if self.is_later_fragment() || !matches!(self.protocol(), protocol::TCP | protocol::UDP) {
            return None;
        }
        let [a, b, c, d] = *self.payload.first_chunk::<4>()?;
        Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }

    /// The flow that it belongs to, as its receiver names it; of TCP and UDP,
    /// unless the ports are elsewhere.
    #[inline]
    pub fn flow(self) -> Option<FlowKey> {
        let (source_port, destination_port) = self.ports()?;
        Some(FlowKey {
            local: Endpoint { address: self.destination().into(), port: destination_port },
            remote: Endpoint { address: self.source().into(), port: source_port },
        })
    }

    /// The datagram that an ICMP error is about, as far as it is quoted.
    #[inline]
    pub fn quoted(self) -> Option<View<'a>> {
        if self.protocol() != protocol::ICMP || self.is_fragment() {
            return None;
        }
        match Message::parse(self.payload).ok()? {
            Message::Unreachable(_) | Message::TimeExceeded(_) | Message::ParameterProblem(_) => {
                View::new(self.payload.get(icmpv4::LEN..)?)
            }
            _ => None,
        }
    }
}

impl Header {
    /// The header of a whole datagram with `payload_len` bytes of payload: no options,
    /// identification 0, time to live 64.
    ///
    /// # Panics
    /// If that is more than a datagram holds.
    #[inline]
    pub fn new(
        source: Ipv4Addr,
        destination: Ipv4Addr,
        protocol: u8,
        payload_len: usize,
    ) -> Header {
        Header {
            header_len: LEN as u8,
            tos: 0,
            total_len: u16::try_from(LEN + payload_len).expect("fits a datagram"),
            identification: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol,
            source,
            destination,
        }
    }

    /// The header at the front of `bytes`; its checksum has been verified, and
    /// `header_len <= total_len`. Whether `total_len` bytes are there is for the
    /// caller to see, since payload may be elsewhere.
    ///
    /// # Errors
    /// [`Malformed`].
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Header, Malformed> {
        let b = bytes.first_chunk::<LEN>().ok_or(Malformed::Truncated)?;
        let header_len = (b[0] & 0x0f) * 4;
        let total_len = u16::from_be_bytes([b[2], b[3]]);
        if b[0] >> 4 != 4 || (header_len as usize) < LEN || u16::from(header_len) > total_len {
            return Err(Malformed::Field);
        }
        let all = bytes.get(..header_len as usize).ok_or(Malformed::Truncated)?;
        if !checksum::is_right(checksum::sum(all)) {
            return Err(Malformed::Checksum);
        }
        let fragment = u16::from_be_bytes([b[6], b[7]]);
        Ok(Header {
            header_len,
            tos: b[1],
            total_len,
            identification: u16::from_be_bytes([b[4], b[5]]),
            dont_fragment: fragment & 0x4000 != 0,
            more_fragments: fragment & 0x2000 != 0,
            fragment_offset: (fragment & 0x1fff) << 3,
            ttl: b[8],
            protocol: b[9],
            source: Ipv4Addr::new(b[12], b[13], b[14], b[15]),
            destination: Ipv4Addr::new(b[16], b[17], b[18], b[19]),
        })
    }

    /// Is it a part of a datagram?
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.more_fragments || self.fragment_offset != 0
    }

    /// Writes the first 20 bytes of the header, checksum included. Options, if
    /// `header_len` says there are any, are for the caller to write, and to add
    /// to the checksum.
    ///
    /// # Panics
    /// If `bytes` is not [`LEN`] long.
    #[inline]
    pub fn emit(&self, bytes: &mut [u8]) {
        let b: &mut [u8; LEN] = bytes.try_into().expect("20 bytes");
        let fragment = u16::from(self.dont_fragment) << 14
            | u16::from(self.more_fragments) << 13
            | self.fragment_offset >> 3;
        let version = 0x40 | ((self.header_len / 4) & 0x0f);
        // Summed as words in registers: loads of what was just stored in other
        // widths would have to wait for the stores.
        let mut words = [
            word([version, self.tos], self.total_len),
            word(self.identification.to_be_bytes(), fragment),
            word([self.ttl, self.protocol], 0),
            self.source.to_bits(),
            self.destination.to_bits(),
        ];
        let sum = !checksum::fold(words.iter().map(|&word| u64::from(word)).sum());
        words[2] |= u32::from(sum);
        for (to, word) in b.as_chunks_mut::<4>().0.iter_mut().zip(words) {
            *to = word.to_be_bytes();
        }
    }
}

#[inline]
fn word(upper: [u8; 2], lower: u16) -> u32 {
    u32::from(u16::from_be_bytes(upper)) << 16 | u32::from(lower)
}

#[cfg(test)]
mod tests;
