//! ① and ⑨ of an AF_XDP socket. The rings of what arrives are the receiving half's, those of
//! what is sent the transmitting half's, and so are the frames: they share no lock.

use super::socket::{Descriptor, METADATA, Parts, Ring, Socket, Umem};
use crate::{Batch, Counts, Queue, Receive, Transmit};
use platform::atomic::{AtomicBool, Ordering};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use wire::Packet;
use wire::packet::ChecksumState;

/// Of a descriptor: metadata stands before the frame.
const HAS_METADATA: u32 = 2;
/// Of metadata: a checksum is to be filled in.
const FILL_CHECKSUM: u64 = 2;
/// Calls by which what was put is sent, at most, before others get their turn; one sends
/// 32 frames.
const CALLS: usize = 128;

/// What both halves use.
struct Shared {
    socket: Socket,
    umem: Umem,
    /// What is in the ring to be sent was not all sent: the kernel wants to be asked again.
    unsent: AtomicBool,
    /// The interface was down when the kernel was asked last.
    is_down: AtomicBool,
    counts: Arc<Counts>,
    /// The program stays at the interface for as long as a queue is there.
    _attached: Arc<OwnedFd>,
}

impl Shared {
    /// Has the kernel send what is in the ring; `false` if something is left.
    fn send(&self) -> bool {
        let code = self.socket.wake(true).err().and_then(|e: io::Error| e.raw_os_error());
        let left = match code {
            Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => true,
            Some(libc::ENXIO | libc::ENODEV) => {
                self.counts.gone.store(true, Ordering::Relaxed);
                false
            }
            // ENETDOWN: it is sent with what follows, once the interface is up.
            _ => false,
        };
        self.is_down.store(code == Some(libc::ENETDOWN), Ordering::Relaxed);
        self.unsent.store(left, Ordering::Relaxed);
        !left
    }

    /// The start of the frame that has this address in it.
    fn frame(&self, address: u64) -> u64 {
        address & !(self.umem.chunk as u64 - 1)
    }
}

/// The queue of this socket, which has `entries` frames each way. `longest`: bytes of the
/// longest frame; `trusts`: checksums of what arrives are not looked at.
pub(super) fn queue(
    parts: Parts,
    entries: u32,
    (longest, trusts): (usize, bool),
    counts: &Arc<Counts>,
    attached: &Arc<OwnedFd>,
) -> Queue {
    let Parts { socket, umem, receive, mut fill, transmit, completion, has_metadata } = parts;
    let chunk = umem.chunk as u64;
    for frame in 0..u64::from(entries) {
        fill.put(frame * chunk);
    }
    fill.publish();
    let free = (u64::from(entries)..2 * u64::from(entries)).map(|frame| frame * chunk).collect();
    let shared = Arc::new(Shared {
        socket,
        umem,
        unsent: AtomicBool::new(false),
        is_down: AtomicBool::new(false),
        counts: counts.clone(),
        _attached: attached.clone(),
    });
    Queue {
        receive: Box::new(XdpReceive {
            ring: receive,
            fill,
            shared: shared.clone(),
            longest,
            trusts,
        }),
        transmit: Box::new(XdpTransmit { ring: transmit, completion, shared, free, has_metadata }),
    }
}

/// The receiving half.
struct XdpReceive {
    ring: Ring<Descriptor>,
    fill: Ring<u64>,
    shared: Arc<Shared>,
    longest: usize,
    trusts: bool,
}

impl XdpReceive {
    fn packet(&self, descriptor: &Descriptor) -> Option<Packet> {
        let len = descriptor.len as usize;
        if len > self.longest {
            return None;
        }
        // SAFETY: the kernel has given us this frame, and has it back only from `receive`.
        let mut packet =
            unsafe { self.shared.umem.read(descriptor.address, len, Packet::copy_of) }?;
        if self.trusts {
            packet.meta_mut().checksum = ChecksumState::Verified;
        }
        Some(packet)
    }
}

impl Receive for XdpReceive {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        if self.shared.unsent.load(Ordering::Relaxed) {
            self.shared.send();
        }
        let before = into.len();
        let mut taken = 0;
        while into.len() - before < max {
            let Some(descriptor) = self.ring.take() else { break };
            taken += 1;
            match self.packet(&descriptor) {
                Some(packet) => into.push(packet),
                None => {
                    self.shared.counts.receive_dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            // As many entries as frames: there is room.
            self.fill.put(self.shared.frame(descriptor.address));
        }
        if taken > 0 {
            self.ring.release();
            self.fill.publish();
        }
        if self.fill.needs_wakeup() {
            // What fails now is asked for again with the next batch.
            let _ = self.shared.socket.wake(false);
        }
        into.len() - before
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.shared.counts.gone.load(Ordering::Relaxed)).then(|| self.shared.socket.as_fd())
    }

    fn arm(&mut self) -> bool {
        let sent = !self.shared.unsent.load(Ordering::Relaxed) || self.shared.send();
        sent && self.ring.arrived() == 0
    }
}

/// The transmitting half.
struct XdpTransmit {
    ring: Ring<Descriptor>,
    completion: Ring<u64>,
    shared: Arc<Shared>,
    /// Frames that are ours to fill.
    free: Vec<u64>,
    has_metadata: bool,
}

impl XdpTransmit {
    /// Takes back the frames that were sent.
    fn reclaim(&mut self) {
        while let Some(address) = self.completion.take() {
            self.free.push(self.shared.frame(address));
        }
        self.completion.release();
    }

    /// Writes `packet` into `frame`; `None` if it can never be sent.
    fn write(&self, frame: u64, packet: &Packet) -> Option<Descriptor> {
        let (meta, len) = (packet.meta(), packet.len());
        let partial = meta.checksum == ChecksumState::Partial;
        let field = usize::from(meta.csum_start) + usize::from(meta.csum_offset);
        if meta.gso_size != 0
            || METADATA + len > self.shared.umem.chunk
            || partial && (!self.has_metadata || field + 2 > len)
        {
            return None;
        }
        let fill = |bytes: &mut [u8]| {
            let (metadata, bytes) = bytes.split_at_mut(METADATA);
            metadata.fill(0);
            if partial {
                metadata[..8].copy_from_slice(&FILL_CHECKSUM.to_ne_bytes());
                metadata[8..10].copy_from_slice(&meta.csum_start.to_ne_bytes());
                metadata[10..12].copy_from_slice(&meta.csum_offset.to_ne_bytes());
            }
            packet.copy_to(bytes);
        };
        // SAFETY: the frame was in `free`, so neither the kernel nor another half uses it.
        unsafe { self.shared.umem.write(frame, METADATA + len, fill) }?;
        let options = if partial { HAS_METADATA } else { 0 };
        Some(Descriptor { address: frame + METADATA as u64, len: len as u32, options })
    }

    /// Nobody will send what waits, or not soon.
    fn drop_all(&self, batch: &mut Batch) {
        let lost = batch.len() as u64;
        self.shared.counts.transmit_dropped.fetch_add(lost, Ordering::Relaxed);
        batch.clear();
    }

    /// Has the kernel send what was put.
    fn send(&mut self) {
        self.ring.publish();
        for _ in 0..CALLS {
            let wanted = self.ring.unsent() > 0 && self.ring.needs_wakeup();
            if !wanted || self.shared.send() {
                return;
            }
        }
    }
}

impl Transmit for XdpTransmit {
    fn transmit(&mut self, batch: &mut Batch) {
        if self.shared.counts.gone.load(Ordering::Relaxed) {
            // What waits must not hold up other interfaces.
            return self.drop_all(batch);
        }
        self.reclaim();
        let mut put = false;
        while let Some(packet) = batch.front() {
            let Some(frame) = self.free.pop() else {
                if !std::mem::take(&mut put) {
                    break;
                }
                self.send();
                self.reclaim();
                continue;
            };
            match self.write(frame, packet) {
                Some(descriptor) if self.ring.put(descriptor) => put = true,
                Some(_) => {
                    // The kernel gives frames back before it shows what it has consumed.
                    self.free.push(frame);
                    break;
                }
                None => {
                    self.free.push(frame);
                    self.shared.counts.transmit_dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            batch.pop_front();
        }
        // What an interface that was down has not sent is sent once it is up again.
        if put || self.shared.unsent.load(Ordering::Relaxed) || self.ring.unsent() > 0 {
            self.send();
        }
        if !batch.is_empty() && self.shared.is_down.load(Ordering::Relaxed) {
            // As on Linux. A thread that has something to send does not sleep, however long that lasts.
            self.drop_all(batch);
        }
    }

    fn room(&self) -> usize {
        self.free.len() + self.completion.arrived()
    }
}
