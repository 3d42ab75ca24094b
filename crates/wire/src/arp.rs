//! ARP for IPv4 over Ethernet (RFC 826).

use crate::{EthernetAddress, Malformed};
use std::net::Ipv4Addr;

/// Bytes of a message.
pub const LEN: usize = 28;

/// What an ARP message does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Who has the target's IP address?
    Request,
    /// The sender has it.
    Reply,
}

/// An ARP message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Request or reply.
    pub operation: Operation,
    /// The sender's Ethernet address.
    pub sender: EthernetAddress,
    /// The sender's IP address.
    pub sender_ip: Ipv4Addr,
    /// The target's Ethernet address; any in a request.
    pub target: EthernetAddress,
    /// The target's IP address.
    pub target_ip: Ipv4Addr,
}

const PREFIX: [u8; 6] = [0, 1, 0x08, 0x00, 6, 4];

impl Message {
    /// The message at the front of `bytes` (frames may be padded).
    ///
    /// # Errors
    /// [`Malformed`] if it is short, not for IPv4 over Ethernet, or neither
    /// request nor reply.
    pub fn parse(bytes: &[u8]) -> Result<Message, Malformed> {
        let b = bytes.first_chunk::<LEN>().ok_or(Malformed::Truncated)?;
        let operation = match (b[..6] == PREFIX, b[6], b[7]) {
            (true, 0, 1) => Operation::Request,
            (true, 0, 2) => Operation::Reply,
            _ => return Err(Malformed::Field),
        };
        Ok(Message {
            operation,
            sender: EthernetAddress(b[8..14].try_into().expect("6 bytes")),
            sender_ip: Ipv4Addr::new(b[14], b[15], b[16], b[17]),
            target: EthernetAddress(b[18..24].try_into().expect("6 bytes")),
            target_ip: Ipv4Addr::new(b[24], b[25], b[26], b[27]),
        })
    }

    /// Writes the message.
    ///
    /// # Panics
    /// If `bytes` is not [`LEN`] long.
    pub fn emit(&self, bytes: &mut [u8]) {
        assert_eq!(bytes.len(), LEN);
        bytes[..6].copy_from_slice(&PREFIX);
        let code: u16 = if self.operation == Operation::Request { 1 } else { 2 };
        bytes[6..8].copy_from_slice(&code.to_be_bytes());
        bytes[8..14].copy_from_slice(&self.sender.0);
        bytes[14..18].copy_from_slice(&self.sender_ip.octets());
        bytes[18..24].copy_from_slice(&self.target.0);
        bytes[24..28].copy_from_slice(&self.target_ip.octets());
    }
}

#[cfg(test)]
mod tests;
