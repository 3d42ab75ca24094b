//! ① and ⑨ of a TAP queue: one readv or writev a frame.

use super::datagrams::Together;
use super::{Error, ifreq, virtio};
use crate::{Batch, Counts, Medium, Receive, Transmit, segment};
use buffer::{Buf, Slice};
use platform::atomic::Ordering;
use smallvec::SmallVec;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use wire::{EthernetAddress, Packet, Parts};

/// Capacities of the blocks that a frame is read into, in order, as many as the
/// longest frame takes. Only blocks that were written to leave with the packet:
/// a short frame takes a small block, and the large ones stay for the next.
const BLOCKS: [usize; 4] = [2048, 4608, 16 * 1024, 65 * 1024];

/// Asks about the queue `descriptor`: `code` reads and writes one `ifreq`.
fn ask(descriptor: BorrowedFd<'_>, code: libc::Ioctl) -> io::Result<libc::ifreq> {
    let mut request = ifreq::empty();
    // SAFETY: the callers' requests write one `ifreq`.
    if unsafe { libc::ioctl(descriptor.as_raw_fd(), code, &raw mut request) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(request)
}

/// The interface that `descriptor` is a queue of, and whether a virtio header stands
/// before each frame.
///
/// # Errors
/// [`Error::Unsuitable`] if it is none, or not one that carries `medium`. (Whether it has
/// IFF_NO_PI cannot be asked: the kernel uses that bit for something else here.)
pub(super) fn attached(
    medium: Medium,
    descriptor: BorrowedFd<'_>,
) -> Result<(String, bool), Error> {
    let unsuitable = |name, reason| Err(Error::Unsuitable { name, reason });
    let Ok(request) = ask(descriptor, libc::TUNGETIFF as libc::Ioctl) else {
        let name = format!("descriptor {}", descriptor.as_raw_fd());
        return unsuitable(
            name,
            "it is no queue of a TUN or TAP interface: open /dev/net/tun and attach it",
        );
    };
    let name = ifreq::name(&request);
    // SAFETY: TUNGETIFF has filled in this field of the union.
    let flags = libc::c_int::from(unsafe { request.ifr_ifru.ifru_flags });
    if flags & super::kind_flag(medium) == 0 {
        let reason = match medium {
            Medium::Ethernet => "it carries no Ethernet frames: attach it with IFF_TAP",
            Medium::Ip => "it carries no bare IP datagrams: attach it with IFF_TUN",
        };
        return unsuitable(name, reason);
    }
    Ok((name, flags & libc::IFF_VNET_HDR != 0))
}

/// The address of the kernel's end of the interface that `descriptor` is a queue of.
pub(super) fn ethernet(descriptor: BorrowedFd<'_>) -> io::Result<EthernetAddress> {
    Ok(ifreq::ethernet(&ask(descriptor, libc::SIOCGIFHWADDR as libc::Ioctl)?))
}

/// Bytes before each frame.
const fn header_len(has_header: bool) -> usize {
    if has_header { virtio::LEN } else { 0 }
}

/// The receiving half.
pub(super) struct TapReceive {
    file: Arc<File>,
    header_len: usize,
    blocks: SmallVec<[Buf; BLOCKS.len()]>,
    medium: Medium,
    /// Datagrams that came together and were not asked for yet.
    datagrams: Batch,
    counts: Arc<Counts>,
}

impl TapReceive {
    /// Of frames of `medium`. `longest`: bytes of the longest frame; `has_header`: a virtio header stands
    /// before it.
    pub(super) fn new(
        file: Arc<File>,
        counts: Arc<Counts>,
        (medium, longest): (Medium, usize),
        has_header: bool,
    ) -> TapReceive {
        let mut room = 0;
        let mut blocks = SmallVec::new();
        for capacity in BLOCKS {
            if room < longest {
                room += capacity;
                blocks.push(Buf::with_capacity(capacity));
            }
        }
        let (header_len, datagrams) = (header_len(has_header), Batch::new());
        TapReceive { file, header_len, blocks, medium, datagrams, counts }
    }

    /// The next frame; `None` if there is none. `Some(None)`: one that its header lies
    /// about.
    fn read(&mut self) -> Option<Option<Packet>> {
        let mut header = [0; virtio::LEN];
        let mut slices: SmallVec<[IoSliceMut<'_>; BLOCKS.len() + 1]> = SmallVec::new();
        slices.push(IoSliceMut::new(&mut header[..self.header_len]));
        for block in &mut self.blocks {
            slices.push(IoSliceMut::new(block.get_mut()?));
        }
        let n = loop {
            match (&*self.file).read_vectored(&mut slices) {
                Ok(n) => break n,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => {
                    // EBADFD: the interface was deleted under us. Its descriptor
                    // is readable for ever; nobody may wait for it.
                    if e.raw_os_error() == Some(libc::EBADFD) {
                        self.counts.gone.store(true, Ordering::Relaxed);
                    }
                    return None;
                }
            }
        };
        drop(slices);
        let mut left = n.checked_sub(self.header_len)?;
        let mut parts = Parts::new();
        for block in &mut self.blocks {
            if left == 0 {
                break;
            }
            let capacity = block.capacity();
            let len = left.min(capacity);
            let full = std::mem::replace(block, Buf::with_capacity(capacity));
            parts.push(Slice::new(full, 0, len));
            left -= len;
        }
        let mut packet = Packet::from_parts(parts);
        let header = virtio::Header::parse(&header);
        let datagrams = &mut self.datagrams;
        let kept = match header.apply(&mut packet) {
            false => None,
            true if !header.is_datagrams() => return Some(Some(packet)),
            true => segment::cut(packet, self.medium, datagrams).ok(),
        };
        if kept.is_none() {
            self.counts.receive_dropped.fetch_add(1, Ordering::Relaxed);
        }
        Some(datagrams.pop_front())
    }
}

impl Receive for TapReceive {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        let (mut bytes, before) = (0, into.len());
        for _ in 0..max {
            if bytes >= BATCH_BYTES {
                break;
            }
            let waiting = self.datagrams.pop_front().map(Some);
            let Some(read) = waiting.or_else(|| self.read()) else { break };
            bytes += read.as_ref().map_or(0, Packet::len);
            into.extend(read);
        }
        into.len() - before
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.counts.gone.load(Ordering::Relaxed)).then(|| self.file.as_fd())
    }

    fn arm(&mut self) -> bool {
        self.datagrams.is_empty()
    }
}

/// Bytes after which a batch is long enough: what is read should still be in the
/// cache when it is processed.
const BATCH_BYTES: usize = 256 * 1024;
/// Slices that writev(2) takes (UIO_MAXIOV), and the usual number.
const MAX_SLICES: usize = 1024;
const USUAL_SLICES: usize = 56;

/// The transmitting half.
pub(super) struct TapTransmit {
    file: Arc<File>,
    header_len: usize,
    /// Of what the kernel cuts datagrams out of.
    datagrams: Option<Medium>,
    counts: Arc<Counts>,
}

impl TapTransmit {
    /// `datagrams`: if the kernel cuts datagrams, what its frames carry.
    pub(super) fn new(
        file: Arc<File>,
        counts: Arc<Counts>,
        has_header: bool,
        datagrams: Option<Medium>,
    ) -> TapTransmit {
        TapTransmit { file, header_len: header_len(has_header), datagrams, counts }
    }

    /// Sends the datagrams at the front of `batch` that can leave as one packet. Says how
    /// many they are, 0 if the first goes alone, and what came of it, as
    /// [`TapTransmit::write`] does.
    fn write_together(&self, batch: &Batch) -> (usize, Result<bool, ()>) {
        let together = self.datagrams.and_then(|medium| Together::of(batch, medium));
        let Some(together) = together else { return (0, Ok(true)) };
        let header = virtio::Header::of_datagrams(&together).emit();
        let mut slices: SmallVec<[IoSlice<'_>; USUAL_SLICES]> = SmallVec::new();
        slices.push(IoSlice::new(&header[..self.header_len]));
        slices.push(IoSlice::new(&together.headers));
        for packet in batch.iter().take(together.count) {
            let rest = packet.head().get(together.headers.len()..).unwrap_or_default();
            slices.push(IoSlice::new(rest));
            slices.extend(packet.parts().iter().map(|part| IoSlice::new(part)));
        }
        (together.count, self.send(&slices))
    }

    /// Sends the packet. `Err`: it can never be sent; `Ok(false)`: not now.
    fn write(&self, packet: &Packet) -> Result<bool, ()> {
        let header = virtio::Header::of(packet).ok_or(())?.emit();
        let mut slices: SmallVec<[IoSlice<'_>; USUAL_SLICES]> = SmallVec::new();
        slices.push(IoSlice::new(&header[..self.header_len]));
        slices.extend(packet.slices().map(IoSlice::new));
        self.send(&slices)
    }

    fn send(&self, slices: &[IoSlice<'_>]) -> Result<bool, ()> {
        if slices.len() > MAX_SLICES {
            return Err(());
        }
        loop {
            match (&*self.file).write_vectored(slices) {
                // The kernel takes a frame whole or not at all.
                Ok(written) => return Ok(written > 0),
                Err(e) => match e.kind() {
                    ErrorKind::Interrupted => {}
                    ErrorKind::WouldBlock => return Ok(false),
                    // EIO: the interface is down. ENOBUFS, ENOMEM: as good as
                    // lost on the link. EINVAL: no such frame can be.
                    _ => return Err(()),
                },
            }
        }
    }
}

impl Transmit for TapTransmit {
    fn transmit(&mut self, batch: &mut Batch) {
        loop {
            let (count, sent) = match self.write_together(batch) {
                (0, _) => {
                    let Some(packet) = batch.front() else { return };
                    (1, self.write(packet))
                }
                done => done,
            };
            match sent {
                Ok(true) => {}
                Ok(false) => return,
                Err(()) => {
                    self.counts.transmit_dropped.fetch_add(count as u64, Ordering::Relaxed);
                }
            }
            batch.drain(..count);
        }
    }
}
