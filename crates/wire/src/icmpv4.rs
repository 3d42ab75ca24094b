//! ICMP for IPv4 (RFC 792): echo, and the errors that matter to transports.

use crate::Malformed;

/// Bytes of every ICMP header that the stack reads or writes.
pub const LEN: usize = 8;

/// Why a destination could not be reached (type 3's code).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreachable {
    /// The network (0, and codes that say the same in other words).
    Network,
    /// The host.
    Host,
    /// No such protocol there.
    Protocol,
    /// No such port there.
    Port,
    /// Too big, and must not be fragmented; with the MTU of the next hop, 0 if
    /// the router did not say (RFC 1191).
    FragmentationNeeded(u16),
    /// Forbidden by an administrator (codes 9, 10, 13).
    Prohibited,
}

/// The meaning of an ICMP header. What follows it is the payload: echo data, or
/// the start of the datagram that an error is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message {
    /// Echo request: identifier, sequence number.
    EchoRequest(u16, u16),
    /// Echo reply.
    EchoReply(u16, u16),
    /// Destination unreachable.
    Unreachable(Unreachable),
    /// Time exceeded: in transit (0) or in reassembly (1).
    TimeExceeded(u8),
    /// Parameter problem, with the offset of the bad byte.
    ParameterProblem(u8),
    /// Any other type and code; the stack does not act on it.
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
        let (id, seq) = (u16::from_be_bytes([b[4], b[5]]), u16::from_be_bytes([b[6], b[7]]));
        Ok(match (b[0], b[1]) {
            (8, 0) => Message::EchoRequest(id, seq),
            (0, 0) => Message::EchoReply(id, seq),
            (3, 0 | 5 | 6 | 8 | 11) => Message::Unreachable(Unreachable::Network),
            (3, 1 | 7 | 12) => Message::Unreachable(Unreachable::Host),
            (3, 2) => Message::Unreachable(Unreachable::Protocol),
            (3, 3) => Message::Unreachable(Unreachable::Port),
            (3, 4) => Message::Unreachable(Unreachable::FragmentationNeeded(seq)),
            (3, 9 | 10 | 13) => Message::Unreachable(Unreachable::Prohibited),
            (11, code @ 0..=1) => Message::TimeExceeded(code),
            (12, 0) => Message::ParameterProblem(b[4]),
            (kind, code) => Message::Other(kind, code),
        })
    }

    /// Writes the header with a zero checksum.
    ///
    /// # Panics
    /// If `bytes` is not [`LEN`] long.
    pub fn emit(&self, bytes: &mut [u8]) {
        let b: &mut [u8; LEN] = bytes.try_into().expect("8 bytes");
        let (kind, code, id, seq) = match *self {
            Message::EchoRequest(id, seq) => (8, 0, id, seq),
            Message::EchoReply(id, seq) => (0, 0, id, seq),
            Message::Unreachable(why) => match why {
                Unreachable::Network => (3, 0, 0, 0),
                Unreachable::Host => (3, 1, 0, 0),
                Unreachable::Protocol => (3, 2, 0, 0),
                Unreachable::Port => (3, 3, 0, 0),
                Unreachable::FragmentationNeeded(mtu) => (3, 4, 0, mtu),
                Unreachable::Prohibited => (3, 13, 0, 0),
            },
            Message::TimeExceeded(code) => (11, code, 0, 0),
            Message::ParameterProblem(at) => (12, 0, u16::from(at) << 8, 0),
            Message::Other(kind, code) => (kind, code, 0, 0),
        };
        b[..4].copy_from_slice(&[kind, code, 0, 0]);
        b[4..6].copy_from_slice(&id.to_be_bytes());
        b[6..8].copy_from_slice(&seq.to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
