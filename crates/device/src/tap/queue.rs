//! ① and ⑨ of a TAP queue: a call to read or write for each frame, in one piece if that is short.

use super::datagrams::{self, Together};
use super::ring::{MOST, Ring};
use super::room::{FEW, Room, SLICES};
use super::{Error, ifreq, virtio};
use crate::{Batch, Counts, Medium, Receive, Transmit, segment};
use platform::atomic::Ordering;
use smallvec::SmallVec;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use wire::{EthernetAddress, Packet};

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

/// Calls again what a signal has interrupted.
fn again<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

/// What came of writing a frame, which the kernel takes whole or not at all. `Err`: it can never be
/// sent; `Ok(false)`: not now.
fn sent(written: io::Result<usize>) -> Result<bool, ()> {
    match written {
        Ok(written) => Ok(written > 0),
        Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
        // EIO: the interface is down. ENOBUFS, ENOMEM: as good as lost on the link. EINVAL:
        // no such frame can be.
        Err(_) => Err(()),
    }
}

/// A queue, what reads or writes many packets of it at once, and what is counted of it.
pub(super) type Half = (Arc<File>, Option<Ring>, Arc<Counts>);

/// Notes what the kernel has said in place of a frame.
fn failed(counts: &Counts, code: Option<i32>) {
    // EBADFD: the interface was deleted under us. Its descriptor
    // is readable for ever; nobody may wait for it. EBADF: somebody has closed that.
    if matches!(code, Some(libc::EBADFD | libc::EBADF)) {
        counts.set_gone();
    }
}

/// The receiving half.
pub(super) struct TapReceive {
    file: Arc<File>,
    ring: Option<Ring>,
    header_len: usize,
    longest: usize,
    /// One, or as many as were ever asked for at once.
    rooms: Vec<Room>,
    medium: Medium,
    /// Packets that were read, and were not asked for yet.
    waiting: Batch,
    /// How many frames there may be to read, and how many bytes each has, by the last call.
    expected: usize,
    each: usize,
    /// The last frame had few bytes: so, probably, has the next.
    few: bool,
    counts: Arc<Counts>,
}

impl TapReceive {
    /// Of frames of `medium`. `longest`: bytes of the longest frame; `has_header`: a virtio header stands
    /// before it.
    pub(super) fn new(
        (file, ring, counts): Half,
        (medium, longest): (Medium, usize),
        has_header: bool,
    ) -> TapReceive {
        TapReceive {
            file,
            ring,
            header_len: header_len(has_header),
            longest,
            rooms: vec![Room::of(longest)],
            medium,
            waiting: Batch::new(),
            expected: 1,
            each: 0,
            few: true,
            counts,
        }
    }

    /// The next frame; `None` if there is none. `Some(None)`: one that its header lies
    /// about.
    fn read(&mut self) -> Option<Option<Packet>> {
        let room = &mut self.rooms[0];
        let one = if self.few { room.one(self.header_len, self.longest) } else { None };
        let is_one = one.is_some();
        let read = match one {
            Some(bytes) => again(|| (&*self.file).read(bytes)),
            None => {
                let mut slices = SmallVec::<[_; SLICES]>::new();
                room.lend(self.header_len, &mut slices);
                again(|| (&*self.file).read_vectored(&mut slices))
            }
        };
        let n = read.map_err(|error| failed(&self.counts, error.raw_os_error())).ok()?;
        let len = n.checked_sub(self.header_len)?;
        self.few = len <= FEW;
        let (header, mut packet) =
            if is_one { room.take_one(self.header_len, len) } else { room.take(len) };
        if !header.is_datagrams() && header.apply(&mut packet) {
            return Some(Some(packet));
        }
        self.unpack(&header, packet);
        Some(self.waiting.pop_front())
    }

    /// Puts a frame to those that wait, or drops it if its header lies about it.
    fn unpack(&mut self, header: &virtio::Header, mut packet: Packet) {
        let kept = match header.apply(&mut packet) {
            false => None,
            true if !header.is_datagrams() => {
                self.waiting.push_back(packet);
                Some(())
            }
            true => segment::cut(packet, self.medium, &mut self.waiting).ok(),
        };
        if kept.is_none() {
            self.counts.receive_dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// How many frames should be read at once, `max` at most.
    fn at_once(&self, max: usize) -> usize {
        let fit = BATCH_BYTES / self.each.max(1);
        let count = self.expected.min(max).min(fit).min(MOST);
        let has_ring = self.ring.as_ref().is_some_and(|ring| !ring.is_broken());
        if has_ring && count >= LEAST_READ { count } else { 1 }
    }

    /// Reads up to `count` frames at once, at most [`MOST`], to those that wait. Says how many there were.
    fn read_many(&mut self, count: usize) -> usize {
        let Some(ring) = &mut self.ring else { return 0 };
        while self.rooms.len() < count {
            self.rooms.push(Room::of(self.longest));
        }
        let mut slices = SmallVec::<[_; SLICES * MOST]>::new();
        let mut ends = SmallVec::<[usize; MOST]>::new();
        for room in &mut self.rooms[..count] {
            room.lend(self.header_len, &mut slices);
            ends.push(slices.len());
        }
        let results: SmallVec<[i32; MOST]> = ring.read(&mut slices, &ends).into();
        drop(slices);
        let mut came = 0;
        for (index, &result) in results.iter().enumerate() {
            let Ok(n) = usize::try_from(result) else {
                failed(&self.counts, Some(-result));
                continue;
            };
            let Some(len) = n.checked_sub(self.header_len) else { continue };
            let (header, packet) = self.rooms[index].take(len);
            self.unpack(&header, packet);
            came += 1;
        }
        came
    }
}

impl Receive for TapReceive {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        let (mut bytes, before, mut came) = (0, into.len(), 0);
        // 0: there are no more.
        let mut at_once = self.at_once(max);
        for turn in 0..max {
            if bytes >= BATCH_BYTES {
                break;
            }
            let packet = match self.waiting.pop_front() {
                Some(packet) => Some(packet),
                None if at_once == 0 => break,
                None if at_once == 1 => {
                    let Some(read) = self.read() else { break };
                    came += 1;
                    read
                }
                None => {
                    let count = at_once.min(max - turn);
                    let read = self.read_many(count);
                    came += read;
                    at_once = if read == count { at_once } else { 0 };
                    self.waiting.pop_front()
                }
            };
            bytes += packet.as_ref().map_or(0, Packet::len);
            into.extend(packet);
        }
        // One more than there were: the call that reads them then finds that there are no more.
        self.expected = came + 1;
        self.each = bytes.checked_div(came).unwrap_or(0);
        into.len() - before
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        (!self.counts.gone.load(Ordering::Relaxed)).then(|| self.file.as_fd())
    }

    fn arm(&mut self) -> bool {
        self.waiting.is_empty()
    }
}

/// Bytes after which a batch is long enough: what is read should still be in the
/// cache when it is processed.
const BATCH_BYTES: usize = 256 * 1024;
/// From how many on packets are read or written by one call: fewer cost less by a call each
/// (`benches/tun.rs`).
const LEAST_READ: usize = 16;
const LEAST_WRITTEN: usize = 4;
/// Slices that writev(2) takes (UIO_MAXIOV), and the usual number.
const MAX_SLICES: usize = 1024;
const USUAL_SLICES: usize = 56;

/// The transmitting half.
pub(super) struct TapTransmit {
    file: Arc<File>,
    ring: Option<Ring>,
    header_len: usize,
    /// Of what the kernel cuts datagrams out of.
    datagrams: Option<Medium>,
    counts: Arc<Counts>,
}

impl TapTransmit {
    /// `datagrams`: if the kernel cuts datagrams, what its frames carry.
    pub(super) fn new(
        (file, ring, counts): Half,
        has_header: bool,
        datagrams: Option<Medium>,
    ) -> TapTransmit {
        TapTransmit { file, ring, header_len: header_len(has_header), datagrams, counts }
    }

    /// Sends packets of the front of `batch` by one call. Says how many they are, 0 if the first has to go
    /// by a call of its own, and whether all were sent; those for which there was no room are at the front still.
    fn write_many(&mut self, batch: &mut Batch) -> (usize, bool) {
        let alone = (0, true);
        if batch.len() < LEAST_WRITTEN {
            return alone;
        }
        let Some(ring) = self.ring.as_mut().filter(|ring| !ring.is_broken()) else {
            return alone;
        };
        let headers: SmallVec<[[u8; virtio::LEN]; MOST]> = batch
            .iter()
            .take(MOST)
            .take_while(|packet| self.datagrams.is_none() || !datagrams::may_join(packet))
            .map_while(|packet| Some(virtio::Header::of(packet)?.emit()))
            .collect();
        let mut slices = SmallVec::<[IoSlice<'_>; 4 * USUAL_SLICES]>::new();
        let mut ends = SmallVec::<[usize; MOST]>::new();
        for (packet, header) in batch.iter().zip(&headers) {
            let from = slices.len();
            slices.push(IoSlice::new(&header[..self.header_len]));
            slices.extend(packet.slices().map(IoSlice::new));
            if slices.len() - from > MAX_SLICES {
                slices.truncate(from);
                break;
            }
            ends.push(slices.len());
        }
        if ends.len() < LEAST_WRITTEN {
            return alone;
        }
        let results: SmallVec<[i32; MOST]> = ring.write(&slices, &ends).into();
        drop(slices);
        let mut left = SmallVec::<[Packet; MOST]>::new();
        for (packet, result) in batch.drain(..results.len()).zip(&results) {
            match -result {
                ..=-1 => {}
                0 | libc::EAGAIN | libc::EINTR => left.push(packet),
                _ => {
                    self.counts.transmit_dropped.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        let all = left.is_empty();
        for packet in left.into_iter().rev() {
            batch.push_front(packet);
        }
        (results.len(), all)
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
        let header = &header[..self.header_len];
        let len = packet.len();
        if len <= FEW {
            // A call that writes one piece costs a tenth less.
            let mut bytes = [0; virtio::LEN + FEW];
            bytes[..header.len()].copy_from_slice(header);
            packet.copy_to(&mut bytes[header.len()..][..len]);
            return sent(again(|| (&*self.file).write(&bytes[..header.len() + len])));
        }
        let mut slices: SmallVec<[IoSlice<'_>; USUAL_SLICES]> = SmallVec::new();
        slices.push(IoSlice::new(header));
        slices.extend(packet.slices().map(IoSlice::new));
        self.send(&slices)
    }

    fn send(&self, slices: &[IoSlice<'_>]) -> Result<bool, ()> {
        if slices.len() > MAX_SLICES {
            return Err(());
        }
        sent(again(|| (&*self.file).write_vectored(slices)))
    }
}

impl Transmit for TapTransmit {
    fn transmit(&mut self, batch: &mut Batch) {
        loop {
            match self.write_many(batch) {
                (0, _) => {}
                (_, true) => continue,
                (_, false) => return,
            }
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
