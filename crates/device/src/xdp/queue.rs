//! ① and ⑨ of AF_XDP sockets: a queue of the device receives by a socket on each queue of the
//! interface that it has frames from, and sends by one of them.

use super::lost::Lost;
use super::port::Port;
use super::socket::{Descriptor, METADATA, Ring, Socket};
use crate::{Batch, Counts, Queue, Receive, Transmit};
use platform::atomic::{AtomicBool, Ordering};
use rustix::event::epoll;
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

/// A socket that sends.
pub(super) struct Sender {
    socket: Arc<Socket>,
    /// What is in the ring to be sent was not all sent: the kernel wants to be asked again.
    unsent: AtomicBool,
    /// The interface was down when the kernel was asked last.
    is_down: AtomicBool,
    counts: Arc<Counts>,
}

impl Sender {
    /// Has the kernel send what is in the ring; `false` if something is left.
    fn send(&self) -> bool {
        let code = self.socket.wake(true).err().and_then(|e: io::Error| e.raw_os_error());
        let left = match code {
            Some(libc::EAGAIN | libc::EBUSY | libc::ENOBUFS | libc::EINTR) => true,
            Some(libc::ENXIO | libc::ENODEV) => {
                self.counts.set_gone();
                false
            }
            // ENETDOWN: it is sent with what follows, once the interface is up.
            _ => false,
        };
        self.is_down.store(code == Some(libc::ENETDOWN), Ordering::Relaxed);
        self.unsent.store(left, Ordering::Relaxed);
        !left
    }
}

/// A socket that receives.
pub(super) struct Intake {
    pub(super) ring: Ring<Descriptor>,
    pub(super) socket: Arc<Socket>,
    pub(super) port: Arc<Port>,
    pub(super) lost: Arc<Lost>,
}

impl Drop for Intake {
    fn drop(&mut self) {
        self.lost.ends(&self.socket);
    }
}

/// By what a queue sends.
pub(super) struct Outlet {
    pub(super) ring: Ring<Descriptor>,
    pub(super) socket: Arc<Socket>,
    pub(super) port: Arc<Port>,
    /// Its number among the senders of that port.
    pub(super) sender: usize,
}

/// The queue of these sockets. `longest`: bytes of the longest frame; `trusts`: checksums of
/// what arrives are not looked at.
///
/// # Errors
/// If the system gives no descriptor.
pub(super) fn queue(
    intakes: Vec<Intake>,
    outlet: Outlet,
    (longest, trusts): (usize, bool),
    counts: &Arc<Counts>,
) -> io::Result<Queue> {
    let Outlet { ring, socket, port, sender } = outlet;
    let sending = Arc::new(Sender {
        socket,
        unsent: AtomicBool::new(false),
        is_down: AtomicBool::new(false),
        counts: counts.clone(),
    });
    let free = port.frames_of(sender);
    let receive = XdpReceive {
        any: any(&intakes)?,
        intakes,
        first: 0,
        taken: Vec::new(),
        sending: sending.clone(),
        longest,
        trusts,
    };
    let transmit = XdpTransmit { ring, port, sender, sending, free };
    Ok(Queue { receive: Box::new(receive), transmit: Box::new(transmit) })
}

/// A descriptor that is readable when one of several sockets is.
fn any(intakes: &[Intake]) -> io::Result<Option<OwnedFd>> {
    if intakes.len() < 2 {
        return Ok(None);
    }
    let any = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for Intake { socket, .. } in intakes {
        epoll::add(&any, socket.as_fd(), epoll::EventData::new_u64(0), epoll::EventFlags::IN)?;
    }
    Ok(Some(any))
}

impl Intake {
    fn packet(&self, descriptor: &Descriptor, longest: usize) -> Option<Packet> {
        let len = descriptor.len as usize;
        if len > longest {
            return None;
        }
        // SAFETY: the kernel has given us this frame, and has it back only from `receive`.
        unsafe { self.port.umem.read(descriptor.address, len, Packet::copy_of) }
    }
}

/// The receiving half.
struct XdpReceive {
    intakes: Vec<Intake>,
    /// The one that is asked first next time, so that none is left out.
    first: usize,
    /// Frames that were read in this call.
    taken: Vec<u64>,
    sending: Arc<Sender>,
    any: Option<OwnedFd>,
    longest: usize,
    trusts: bool,
}

impl XdpReceive {
    /// Receives up to `max` by the socket `at`.
    fn receive_by(&mut self, at: usize, into: &mut Vec<Packet>, max: usize) {
        let XdpReceive { intakes, taken, sending, longest, trusts, .. } = self;
        let intake = &mut intakes[at];
        let before = into.len();
        while into.len() - before < max {
            let Some(descriptor) = intake.ring.take() else { break };
            match intake.packet(&descriptor, *longest) {
                Some(mut packet) => {
                    if *trusts {
                        packet.meta_mut().checksum = ChecksumState::Verified;
                    }
                    into.push(packet);
                }
                None => {
                    sending.counts.receive_dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            taken.push(descriptor.address);
        }
        if !taken.is_empty() {
            intake.ring.release();
            if intake.port.fill(taken) {
                // What fails now is asked for again with the next batch.
                let _ = intake.socket.wake(false);
            }
        }
    }
}

impl Receive for XdpReceive {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        if self.sending.unsent.load(Ordering::Relaxed) {
            self.sending.send();
        }
        let (before, count) = (into.len(), self.intakes.len());
        for index in self.first..self.first + count {
            self.receive_by(index % count, into, max - (into.len() - before));
        }
        self.first = (self.first + 1) % count;
        into.len() - before
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        let fd = self.any.as_ref().map_or(self.intakes[0].socket.as_fd(), |any| any.as_fd());
        (!self.sending.counts.gone.load(Ordering::Relaxed)).then_some(fd)
    }

    fn arm(&mut self) -> bool {
        let sent = !self.sending.unsent.load(Ordering::Relaxed) || self.sending.send();
        sent && self.intakes.iter().all(|intake| intake.ring.arrived() == 0)
    }
}

/// The transmitting half.
struct XdpTransmit {
    ring: Ring<Descriptor>,
    port: Arc<Port>,
    sender: usize,
    sending: Arc<Sender>,
    /// Frames that are ours to fill.
    free: Vec<u64>,
}

impl XdpTransmit {
    /// Takes back the frames that were sent.
    fn reclaim(&mut self) {
        self.port.reclaim(self.sender, &mut self.free);
    }

    /// Writes `packet` into `frame`; `None` if it can never be sent.
    fn write(&self, frame: u64, packet: &Packet) -> Option<Descriptor> {
        let (meta, len) = (packet.meta(), packet.len());
        let partial = meta.checksum == ChecksumState::Partial;
        let field = usize::from(meta.csum_start) + usize::from(meta.csum_offset);
        if meta.gso_size != 0
            || METADATA + len > self.port.umem.chunk
            || partial && (!self.port.has_metadata || field + 2 > len)
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
        unsafe { self.port.umem.write(frame, METADATA + len, fill) }?;
        let options = if partial { HAS_METADATA } else { 0 };
        Some(Descriptor { address: frame + METADATA as u64, len: len as u32, options })
    }

    /// Nobody will send what waits, or not soon.
    fn drop_all(&self, batch: &mut Batch) {
        let lost = batch.len() as u64;
        self.sending.counts.transmit_dropped.fetch_add(lost, Ordering::Relaxed);
        batch.clear();
    }

    /// Has the kernel send what was put.
    fn send(&mut self) {
        self.ring.publish();
        for _ in 0..CALLS {
            let wanted = self.ring.unsent() > 0 && self.ring.needs_wakeup();
            if !wanted || self.sending.send() {
                return;
            }
        }
    }
}

impl Transmit for XdpTransmit {
    fn transmit(&mut self, batch: &mut Batch) {
        if self.sending.counts.gone.load(Ordering::Relaxed) {
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
                    self.sending.counts.transmit_dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
            batch.pop_front();
        }
        // What an interface that was down has not sent is sent once it is up again.
        if put || self.sending.unsent.load(Ordering::Relaxed) || self.ring.unsent() > 0 {
            self.send();
        }
        if !batch.is_empty() && self.sending.is_down.load(Ordering::Relaxed) {
            // As on Linux. A thread that has something to send does not sleep, however long that lasts.
            self.drop_all(batch);
        }
    }

    fn room(&self) -> usize {
        self.free.len() + self.port.returned(self.sender)
    }
}
