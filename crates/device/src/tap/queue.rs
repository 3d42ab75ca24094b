//! ① and ⑨ of a TAP queue: one readv or writev a frame.

use super::virtio;
use crate::{Batch, Counts, Receive, Transmit};
use buffer::{Buf, Slice};
use platform::atomic::Ordering;
use smallvec::SmallVec;
use std::fs::File;
use std::io::{ErrorKind, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use wire::{Packet, Parts};

/// Capacities of the blocks that a frame is read into, in order, as many as the
/// longest frame takes. Only blocks that were written to leave with the packet:
/// a short frame takes a small block, and the large ones stay for the next.
const BLOCKS: [usize; 4] = [2048, 4608, 16 * 1024, 65 * 1024];

/// The receiving half.
pub(super) struct TapReceive {
    file: Arc<File>,
    blocks: SmallVec<[Buf; BLOCKS.len()]>,
    counts: Arc<Counts>,
}

impl TapReceive {
    /// `longest`: bytes of the longest frame.
    pub(super) fn new(file: Arc<File>, counts: Arc<Counts>, longest: usize) -> TapReceive {
        let mut room = 0;
        let mut blocks = SmallVec::new();
        for capacity in BLOCKS {
            if room < longest {
                room += capacity;
                blocks.push(Buf::with_capacity(capacity));
            }
        }
        TapReceive { file, blocks, counts }
    }

    /// The next frame; `None` if there is none.
    fn read(&mut self) -> Option<Packet> {
        let mut header = [0; virtio::LEN];
        let mut slices: SmallVec<[IoSliceMut<'_>; BLOCKS.len() + 1]> = SmallVec::new();
        slices.push(IoSliceMut::new(&mut header));
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
        let mut left = n.checked_sub(virtio::LEN)?;
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
        virtio::Header::parse(&header).apply(&mut packet);
        Some(packet)
    }
}

impl Receive for TapReceive {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        let mut bytes = 0;
        for n in 0..max {
            if bytes >= BATCH_BYTES {
                return n;
            }
            let Some(packet) = self.read() else { return n };
            bytes += packet.len();
            into.push(packet);
        }
        max
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.counts.gone.load(Ordering::Relaxed)).then(|| self.file.as_fd())
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
    counts: Arc<Counts>,
}

impl TapTransmit {
    pub(super) fn new(file: Arc<File>, counts: Arc<Counts>) -> TapTransmit {
        TapTransmit { file, counts }
    }

    /// Sends the packet. `Err`: it can never be sent; `Ok(false)`: not now.
    fn write(&self, packet: &Packet) -> Result<bool, ()> {
        let header = virtio::Header::of(packet).ok_or(())?.emit();
        let mut slices: SmallVec<[IoSlice<'_>; USUAL_SLICES]> = SmallVec::new();
        slices.push(IoSlice::new(&header));
        slices.extend(packet.slices().map(IoSlice::new));
        if slices.len() > MAX_SLICES {
            return Err(());
        }
        loop {
            match (&*self.file).write_vectored(&slices) {
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
        while let Some(packet) = batch.front() {
            match self.write(packet) {
                Ok(true) => {}
                Ok(false) => return,
                Err(()) => {
                    self.counts.transmit_dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            batch.pop_front();
        }
    }
}
