//! A wrapper that writes what passes to a capture file in pcapng format
//! (draft-ietf-opsawg-pcapng), for Wireshark and its kin.
//!
//! Each packet has its time in nanoseconds and its direction. Transport
//! checksums that are left to the device are filled in in the file; packets that
//! stand for several segments are one packet in it, as the device sees them.

use crate::capture::{INBOUND, OUTBOUND, interface, io_error};
use crate::offer::Offer;
use crate::segment::Unfinished;
use crate::{Batch, Device, Queue, Receive, Report, Transmit};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use platform::Instant;
use platform::Mutex;
use platform::atomic::{AtomicU64, Ordering};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use wire::Packet;

/// Bytes of a packet that are written at most: all of any packet.
const SNAPLEN: u32 = 256 * 1024;
/// How long a packet may wait to be seen in the file.
const FLUSH: Duration = Duration::from_secs(1);
const BUFFER: usize = 256 * 1024;

/// `device`, with what passes written to a new file at `path`.
///
/// # Errors
/// Those of making the file and writing to it. Later errors, such as a full
/// disk, end the capture but not the device. How many packets are not in the file is
/// one of [`Device::reports`], the one called `capture`.
pub fn wrap(device: Device, path: &Path) -> io::Result<Device> {
    wrap_writer(device, File::create(path)?)
}

/// As [`wrap`], into any writer, which is buffered, and flushed at least once a
/// second and when the device is dropped.
///
/// # Errors
/// Those of writing to it.
pub fn wrap_writer(device: Device, writer: impl Write + Send + 'static) -> io::Result<Device> {
    let missed = Arc::new(Missed::default());
    let capture = Capture::start(&device, Box::new(writer), missed.clone())?;
    let capture = Arc::new(Mutex::new(capture));
    let Device { queues, mut reports, .. } = device;
    reports.push(missed);
    let wrap_queue = |queue: Queue| Queue {
        receive: Box::new(PcapReceive { device: queue.receive, capture: capture.clone() }),
        transmit: Box::new(PcapTransmit {
            device: queue.transmit,
            capture: capture.clone(),
            offer: Offer::default(),
        }),
    };
    Ok(Device { queues: queues.into_iter().map(wrap_queue).collect(), reports, ..device })
}

/// How many packets passed, but are not in the file, which could not be written.
#[derive(Debug, Default)]
struct Missed(AtomicU64);

impl Report for Missed {
    fn name(&self) -> &'static str {
        "capture"
    }

    fn counts(&self) -> Vec<(&'static str, u64)> {
        vec![("missed", self.0.load(Ordering::Relaxed))]
    }
}

struct Capture {
    /// `None` after an error.
    writer: Option<PcapNgWriter<BufWriter<Box<dyn Write + Send>>>>,
    /// When what is in the buffer has to be in the file; `None`: it is empty.
    flush_at: Option<Instant>,
    missed: Arc<Missed>,
    /// Packets that may still be in the buffer only.
    buffered: u64,
    /// The bytes of one packet, kept for their memory.
    bytes: Vec<u8>,
}

impl Capture {
    fn start(
        device: &Device,
        writer: Box<dyn Write + Send>,
        missed: Arc<Missed>,
    ) -> io::Result<Capture> {
        let mut writer =
            PcapNgWriter::new(BufWriter::with_capacity(BUFFER, writer)).map_err(io_error)?;
        let interface = interface(&device.name, device.capabilities.medium, SNAPLEN);
        writer.write_pcapng_block(interface).map_err(io_error)?;
        writer.get_mut().flush()?;
        Ok(Capture { writer: Some(writer), flush_at: None, missed, buffered: 0, bytes: Vec::new() })
    }

    /// Writes packets that passed at `time`, since 1970.
    fn record<'a>(
        &mut self,
        packets: impl Iterator<Item = &'a Packet>,
        time: Duration,
        direction: u32,
    ) {
        for packet in packets {
            if self.write(packet, time, direction).is_err() {
                self.fail();
            }
            if self.writer.is_none() {
                self.missed.0.fetch_add(1, Ordering::Relaxed);
            }
            self.flush_at.get_or_insert_with(|| Instant::now() + FLUSH);
        }
        self.flush_if_due();
    }

    fn write(
        &mut self,
        packet: &Packet,
        timestamp: Duration,
        direction: u32,
    ) -> Result<(), pcap_file::PcapError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        self.bytes.resize(packet.len(), 0);
        packet.copy_to(&mut self.bytes);
        if let Some(unfinished) = Unfinished::of(packet) {
            unfinished.fill_in(&mut self.bytes);
        }
        let len = self.bytes.len().min(SNAPLEN as usize);
        let block = EnhancedPacketBlock {
            interface_id: 0,
            timestamp,
            original_len: packet.len() as u32,
            data: Cow::Borrowed(&self.bytes[..len]),
            options: vec![EnhancedPacketOption::Flags(direction)],
        };
        let before = writer.get_ref().buffer().len();
        writer.write_pcapng_block(block)?;
        match writer.get_ref().buffer().len() {
            after if after > before => self.buffered += 1,
            // What was there has gone on to the file.
            after => self.buffered = u64::from(after > 0),
        }
        Ok(())
    }

    fn flush_if_due(&mut self) {
        if self.flush_at.is_none_or(|at| Instant::now() < at) {
            return;
        }
        self.flush();
    }

    fn flush(&mut self) {
        self.flush_at = None;
        match self.writer.as_mut().map(|writer| writer.get_mut().flush()) {
            Some(Ok(())) => self.buffered = 0,
            Some(Err(_)) => self.fail(),
            None => {}
        }
    }

    /// Ends the capture. Nobody knows how much of the buffer is in the file, so none of
    /// it counts as captured.
    fn fail(&mut self) {
        let lost = std::mem::take(&mut self.buffered);
        self.missed.0.fetch_add(lost, Ordering::Relaxed);
        if let Some(writer) = self.writer.take() {
            // Without another try to write what failed.
            drop(writer.into_inner().into_parts());
        }
    }
}

/// Since 1970.
fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.flush();
    }
}

struct PcapReceive {
    device: Box<dyn Receive>,
    capture: Arc<Mutex<Capture>>,
}

impl Receive for PcapReceive {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        let before = into.len();
        let n = self.device.receive(into, max);
        if n > 0 {
            self.capture.lock().record(into[before..].iter(), now(), INBOUND);
        }
        n
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.device.wait_fd()
    }

    fn arm(&mut self) -> bool {
        self.capture.lock().flush_if_due();
        self.device.arm()
    }

    fn disarm(&mut self) {
        self.device.disarm();
    }

    fn deadline(&self) -> Option<Instant> {
        [self.device.deadline(), self.capture.lock().flush_at].into_iter().flatten().min()
    }
}

struct PcapTransmit {
    device: Box<dyn Transmit>,
    capture: Arc<Mutex<Capture>>,
    offer: Offer,
}

impl Transmit for PcapTransmit {
    fn transmit(&mut self, batch: &mut Batch) {
        if batch.is_empty() {
            return self.device.transmit(batch);
        }
        let PcapTransmit { device, capture, offer } = self;
        // Only what has left, so that nothing is written twice.
        let before = |packets: &Batch| (packets.clone(), now());
        offer.transmit(&mut **device, batch, before, |(packets, time), sent| {
            capture.lock().record(packets.iter().take(sent), time, OUTBOUND);
        });
    }

    fn room(&self) -> usize {
        self.device.room()
    }
}

#[cfg(test)]
mod tests;
