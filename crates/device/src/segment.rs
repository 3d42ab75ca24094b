//! What a device without offload needs in software: cutting a TCP packet of
//! several segments into segments, or a UDP packet into datagrams, and filling in checksums.

use crate::{Batch, Medium};
use std::net::Ipv4Addr;
use wire::packet::{ChecksumState, HEAD};
use wire::tcp::Flags;
use wire::{Address, Malformed, Packet, Parts, Slice};
use wire::{checksum, ethernet, ipv4, ipv6, protocol, tcp, udp};

/// Where the checksum stands in a TCP header.
const TCP_CHECKSUM: usize = 16;
/// Where it stands in a UDP header.
const UDP_CHECKSUM: u16 = 6;
/// Where the length stands in a UDP header.
const UDP_LENGTH: usize = 4;

/// Fills in the transport checksum of a packet in [`ChecksumState::Partial`],
/// which is [`ChecksumState::Complete`] then; leaves others as they are. Bytes
/// that are shared with others are copied first.
///
/// # Errors
/// [`Malformed::Truncated`] if the checksum field is not among the contiguous
/// bytes in front.
pub fn complete_checksum(packet: &mut Packet) -> Result<(), Malformed> {
    let meta = *packet.meta();
    if meta.checksum != ChecksumState::Partial {
        return Ok(());
    }
    let start = usize::from(meta.csum_start);
    let at = start + usize::from(meta.csum_offset);
    if at + 2 > packet.front().len() {
        return Err(Malformed::Truncated);
    }
    let sum = finished(packet.sum_from(start), meta.csum_offset);
    write(packet, at, &sum.to_be_bytes());
    packet.meta_mut().checksum = ChecksumState::Complete;
    Ok(())
}

/// The checksum field for data, field included, that sums to `sum`.
/// `csum_offset` tells the protocol: a sum of 0 is written as 0xffff for UDP
/// (RFC 768).
pub fn finished(sum: u16, csum_offset: u16) -> u16 {
    match !sum {
        // A checksum of 0 would say that there is none (RFC 768).
        0 if csum_offset == UDP_CHECKSUM => 0xffff,
        sum => sum,
    }
}

/// Where the checksum of a packet stands that a device was to fill in, for copies of its
/// bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unfinished {
    start: u16,
    offset: u16,
}

impl Unfinished {
    /// `None` if there is nothing to fill in.
    pub(crate) fn of(packet: &Packet) -> Option<Unfinished> {
        let meta = packet.meta();
        let partial = meta.checksum == ChecksumState::Partial;
        partial.then_some(Unfinished { start: meta.csum_start, offset: meta.csum_offset })
    }

    /// Fills it in, in a copy of the whole packet.
    pub(crate) fn fill_in(self, bytes: &mut [u8]) {
        let Some(covered) = bytes.get_mut(usize::from(self.start)..) else { return };
        let sum = finished(checksum::sum(covered), self.offset);
        let at = usize::from(self.offset);
        if let Some(field) = covered.get_mut(at..at + 2) {
            field.copy_from_slice(&sum.to_be_bytes());
        }
    }
}

/// Writes into the contiguous bytes in front, on a copy if they are shared.
fn write(packet: &mut Packet, at: usize, bytes: &[u8]) {
    if !packet.head().is_empty() {
        packet.head_mut()[at..at + bytes.len()].copy_from_slice(bytes);
        return;
    }
    let Some(part) = packet.parts_mut().first_mut() else { return };
    if !part.is_unique() {
        // A part is no longer than a block, so the copy is whole.
        *part = Slice::copy_of(part);
    }
    if let Some(front) = part.get_mut() {
        front[at..at + bytes.len()].copy_from_slice(bytes);
    }
}

/// Cuts a TCP or UDP packet, of IPv4 or IPv6 without extension headers, that stands for several segments (`gso_size` is not
/// 0) or datagrams into packets of one each, appended to `into`. They share the
/// payload, and their checksums are [`ChecksumState::Partial`]. Any other packet
/// is passed on as it is.
///
/// # Errors
/// [`Malformed`] if the packet does not have the headers it should; it is
/// dropped then.
pub fn cut(mut packet: Packet, medium: Medium, into: &mut Batch) -> Result<(), Malformed> {
    if packet.meta().gso_size == 0 {
        into.push_back(packet);
        return Ok(());
    }
    let template = Template::of(&packet, medium)?;
    let meta = *packet.meta();
    packet.pull(template.len);
    let mut payload = packet.take_parts();
    if !packet.head().is_empty() {
        payload.insert(0, Slice::copy_of(packet.head()));
    }
    let total: usize = payload.iter().map(Slice::len).sum();
    let mut payload = payload.into_iter();
    let mut rest = None;
    let mut at = 0;
    loop {
        let len = template.gso_size.min(total - at);
        let mut segment = Packet::from_parts(gather(&mut rest, &mut payload, len));
        template.push(&mut segment, at, len, at + len == total);
        *segment.meta_mut() = meta;
        let meta = segment.meta_mut();
        meta.gso_size = 0;
        meta.checksum = ChecksumState::Partial;
        meta.csum_start = template.transport as u16;
        meta.csum_offset = template.checksum as u16;
        into.push_back(segment);
        at += len;
        if at == total {
            return Ok(());
        }
    }
}

/// The next `len` bytes of `rest` and then `payload`, which have them.
fn gather(
    rest: &mut Option<Slice>,
    payload: &mut impl Iterator<Item = Slice>,
    mut len: usize,
) -> Parts {
    let mut parts = Parts::new();
    while len > 0 {
        let Some(mut slice) = rest.take().or_else(|| payload.next()) else { break };
        let piece = slice.split_to(len.min(slice.len()));
        len -= piece.len();
        if !piece.is_empty() {
            parts.push(piece);
        }
        if !slice.is_empty() {
            *rest = Some(slice);
        }
    }
    parts
}

/// The headers of a packet to be cut.
struct Template {
    bytes: [u8; HEAD],
    /// Bytes of all headers.
    len: usize,
    /// Where the IP header starts.
    ip: usize,
    is_v4: bool,
    /// Where the header of TCP or UDP starts.
    transport: usize,
    /// Where its checksum stands, from there.
    checksum: usize,
    /// The pseudo-header's sum without the length.
    pseudo: u16,
    /// Bytes of payload in each segment but the last.
    gso_size: usize,
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn is_ip(ethertype: u16) -> bool {
    matches!(ethertype, ethernet::ethertype::IPV4 | ethernet::ethertype::IPV6)
}

/// Bytes of the IP header in front of a segment or datagram, what follows it, and the addresses in it. It is not parsed,
/// since the length of a super-packet may not fit, and the checksum not be there.
fn below(front: &[u8]) -> Result<(usize, u8, Address, Address), Malformed> {
    let first = *front.first().ok_or(Malformed::Truncated)?;
    if first >> 4 == 6 {
        let header = ipv6::Header::parse(front)?;
        let ends = (header.source.into(), header.destination.into());
        return Ok((ipv6::LEN, header.next_header, ends.0, ends.1));
    }
    let fixed = front.first_chunk::<{ ipv4::LEN }>().ok_or(Malformed::Truncated)?;
    let len = usize::from(first & 0x0f) * 4;
    if first >> 4 != 4 || len < ipv4::LEN {
        return Err(Malformed::Field);
    }
    let address =
        |at: usize| Ipv4Addr::new(fixed[at], fixed[at + 1], fixed[at + 2], fixed[at + 3]).into();
    Ok((len, fixed[9], address(12), address(16)))
}

impl Template {
    fn of(packet: &Packet, medium: Medium) -> Result<Template, Malformed> {
        let front = packet.front();
        let ip = match medium {
            Medium::Ethernet => match ethernet::Header::parse(front)? {
                (header, len) if is_ip(header.ethertype) => len,
                _ => return Err(Malformed::Field),
            },
            Medium::Ip => 0,
        };
        let (below, kind, source, destination) = below(front.get(ip..).unwrap_or_default())?;
        let transport = ip + below;
        let (len, checksum) = match kind {
            protocol::UDP => (transport + udp::LEN, usize::from(UDP_CHECKSUM)),
            protocol::TCP => {
                let offset = front.get(transport + 12).ok_or(Malformed::Truncated)? >> 4;
                (transport + usize::from(offset) * 4, TCP_CHECKSUM)
            }
            _ => return Err(Malformed::Field),
        };
        let least = if kind == protocol::UDP { udp::LEN } else { tcp::LEN };
        if len < transport + least || len > HEAD {
            return Err(Malformed::Field);
        }
        let mut bytes = [0; HEAD];
        bytes[..len].copy_from_slice(front.get(..len).ok_or(Malformed::Truncated)?);
        let pseudo = checksum::pseudo_header(source, destination, kind, 0);
        let gso_size = usize::from(packet.meta().gso_size);
        if len - ip + gso_size.min(packet.len()) > usize::from(u16::MAX) {
            return Err(Malformed::Field);
        }
        let is_v4 = source.is_v4();
        Ok(Template { bytes, len, ip, is_v4, transport, checksum, pseudo, gso_size })
    }

    /// Puts the headers in front of the segment with `len` bytes of payload from
    /// `at` on.
    fn push(&self, segment: &mut Packet, at: usize, len: usize, last: bool) {
        let bytes = segment.push(self.len);
        bytes.copy_from_slice(&self.bytes[..self.len]);
        let (_, ip) = bytes.split_at_mut(self.ip);
        let (ip, transport) = ip.split_at_mut(self.transport - self.ip);
        let whole = transport.len() + len;
        if self.is_v4 {
            let total = (ip.len() + whole) as u16;
            ip[2..4].copy_from_slice(&total.to_be_bytes());
            // Each segment is a datagram of its own.
            let identification = word(ip, 4).wrapping_add((at / self.gso_size) as u16);
            ip[4..6].copy_from_slice(&identification.to_be_bytes());
            ip[10..12].copy_from_slice(&[0, 0]);
            let sum = !checksum::sum(ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
        } else {
            let payload = (ip.len() - ipv6::LEN + whole) as u16;
            ip[4..6].copy_from_slice(&payload.to_be_bytes());
        }
        let pseudo = checksum::add(self.pseudo, whole as u16);
        transport[self.checksum..self.checksum + 2].copy_from_slice(&pseudo.to_be_bytes());
        if self.checksum == TCP_CHECKSUM {
            advance(transport, at, last);
        } else {
            let length = (whole as u16).to_be_bytes();
            transport[UDP_LENGTH..UDP_LENGTH + 2].copy_from_slice(&length);
        }
    }
}

/// Makes a TCP header that of the segment whose payload begins at `at`.
fn advance(tcp: &mut [u8], at: usize, last: bool) {
    let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add(at as u32);
    tcp[4..8].copy_from_slice(&seq.to_be_bytes());
    let mut flags = Flags(tcp[13].into());
    if !last {
        flags = flags.without(Flags::FIN.with(Flags::PSH));
    }
    if at > 0 {
        // CWR is answered once (RFC 3168 6.1.2).
        flags = flags.without(Flags::CWR);
    }
    tcp[13] = flags.0 as u8;
}

#[cfg(test)]
pub(crate) mod tests;
