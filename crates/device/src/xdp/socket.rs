//! Sockets of AF_XDP with their memory (UMEM) and their rings, as
//! Documentation/networking/af_xdp.rst of Linux describes them.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

const SOL_XDP: libc::c_int = 283;
const MMAP_OFFSETS: libc::c_int = 1;
const RX_RING: libc::c_int = 2;
const TX_RING: libc::c_int = 3;
const UMEM_REG: libc::c_int = 4;
const FILL_RING: libc::c_int = 5;
const COMPLETION_RING: libc::c_int = 6;
const STATISTICS: libc::c_int = 7;
const OPTIONS: libc::c_int = 8;

/// Of `OPTIONS`: the driver reads and writes our memory itself.
const ZERO_COPY: u32 = 1;
/// Of a registration: frames have room for metadata before them.
const HAS_METADATA: u32 = 4;
/// Of a ring's flags: the kernel has to be told that there is something in it.
const NEED_WAKEUP: u32 = 1;

/// Bytes before each frame that is sent, for what the driver is asked to do.
pub(super) const METADATA: usize = 24;
/// Bytes that the kernel keeps free before each frame that arrives.
pub(super) const HEADROOM: usize = 256;

/// `struct xdp_umem_reg`.
#[repr(C)]
struct Registration {
    address: u64,
    len: u64,
    chunk: u32,
    headroom: u32,
    flags: u32,
    metadata: u32,
}

/// `struct xdp_ring_offset`.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Offsets {
    producer: u64,
    consumer: u64,
    descriptors: u64,
    flags: u64,
}

/// `struct sockaddr_xdp`.
#[repr(C)]
struct Address {
    family: u16,
    flags: u16,
    interface: u32,
    queue: u32,
    shared: u32,
}

/// `struct xdp_desc`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Descriptor {
    pub(super) address: u64,
    pub(super) len: u32,
    pub(super) options: u32,
}

/// Memory that is shared with the kernel until this is dropped.
struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: it is memory; those who have pointers into it say who uses which part.
unsafe impl Send for Mapping {}
// SAFETY: as above.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(len: usize, fd: Option<(BorrowedFd<'_>, i64)>) -> io::Result<Mapping> {
        let (flags, fd, offset) = match fd {
            None => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0),
            Some((fd, offset)) => (libc::MAP_SHARED | libc::MAP_POPULATE, fd.as_raw_fd(), offset),
        };
        let rights = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping at a place that the kernel chooses.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, rights, flags, fd, offset) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Mapping { start, len })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: it was mapped with this length, and nobody has a pointer into it any more.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

/// The memory of frames: `frames` of them, `chunk` bytes each.
pub(super) struct Umem {
    memory: Mapping,
    pub(super) chunk: usize,
}

impl Umem {
    /// The bytes of `len` at this address, if they are all in it.
    fn place(&self, address: u64, len: usize) -> Option<*mut u8> {
        let start = usize::try_from(address).ok()?;
        (start.checked_add(len)? <= self.memory.len).then(|| {
            // SAFETY: that is inside the mapping.
            unsafe { self.memory.start.as_ptr().add(start) }
        })
    }

    /// Has `f` read a frame that has arrived; `None` if it is not in this memory.
    ///
    /// # Safety
    /// The kernel has given this frame to the caller, who has not given it back, and
    /// nobody else uses it.
    pub(super) unsafe fn read<R>(
        &self,
        address: u64,
        len: usize,
        f: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        let place = self.place(address, len)?;
        // SAFETY: it is inside, it is ours by the contract, and all bytes are initialized,
        // for the mapping began as zeros.
        Some(f(unsafe { std::slice::from_raw_parts(place, len) }))
    }

    /// Has `f` write a frame; `None` if it is not in this memory.
    ///
    /// # Safety
    /// As [`Umem::read`].
    pub(super) unsafe fn write<R>(
        &self,
        address: u64,
        len: usize,
        f: impl FnOnce(&mut [u8]) -> R,
    ) -> Option<R> {
        let place = self.place(address, len)?;
        // SAFETY: as in `read`; exclusive by the contract.
        Some(f(unsafe { std::slice::from_raw_parts_mut(place, len) }))
    }
}

/// One end of a ring of `T`, the kernel having the other.
pub(super) struct Ring<T> {
    mapping: Mapping,
    offsets: Offsets,
    mask: u32,
    /// Of both ends, as far as we know.
    producer: u32,
    consumer: u32,
    of: std::marker::PhantomData<T>,
}

impl<T: Copy> Ring<T> {
    fn word(&self, offset: u64) -> &AtomicU32 {
        // SAFETY: the kernel says that at this offset of the mapping is an aligned word,
        // which it changes atomically, too.
        unsafe { &*self.mapping.start.as_ptr().add(offset as usize).cast::<AtomicU32>() }
    }

    fn entry(&self, index: u32) -> *mut T {
        let at = self.offsets.descriptors as usize + (index & self.mask) as usize * size_of::<T>();
        // SAFETY: the mapping was made for `mask + 1` entries behind this offset.
        unsafe { self.mapping.start.as_ptr().add(at).cast() }
    }

    /// Must the kernel be told?
    pub(super) fn needs_wakeup(&self) -> bool {
        self.word(self.offsets.flags).load(Ordering::Relaxed) & NEED_WAKEUP != 0
    }

    /// Entries that the kernel has put here and that were not taken.
    pub(super) fn arrived(&self) -> usize {
        let producer = self.word(self.offsets.producer).load(Ordering::Acquire);
        producer.wrapping_sub(self.consumer).min(self.mask + 1) as usize
    }

    /// Takes the next entry that the kernel has put here. It is the kernel's again after
    /// [`Ring::release`].
    pub(super) fn take(&mut self) -> Option<T> {
        if self.consumer == self.producer {
            self.producer = self.consumer.wrapping_add(self.arrived() as u32);
            if self.consumer == self.producer {
                return None;
            }
        }
        // SAFETY: the kernel has published this entry, and waits for us to release it.
        let entry = unsafe { self.entry(self.consumer).read() };
        self.consumer = self.consumer.wrapping_add(1);
        Some(entry)
    }

    /// Gives the entries that were taken back to the kernel.
    pub(super) fn release(&mut self) {
        self.word(self.offsets.consumer).store(self.consumer, Ordering::Release);
    }

    /// Entries that the kernel has not taken.
    pub(super) fn unsent(&self) -> usize {
        let consumer = self.word(self.offsets.consumer).load(Ordering::Acquire);
        self.producer.wrapping_sub(consumer) as usize
    }

    /// Puts an entry; `false` if the ring is full. The kernel sees it after
    /// [`Ring::publish`].
    pub(super) fn put(&mut self, entry: T) -> bool {
        if self.producer.wrapping_sub(self.consumer) > self.mask {
            self.consumer = self.word(self.offsets.consumer).load(Ordering::Acquire);
            if self.producer.wrapping_sub(self.consumer) > self.mask {
                return false;
            }
        }
        // SAFETY: the kernel has consumed what was in this place, and does not read it
        // before it is published.
        unsafe { self.entry(self.producer).write(entry) };
        self.producer = self.producer.wrapping_add(1);
        true
    }

    /// Shows the kernel what was put.
    pub(super) fn publish(&mut self) {
        self.word(self.offsets.producer).store(self.producer, Ordering::Release);
    }
}

/// What the sockets of one queue have in common.
pub(super) struct Common {
    pub(super) umem: Umem,
    pub(super) fill: Ring<u64>,
    pub(super) completion: Ring<u64>,
    /// Frames that are sent may have metadata before them.
    pub(super) has_metadata: bool,
}

/// A socket that is bound, and its rings.
pub(super) struct Member {
    pub(super) socket: Socket,
    pub(super) receive: Ring<Descriptor>,
    /// Of what it sends, if it does.
    pub(super) transmit: Option<Ring<Descriptor>>,
}

/// The socket alone.
pub(super) struct Socket(OwnedFd);

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Socket {
    fn set<T>(&self, level: libc::c_int, name: libc::c_int, value: &T) -> io::Result<()> {
        let len = size_of::<T>() as libc::socklen_t;
        let value = std::ptr::from_ref(value).cast();
        // SAFETY: the option reads `len` bytes there.
        let done = unsafe { libc::setsockopt(self.0.as_raw_fd(), level, name, value, len) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn get<T: Copy>(&self, name: libc::c_int, mut value: T) -> io::Result<T> {
        let mut len = size_of::<T>() as libc::socklen_t;
        let place = (&raw mut value).cast();
        // SAFETY: the option writes at most `len` bytes there, all of them integers.
        let done =
            unsafe { libc::getsockopt(self.0.as_raw_fd(), SOL_XDP, name, place, &raw mut len) };
        if done < 0 || len as usize != size_of::<T>() {
            return Err(io::Error::last_os_error());
        }
        Ok(value)
    }

    /// Has the kernel look at the socket's rings: send, or fill.
    pub(super) fn wake(&self, sends: bool) -> io::Result<()> {
        let (fd, flags) = (self.0.as_raw_fd(), libc::MSG_DONTWAIT);
        let nothing = std::ptr::null_mut::<libc::c_void>();
        // SAFETY: no bytes are read or written.
        let done = unsafe {
            if sends {
                libc::sendto(fd, nothing, 0, flags, std::ptr::null(), 0)
            } else {
                libc::recvfrom(fd, nothing, 0, flags, std::ptr::null_mut(), std::ptr::null_mut())
            }
        };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Has waiting calls poll the queue for so many microseconds, and keeps its interrupts
    /// away meanwhile.
    pub(super) fn poll_busily(&self, microseconds: u32) -> io::Result<()> {
        const SO_PREFER_BUSY_POLL: libc::c_int = 69;
        const SO_BUSY_POLL_BUDGET: libc::c_int = 70;
        self.set(libc::SOL_SOCKET, SO_PREFER_BUSY_POLL, &1_i32)?;
        self.set(libc::SOL_SOCKET, libc::SO_BUSY_POLL, &(microseconds as i32))?;
        self.set(libc::SOL_SOCKET, SO_BUSY_POLL_BUDGET, &64_i32)
    }

    fn register(&self, umem: &Umem) -> io::Result<bool> {
        let mut registration = Registration {
            address: umem.memory.start.as_ptr() as u64,
            len: umem.memory.len as u64,
            chunk: umem.chunk as u32,
            headroom: 0,
            flags: HAS_METADATA,
            metadata: METADATA as u32,
        };
        match self.set(SOL_XDP, UMEM_REG, &registration) {
            // Before Linux 6.8 there is no metadata.
            Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
                (registration.flags, registration.metadata) = (0, 0);
                self.set(SOL_XDP, UMEM_REG, &registration).map(|()| false)
            }
            done => done.map(|()| true),
        }
    }

    fn ring<T>(&self, offsets: Offsets, page: i64, entries: u32) -> io::Result<Ring<T>> {
        let len = offsets.descriptors as usize + entries as usize * size_of::<T>();
        let mapping = Mapping::new(len, Some((self.0.as_fd(), page)))?;
        let of = std::marker::PhantomData;
        Ok(Ring { mapping, offsets, mask: entries - 1, producer: 0, consumer: 0, of })
    }

    fn offsets(&self) -> io::Result<[Offsets; 4]> {
        self.get(MMAP_OFFSETS, [Offsets::default(); 4])
    }

    /// What the kernel has not done for this socket: `struct xdp_statistics`.
    pub(super) fn statistics(&self) -> [u64; 6] {
        self.get(STATISTICS, [0; 6]).unwrap_or_default()
    }

    /// Is this socket, which is bound, one whose frames the driver reads and writes itself?
    fn is_zero_copy(&self) -> bool {
        self.get(OPTIONS, 0_u32).is_ok_and(|options| options & ZERO_COPY != 0)
    }
}

/// Where to bind.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) interface: u32,
    pub(super) queue: u32,
    /// The kernel copies even where the driver could do without.
    pub(super) copies: bool,
}

fn new() -> io::Result<Socket> {
    // SAFETY: a new socket.
    let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor.
    Ok(Socket(unsafe { OwnedFd::from_raw_fd(fd) }))
}

/// Can this process have a socket of AF_XDP?
///
/// # Errors
/// EAFNOSUPPORT if the kernel has none, EPERM without CAP_NET_RAW.
pub fn available() -> io::Result<()> {
    new().map(drop)
}

/// How many there are of what.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// Frames each way, a power of two.
    pub(super) entries: u32,
    /// Bytes of a frame's memory.
    pub(super) chunk: usize,
    /// Sockets.
    pub(super) members: usize,
}

/// So many sockets on this queue, which share its memory. `sends`: does this one send?
pub(super) fn open(
    place: Place,
    sizes: Sizes,
    sends: impl Fn(usize) -> bool,
) -> io::Result<(Common, Vec<Member>)> {
    let Sizes { entries, chunk, members } = sizes;
    let halves = if (0..members).any(&sends) { 2 } else { 1 };
    let umem = Umem { memory: Mapping::new(halves * entries as usize * chunk, None)?, chunk };
    let first = new()?;
    let metadata = first.register(&umem)?;
    for ring in [FILL_RING, COMPLETION_RING] {
        first.set(SOL_XDP, ring, &entries)?;
    }
    let first = member(first, sizes, sends(0))?;
    let [_, _, fr, cr] = first.socket.offsets()?;
    let fill = first.socket.ring(fr, 0x1_0000_0000, entries)?;
    let completion = first.socket.ring(cr, 0x1_8000_0000, entries)?;
    bind(&first.socket, place, None)?;
    let mut made = vec![first];
    for index in 1..members {
        let next = member(new()?, sizes, sends(index))?;
        bind(&next.socket, place, Some(made[0].socket.as_fd()))?;
        made.push(next);
    }
    // A driver that sends from our memory may not know what metadata asks for.
    let has_metadata = metadata && !made[0].socket.is_zero_copy();
    Ok((Common { umem, fill, completion, has_metadata }, made))
}

/// A socket with rings of its own, not bound yet. One of several gets its part of the frames
/// that arrive and no more, so that nobody is without frames because another does not come.
fn member(socket: Socket, sizes: Sizes, sends: bool) -> io::Result<Member> {
    let part = (sizes.entries / sizes.members as u32).max(2);
    let part = 1 << part.ilog2();
    socket.set(SOL_XDP, RX_RING, &part)?;
    if sends {
        socket.set(SOL_XDP, TX_RING, &sizes.entries)?;
    }
    let [rx, tx, ..] = socket.offsets()?;
    let receive = socket.ring(rx, 0, part)?;
    let transmit = sends.then(|| socket.ring(tx, 0x8000_0000, sizes.entries)).transpose()?;
    Ok(Member { socket, receive, transmit })
}

/// Binds a socket to a queue, with the memory that it has registered or with that of the one
/// which is bound there.
fn bind(socket: &Socket, place: Place, with: Option<BorrowedFd<'_>>) -> io::Result<()> {
    const SHARED_UMEM: u16 = 1;
    const COPY: u16 = 2;
    const USE_NEED_WAKEUP: u16 = 8;
    let own = USE_NEED_WAKEUP | if place.copies { COPY } else { 0 };
    let address = Address {
        family: libc::AF_XDP as u16,
        flags: if with.is_some() { SHARED_UMEM } else { own },
        interface: place.interface,
        queue: place.queue,
        shared: with.map_or(0, |fd| fd.as_raw_fd() as u32),
    };
    patiently(libc::EBUSY, || {
        let len = size_of::<Address>() as libc::socklen_t;
        // SAFETY: the call reads one such structure.
        let done = unsafe { libc::bind(socket.0.as_raw_fd(), (&raw const address).cast(), len) };
        if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    })
}

/// Does `f`, for a second if the answer is `busy`. The kernel takes a queue back from a
/// socket that was closed only after a while; and a process that is just being started
/// has all descriptors for a moment, and so keeps a program at its interface.
pub(super) fn patiently<T>(
    busy: libc::c_int,
    mut f: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    for _ in 0..200 {
        match f() {
            Err(e) if e.raw_os_error() == Some(busy) => {}
            done => return done,
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    Err(io::Error::from_raw_os_error(busy))
}
