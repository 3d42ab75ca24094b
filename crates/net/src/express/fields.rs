//! A TCP header as words, to be written and summed in one go.

use super::{TCP, TCP_TIMESTAMPS, TIMESTAMPS};
use wire::tcp::Flags;
use wire::{FlowKey, Seq, checksum};

/// What differs from segment to segment of a flow in a TCP header.
pub(super) struct Tcp {
    pub seq: Seq,
    pub ack: Seq,
    pub flags: Flags,
    pub window: u16,
    pub timestamps: Option<(u32, u32)>,
}

impl Tcp {
    /// Bytes of the header.
    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        if self.timestamps.is_some() { TCP_TIMESTAMPS } else { TCP }
    }
}

/// A TCP header in words, as it is written and summed.
pub(super) struct Fields {
    /// Of the pseudo-header.
    pseudo: u64,
    ports: u32,
    pub seq: u32,
    ack: u32,
    /// Offset, flags, window.
    control: u32,
    timestamps: Option<(u32, u32)>,
    pub checksum: u16,
}

impl Fields {
    /// The header of a segment whose pseudo-header has this sum.
    #[inline(always)]
    pub(super) fn of(flow: &FlowKey, tcp: &Tcp, pseudo: u64) -> Fields {
        let offset: u32 = if tcp.timestamps.is_some() { 0x8000 } else { 0x5000 };
        Fields {
            pseudo,
            ports: u32::from(flow.local.port) << 16 | u32::from(flow.remote.port),
            seq: tcp.seq.0,
            ack: tcp.ack.0,
            control: (offset | u32::from(tcp.flags.0)) << 16 | u32::from(tcp.window),
            timestamps: tcp.timestamps,
            checksum: 0,
        }
    }

    #[inline(always)]
    pub(super) fn pseudo(&self) -> u16 {
        checksum::fold(self.pseudo)
    }

    /// Of pseudo-header and header, without the sequence number.
    #[inline(always)]
    pub(super) fn without_seq(&self) -> u64 {
        let option = self
            .timestamps
            .map_or(0, |(value, echo)| u64::from(TIMESTAMPS) + u64::from(value) + u64::from(echo));
        let words = [self.ports, self.ack, self.control];
        self.pseudo + words.into_iter().map(u64::from).sum::<u64>() + option
    }

    /// Writes them to `bytes`, as many as there are.
    #[inline(always)]
    pub(super) fn emit(&self, bytes: &mut [u8]) {
        match self.timestamps {
            Some((value, echo)) => {
                let Some(bytes) = bytes.first_chunk_mut::<TCP_TIMESTAMPS>() else { return };
                self.emit_timed(bytes, (value, echo));
            }
            None => {
                let Some(fixed) = bytes.first_chunk_mut::<TCP>() else { return };
                self.emit_fixed(fixed);
            }
        }
    }

    /// The same, with these time stamps.
    #[inline(always)]
    pub(super) fn emit_timed(&self, bytes: &mut [u8; TCP_TIMESTAMPS], (value, echo): (u32, u32)) {
        let Some(fixed) = bytes.first_chunk_mut::<TCP>() else { return };
        self.emit_fixed(fixed);
        bytes[20..24].copy_from_slice(&TIMESTAMPS.to_be_bytes());
        bytes[24..32].copy_from_slice(&pair(value, echo));
    }

    #[inline(always)]
    fn emit_fixed(&self, bytes: &mut [u8; TCP]) {
        bytes[..8].copy_from_slice(&pair(self.ports, self.seq));
        bytes[8..16].copy_from_slice(&pair(self.ack, self.control));
        bytes[16..20].copy_from_slice(&(u32::from(self.checksum) << 16).to_be_bytes());
    }
}

/// Two words as they stand in a header.
#[inline(always)]
pub(super) fn pair(a: u32, b: u32) -> [u8; 8] {
    (u64::from(a) << 32 | u64::from(b)).to_be_bytes()
}
