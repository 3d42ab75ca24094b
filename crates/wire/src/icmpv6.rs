//! ICMP for IPv6 (RFC 4443): echo, and the errors that matter to transports. Its checksum
//! is that of the message and of a pseudo-header ([`crate::checksum::pseudo_header`]).

use crate::Malformed;

/// Bytes of every ICMP header that the stack reads or writes.
pub const LEN: usize = 8;

/// Why a destination could not be reached (type 1's code).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// There is no route to it (0), or none for this source (2, 7).
    NoRoute,
    /// Forbidden by an administrator (1, 5, 6).
    Prohibited,
    /// Its neighbour does not answer (3, and codes to come).
    Address,
    /// No such port there (4).
    Port,
}

/// The meaning of an ICMP header. What follows it is the payload: echo data, or
/// the start of the datagram that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Destination unreachable.
    Unreachable(Unreachable),
    /// Too big for the next link, whose MTU this is.
    PacketTooBig(u32),
    /// Time exceeded: in transit (0) or in reassembly (1).
    TimeExceeded(u8),
    /// Parameter problem: its code, and the offset of the bad byte.
    ParameterProblem(u8, u32),
    /// Echo request: identifier, sequence number.
    EchoRequest(u16, u16),
    /// Echo reply.
    EchoReply(u16, u16),
    /// Any other type and code.
    Other(u8, u8),
}

impl Message {
    /// The message at the front of `bytes`. The checksum is for the caller, who
    /// has the payload.
    ///
    /// # Errors
    /// [`Malformed::Truncated`].
    pub fn parse(bytes: &[u8]) -> Result<Message, Malformed> {
        let b = bytes.first_chunk::<LEN>().ok_or(Malformed::Truncated)?;
        let long = u32::from_be_bytes([b[4], b[5], b[6], b[7]]);
        let (id, seq) = ((long >> 16) as u16, long as u16);
        Ok(match (b[0], b[1]) {
            (1, 0 | 2 | 7) => Message::Unreachable(Unreachable::NoRoute),
            (1, 1 | 5 | 6) => Message::Unreachable(Unreachable::Prohibited),
            (1, 4) => Message::Unreachable(Unreachable::Port),
            (1, _) => Message::Unreachable(Unreachable::Address),
            (2, _) => Message::PacketTooBig(long),
            (3, code) => Message::TimeExceeded(code),
            (4, code) => Message::ParameterProblem(code, long),
            (128, 0) => Message::EchoRequest(id, seq),
            (129, 0) => Message::EchoReply(id, seq),
            (kind, code) => Message::Other(kind, code),
        })
    }

    /// Writes the header with a zero checksum.
    ///
    /// # Panics
    /// If `bytes` is not [`LEN`] long.
    pub fn emit(&self, bytes: &mut [u8]) {
        let b: &mut [u8; LEN] = bytes.try_into().expect("8 bytes");
        let pair = |id: u16, seq: u16| u32::from(id) << 16 | u32::from(seq);
        let (kind, code, long) = match *self {
            Message::Unreachable(Unreachable::NoRoute) => (1, 0, 0),
            Message::Unreachable(Unreachable::Prohibited) => (1, 1, 0),
            Message::Unreachable(Unreachable::Address) => (1, 3, 0),
            Message::Unreachable(Unreachable::Port) => (1, 4, 0),
            Message::PacketTooBig(mtu) => (2, 0, mtu),
            Message::TimeExceeded(code) => (3, code, 0),
            Message::ParameterProblem(code, at) => (4, code, at),
            Message::EchoRequest(id, seq) => (128, 0, pair(id, seq)),
            Message::EchoReply(id, seq) => (129, 0, pair(id, seq)),
            Message::Other(kind, code) => (kind, code, 0),
        };
        b[..4].copy_from_slice(&[kind, code, 0, 0]);
        b[4..8].copy_from_slice(&long.to_be_bytes());
    }

    /// Is it an error, which must not be answered by another (RFC 4443 2.4 e)? Types below
    /// 128 are, known or not.
    pub fn is_error(&self) -> bool {
        match *self {
            Message::EchoRequest(..) | Message::EchoReply(..) => false,
            Message::Other(kind, _) => kind < 128,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests;
