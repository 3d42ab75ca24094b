//! TCP headers (RFC 9293 3.1) and their options.

mod fast_open;
mod options;

pub use fast_open::FastOpen;
pub use options::{AccEcn, MAX_SACK_BLOCKS, Options, SackBlocks};

use crate::{Address, Malformed, Seq, checksum, ipv4};

/// Bytes of a header without options.
pub const LEN: usize = 20;
/// Bytes of the largest header.
pub const MAX_LEN: usize = 60;

/// The most payload that a segment without options has in datagrams of `mtu` bytes
/// to `address` (RFC 9293 3.7.1).
#[inline]
pub fn mss_for(mtu: usize, address: Address) -> u16 {
    // RFC 9293 MUST-67
    // RFC 8200 5/1
    // RFC 6691 2/1
    let (least, ip) = if address.is_v4() { (68, ipv4::LEN) } else { (1280, 40) };
    (mtu.clamp(least, usize::from(u16::MAX)) - ip - LEN) as u16
}

/// The control bits.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u16);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Flags = Flags(0x01);
    /// Synchronize sequence numbers.
    pub const SYN: Flags = Flags(0x02);
    /// Reset the connection.
    pub const RST: Flags = Flags(0x04);
    /// Push.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgment field is significant.
    pub const ACK: Flags = Flags(0x10);
    /// The urgent pointer is significant.
    pub const URG: Flags = Flags(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Flags = Flags(0x80);
    /// Accurate ECN (RFC 9768).
    pub const AE: Flags = Flags(0x100);
    /// The three flags of ECN: the ACE field of RFC 9768 3.2.2, where that is agreed on.
    pub const ACE: Flags = Flags(0x1c0);

    /// Both sets together.
    #[inline]
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
    /// The set without `other`.
    #[inline]
    pub const fn without(self, other: Flags) -> Flags {
        Flags(self.0 & !other.0)
    }
    /// Are all of `other` in it?
    #[inline]
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }
    /// The flags of ECN as a number of three bits (RFC 9768 3.2.2).
    #[inline]
    pub const fn ace(self) -> u8 {
        (self.0 >> 6 & 7) as u8
    }
    /// The flags of ECN that say this number, modulo 8.
    #[inline]
    pub const fn of_ace(ace: u32) -> Flags {
        Flags((ace as u16 & 7) << 6)
    }
    /// Is FIN set?
    #[inline]
    pub const fn fin(self) -> bool {
        self.has(Flags::FIN)
    }
    /// Is SYN set?
    #[inline]
    pub const fn syn(self) -> bool {
        self.has(Flags::SYN)
    }
    /// Is RST set?
    #[inline]
    pub const fn rst(self) -> bool {
        self.has(Flags::RST)
    }
    /// Is ACK set?
    #[inline]
    pub const fn ack(self) -> bool {
        self.has(Flags::ACK)
    }
}

impl std::fmt::Debug for Flags {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const NAMES: [(Flags, char); 9] = [
            (Flags::SYN, 'S'),
            (Flags::FIN, 'F'),
            (Flags::RST, 'R'),
            (Flags::PSH, 'P'),
            (Flags::ACK, '.'),
            (Flags::URG, 'U'),
            (Flags::ECE, 'E'),
            (Flags::CWR, 'W'),
            (Flags::AE, 'A'),
        ];
        for (flag, name) in NAMES {
            if self.has(flag) {
                write!(f, "{name}")?;
            }
        }
        Ok(())
    }
}

/// A TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Source port.
    pub source_port: u16,
    /// Destination port.
    pub destination_port: u16,
    /// SEG.SEQ.
    pub seq: Seq,
    /// SEG.ACK; means something only with [`Flags::ACK`].
    pub ack: Seq,
    /// Control bits.
    pub flags: Flags,
    /// The window field as it stands on the wire, not scaled.
    // RFC 9293 MUST-1
    pub window: u16,
    /// SEG.UP; means something only with [`Flags::URG`].
    pub urgent: u16,
    /// The options.
    pub options: Options,
}

impl Header {
    /// The header at the front of `bytes` and how many bytes it took. The
    /// checksum is for the caller, who has the payload. Options that are not
    /// known, or known but malformed, are passed over (RFC 9293 MUST-6, MUST-7).
    ///
    /// # Errors
    /// [`Malformed`] if it is short or its data offset cannot be.
    #[inline]
    pub fn parse(bytes: &[u8]) -> Result<(Header, usize), Malformed> {
        // RFC 9293 MUST-5
        let b = bytes.first_chunk::<LEN>().ok_or(Malformed::Truncated)?;
        let len = (b[12] >> 4) as usize * 4;
        if len < LEN {
            return Err(Malformed::Field);
        }
        let options = bytes.get(LEN..len).ok_or(Malformed::Truncated)?;
        let word = |at: usize| u16::from_be_bytes([b[at], b[at + 1]]);
        let long = |at: usize| u32::from_be_bytes([b[at], b[at + 1], b[at + 2], b[at + 3]]);
        let header = Header {
            source_port: word(0),
            destination_port: word(2),
            seq: Seq(long(4)),
            ack: Seq(long(8)),
            flags: Flags(word(12) & 0x1ff),
            window: word(14),
            urgent: word(18),
            options: Options::parse(options),
        };
        Ok((header, len))
    }

    /// Bytes that [`Header::emit`] writes, a multiple of 4.
    #[inline]
    #[expect(clippy::len_without_is_empty, reason = "no header is empty")]
    pub fn len(&self) -> usize {
        LEN + self.options.len()
    }

    /// Writes the header with a zero checksum.
    ///
    /// # Panics
    /// If `bytes` is not [`Header::len`] long.
    #[inline(always)]
    pub fn emit(&self, bytes: &mut [u8]) {
        let len = bytes.len();
        assert_eq!(len, self.len());
        let (b, options) = bytes.split_first_chunk_mut::<LEN>().expect("at least 20");
        // In stores as wide as the loads that will sum them.
        let ports = u32::from(self.source_port) << 16 | u32::from(self.destination_port);
        let offset = (len as u32 / 4) << 28 | u32::from(self.flags.0) << 16;
        let pair =
            |upper: u32, lower: u32| (u64::from(upper) << 32 | u64::from(lower)).to_be_bytes();
        b[..8].copy_from_slice(&pair(ports, self.seq.0));
        b[8..16].copy_from_slice(&pair(self.ack.0, offset | u32::from(self.window)));
        b[16..20].copy_from_slice(&u32::from(self.urgent).to_be_bytes());
        self.options.emit(options);
    }

    /// As [`Header::emit`], and returns the ones' complement sum of the header:
    /// of the values, since what was just stored in other widths could only be
    /// read back after a wait.
    ///
    /// # Panics
    /// If `bytes` is not [`Header::len`] long.
    #[inline]
    pub fn emit_sum(&self, bytes: &mut [u8]) -> u16 {
        self.emit(bytes);
        let Some(options) = self.options.sum() else { return checksum::sum(bytes) };
        let offset = (bytes.len() as u32 / 4) << 28 | u32::from(self.flags.0) << 16;
        let words = [
            u32::from(self.source_port),
            u32::from(self.destination_port),
            self.seq.0,
            self.ack.0,
            offset | u32::from(self.window),
            u32::from(self.urgent),
        ];
        checksum::fold(words.into_iter().map(u64::from).sum::<u64>() + options)
    }
}

#[cfg(test)]
mod tests;
