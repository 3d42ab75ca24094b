//! Packets as pcapng (draft-ietf-opsawg-pcapng).

use super::{Capture, Captured};
use crate::Medium;
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::{DataLink, PcapError};
use std::borrow::Cow;
use std::io::{self, Write};
use std::time::SystemTime;

/// Bits 0 and 1 of `epb_flags`.
pub(crate) const INBOUND: u32 = 1;
pub(crate) const OUTBOUND: u32 = 2;

/// Writes packets of a capture as pcapng. It does not buffer.
pub struct Writer<W: Write> {
    to: PcapNgWriter<W>,
    written: u64,
    dropped: u64,
}

pub(crate) fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

/// How a file describes a device; times are nanoseconds.
pub(crate) fn interface(name: &str, medium: Medium, snaplen: u32) -> InterfaceDescriptionBlock<'_> {
    let linktype = match medium {
        Medium::Ethernet => DataLink::ETHERNET,
        Medium::Ip => DataLink::RAW,
    };
    InterfaceDescriptionBlock {
        linktype,
        snaplen,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
            // 10^-9 seconds.
            InterfaceDescriptionOption::IfTsResol(9),
        ],
    }
}

impl<W: Write> Writer<W> {
    /// Writes the beginning: the devices that packets of `capture` pass.
    ///
    /// # Errors
    /// Those of `to`.
    pub fn new(to: W, capture: &Capture) -> io::Result<Writer<W>> {
        let mut writer = PcapNgWriter::new(to).map_err(io_error)?;
        let snaplen = capture.shared.options.snaplen.min(super::SNAPLEN) as u32;
        for known in capture.interfaces() {
            let block = interface(&known.name, known.medium, snaplen);
            writer.write_pcapng_block(block).map_err(io_error)?;
        }
        Ok(Writer { to: writer, written: 0, dropped: 0 })
    }

    /// Writes a packet.
    ///
    /// # Errors
    /// Those of the writer underneath.
    pub fn write(&mut self, captured: &Captured) -> io::Result<()> {
        let direction = if captured.outbound { OUTBOUND } else { INBOUND };
        let block = EnhancedPacketBlock {
            interface_id: captured.interface,
            timestamp: captured.time,
            original_len: captured.len as u32,
            data: Cow::Borrowed(&captured.bytes),
            options: vec![EnhancedPacketOption::Flags(direction)],
        };
        self.to.write_pcapng_block(block).map_err(io_error)?;
        self.written += 1;
        Ok(())
    }

    /// Packets that were written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Packets that found no room, as the end says; 0 before [`Writer::finish`].
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Writes the end: how many packets were written, and how many found no room.
    ///
    /// # Errors
    /// Those of the writer underneath.
    pub fn finish(&mut self, capture: &Capture) -> io::Result<()> {
        self.dropped = capture.dropped();
        let block = InterfaceStatisticsBlock {
            // The counts are of all devices together.
            interface_id: 0,
            timestamp: now(),
            options: vec![
                InterfaceStatisticsOption::IsbFilterAccept(self.written + self.dropped),
                InterfaceStatisticsOption::IsbOsDrop(self.dropped),
            ],
        };
        self.to.write_pcapng_block(block).map_err(io_error)?;
        Ok(())
    }

    /// What is written to.
    pub fn get_mut(&mut self) -> &mut W {
        self.to.get_mut()
    }
}

/// Now, in nanoseconds, as two words of which the upper one stands first.
fn now() -> u64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let nanos = now.as_nanos() as u64;
    if cfg!(target_endian = "little") { nanos.rotate_left(32) } else { nanos }
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Writer")
    }
}
