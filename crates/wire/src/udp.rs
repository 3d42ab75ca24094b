//! UDP headers (RFC 768).

use crate::Malformed;

/// Bytes of a header.
pub const LEN: usize = 8;

/// A UDP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source port; 0 if the sender wants no answer.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// Bytes of header and payload.
    pub length: u16,
    /// The checksum field; 0 if the sender computed none (IPv4 only).
    pub checksum: u16,
}

impl Header {
    /// The header at the front of `bytes`. The checksum is for the caller.
    ///
    /// # Errors
    /// [`Malformed`] if it is short or its length field is below 8.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<Header, Malformed> {
        let b = bytes.first_chunk::<LEN>().ok_or(Malformed::Truncated)?;
        let word = |at: usize| u16::from_be_bytes([b[at], b[at + 1]]);
        let header = Header {
            source_port: word(0),
            destination_port: word(2),
            length: word(4),
            checksum: word(6),
        };
        if (header.length as usize) < LEN { Err(Malformed::Field) } else { Ok(header) }
    }

    /// Writes the header.
    ///
    /// # Panics
    /// If `bytes` is not [`LEN`] long.
    #[inline]
    pub fn emit(&self, bytes: &mut [u8]) {
        let b: &mut [u8; LEN] = bytes.try_into().expect("8 bytes");
        b[..2].copy_from_slice(&self.source_port.to_be_bytes());
        b[2..4].copy_from_slice(&self.destination_port.to_be_bytes());
        b[4..6].copy_from_slice(&self.length.to_be_bytes());
        b[6..8].copy_from_slice(&self.checksum.to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
