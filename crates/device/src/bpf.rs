//! eBPF without a library: instructions (RFC 9669), and the few calls of bpf(2) that
//! devices need.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// One instruction (`struct bpf_insn`): code, registers, offset, immediate.
pub(crate) type Instruction = [u8; 8];

/// The instruction of these parts.
pub(crate) fn op(code: u8, dst: u8, src: u8, offset: i16, imm: u32) -> Instruction {
    let ([o0, o1], [i0, i1, i2, i3]) = (offset.to_ne_bytes(), imm.to_ne_bytes());
    let registers = if cfg!(target_endian = "little") { src << 4 | dst } else { dst << 4 | src };
    [code, registers, o0, o1, i0, i1, i2, i3]
}

/// Programs that choose a TAP device's queue.
pub(crate) const SOCKET_FILTER: u32 = 1;
/// Programs that a driver runs for each frame.
pub(crate) const XDP: u32 = 6;

/// The start of `union bpf_attr` for BPF_PROG_LOAD.
#[repr(C)]
struct Load {
    kind: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
}

/// The same for BPF_MAP_CREATE.
#[repr(C)]
struct Create {
    kind: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
}

/// The same for BPF_MAP_UPDATE_ELEM.
#[repr(C)]
struct Update {
    map: u32,
    padding: u32,
    key: u64,
    value: u64,
    flags: u64,
}

/// The same for BPF_LINK_CREATE.
#[repr(C)]
struct Link {
    program: u32,
    target: u32,
    kind: u32,
    flags: u32,
}

fn call<T>(command: libc::c_int, attributes: &T) -> io::Result<libc::c_int> {
    // SAFETY: the attributes, and all that they point to, live through the call; the
    // callers give those of their command, with their size.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, attributes, size_of::<T>()) };
    let result = libc::c_int::try_from(result).unwrap_or(-1);
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn descriptor<T>(command: libc::c_int, attributes: &T) -> io::Result<OwnedFd> {
    let fd = call(command, attributes)?;
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn raw(descriptor: BorrowedFd<'_>) -> u32 {
    descriptor.as_raw_fd() as u32
}

/// Loads a program of this kind. It lives as long as the descriptor, or what it is
/// attached to.
pub(crate) fn load(kind: u32, program: &[Instruction]) -> io::Result<OwnedFd> {
    const BPF_PROG_LOAD: libc::c_int = 5;
    let attributes = Load {
        kind,
        count: program.len() as u32,
        instructions: program.as_ptr() as u64,
        license: c"MIT".as_ptr() as u64,
        log_level: 0,
        log_size: 0,
        log: 0,
    };
    descriptor(BPF_PROG_LOAD, &attributes)
}

/// A map from queues to sockets (XSKMAP) for this many.
pub(crate) fn sockets(entries: u32) -> io::Result<OwnedFd> {
    const BPF_MAP_CREATE: libc::c_int = 0;
    const XSKMAP: u32 = 17;
    descriptor(BPF_MAP_CREATE, &Create { kind: XSKMAP, key_size: 4, value_size: 4, entries })
}

/// Puts `socket` into the map, for this queue.
pub(crate) fn insert(map: BorrowedFd<'_>, queue: u32, socket: BorrowedFd<'_>) -> io::Result<()> {
    const BPF_MAP_UPDATE_ELEM: libc::c_int = 2;
    let value = raw(socket);
    let (key, value) = (&raw const queue as u64, &raw const value as u64);
    let attributes = Update { map: raw(map), padding: 0, key, value, flags: 0 };
    call(BPF_MAP_UPDATE_ELEM, &attributes).map(drop)
}

/// Has the interface of this index run an XDP program, until the descriptor is closed.
pub(crate) fn attach_xdp(
    program: BorrowedFd<'_>,
    interface: u32,
    flags: u32,
) -> io::Result<OwnedFd> {
    const BPF_LINK_CREATE: libc::c_int = 28;
    const BPF_XDP: u32 = 37;
    let attributes = Link { program: raw(program), target: interface, kind: BPF_XDP, flags };
    descriptor(BPF_LINK_CREATE, &attributes)
}
