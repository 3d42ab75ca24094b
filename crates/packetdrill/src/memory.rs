//! What C's pointers point at, as values and slices.

use crate::errno::{Answer, Errno};
use libc::{CMSG_DATA, CMSG_FIRSTHDR, CMSG_LEN, CMSG_SPACE, c_int, msghdr};
use libc::{iovec, sockaddr, sockaddr_in, sockaddr_in6, socklen_t};
use std::ffi::{CStr, c_char, c_void};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// A string of C; empty if there is none.
///
/// # Safety
/// `text` is null or points to a string that ends by a zero byte.
pub(crate) unsafe fn text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: not null, and the caller says that the string ends.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// Bytes to read.
///
/// # Safety
/// `bytes` is null, or `len` bytes there stay readable for `'a`.
pub(crate) unsafe fn bytes<'a>(bytes: *const c_void, len: usize) -> Answer<&'a [u8]> {
    match (bytes.is_null(), len) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Errno(libc::EFAULT)),
        // SAFETY: not null, and the caller says that they can be read.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(bytes.cast(), len) }),
    }
}

/// Bytes to write to, whatever is there now.
///
/// # Safety
/// `bytes` is null, or `len` initialized bytes there are nobody else's for `'a`.
pub(crate) unsafe fn bytes_mut<'a>(bytes: *mut c_void, len: usize) -> Answer<&'a mut [u8]> {
    match (bytes.is_null(), len) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(Errno(libc::EFAULT)),
        // SAFETY: not null, and the caller says that they are ours.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(bytes.cast(), len) }),
    }
}

/// Values of C.
///
/// # Safety
/// `values` is null, or `len` initialized values there are nobody else's for `'a`.
pub(crate) unsafe fn values<'a, T>(values: *mut T, len: usize) -> Answer<&'a mut [T]> {
    match (values.is_null(), len) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(Errno(libc::EFAULT)),
        // SAFETY: not null, and the caller says that they are ours.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(values, len) }),
    }
}

/// Parts of a message.
///
/// # Safety
/// `parts` is null or points to `count` parts.
pub(crate) unsafe fn parts<'a>(parts: *const iovec, count: usize) -> Answer<&'a [iovec]> {
    match (parts.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(Errno(libc::EFAULT)),
        // SAFETY: not null, and the caller says that there are so many.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(parts, count) }),
    }
}

/// The bytes of all parts, one behind the other.
///
/// # Safety
/// Each part's bytes can be read.
pub(crate) unsafe fn gather(parts: &[iovec]) -> Answer<Vec<u8>> {
    let mut all = Vec::new();
    for part in parts {
        // SAFETY: the caller says so of each part.
        all.extend_from_slice(unsafe { bytes(part.iov_base, part.iov_len) }?);
    }
    Ok(all)
}

/// Deals bytes to parts, one behind the other.
///
/// # Safety
/// Each part's bytes are initialized and nobody else's.
pub(crate) unsafe fn scatter(mut from: &[u8], parts: &[iovec]) -> Answer<()> {
    for part in parts {
        // SAFETY: the caller says so of each part.
        let to = unsafe { bytes_mut(part.iov_base, part.iov_len) }?;
        let (now, rest) = from.split_at(from.len().min(to.len()));
        to[..now.len()].copy_from_slice(now);
        from = rest;
    }
    Ok(())
}

/// As [`address`], or nothing where the address says that it is of no family (`AF_UNSPEC`).
///
/// # Safety
/// As of [`address`].
pub(crate) unsafe fn address_or_none(
    address: *const sockaddr,
    len: socklen_t,
) -> Answer<Option<SocketAddr>> {
    if !address.is_null() && len as usize >= size_of::<libc::sa_family_t>() {
        // SAFETY: not null, and long enough for the family, which stands first in each kind of
        // address; the place may be any.
        let family = unsafe { address.cast::<libc::sa_family_t>().read_unaligned() };
        if c_int_of(family) == libc::AF_UNSPEC {
            return Ok(None);
        }
    }
    // SAFETY: the same contract.
    unsafe { self::address(address, len) }.map(Some)
}

/// The address and port that a socket address has.
///
/// # Safety
/// `address` is null or points to `len` readable bytes.
pub(crate) unsafe fn address(address: *const sockaddr, len: socklen_t) -> Answer<SocketAddr> {
    if address.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    let len = len as usize;
    if len < size_of::<sockaddr_in>() {
        return Err(Errno(libc::EINVAL));
    }
    // SAFETY: not null, and long enough for the fields of an IPv4 address, which may
    // stand at any place.
    let v4 = unsafe { address.cast::<sockaddr_in>().read_unaligned() };
    match c_int_of(v4.sin_family) {
        libc::AF_INET => {
            let ip = Ipv4Addr::from(u32::from_be(v4.sin_addr.s_addr));
            Ok(SocketAddrV4::new(ip, u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 if len >= size_of::<sockaddr_in6>() => {
            // SAFETY: as above, and long enough for those of an IPv6 address.
            let v6 = unsafe { address.cast::<sockaddr_in6>().read_unaligned() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            let port = u16::from_be(v6.sin6_port);
            Ok(SocketAddrV6::new(ip, port, 0, v6.sin6_scope_id).into())
        }
        libc::AF_INET6 => Err(Errno(libc::EINVAL)),
        _ => Err(Errno(libc::EAFNOSUPPORT)),
    }
}

fn c_int_of(family: libc::sa_family_t) -> c_int {
    family.into()
}

/// Writes a socket address where somebody wants it, cut off at what there is room for.
///
/// # Safety
/// Each pointer is null or can be written to, `address` for as many bytes as `len`
/// says.
pub(crate) unsafe fn put_address(
    from: SocketAddr,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> Answer<()> {
    if address.is_null() || len.is_null() {
        return Ok(());
    }
    // SAFETY: the caller says that both can be written to.
    unsafe {
        match from {
            SocketAddr::V4(from) => put(&of_v4(from), address, len),
            SocketAddr::V6(from) => put(&of_v6(from), address, len),
        }
    }
    Ok(())
}

fn of_v4(from: SocketAddrV4) -> sockaddr_in {
    sockaddr_in {
        sin_family: libc::AF_INET as libc::sa_family_t,
        sin_port: from.port().to_be(),
        sin_addr: libc::in_addr { s_addr: u32::from(*from.ip()).to_be() },
        sin_zero: [0; 8],
    }
}

fn of_v6(from: SocketAddrV6) -> sockaddr_in6 {
    sockaddr_in6 {
        sin6_family: libc::AF_INET6 as libc::sa_family_t,
        sin6_port: from.port().to_be(),
        sin6_flowinfo: 0,
        sin6_addr: libc::in6_addr { s6_addr: from.ip().octets() },
        sin6_scope_id: from.scope_id(),
    }
}

/// Writes a control message, of a level, a type and an integer, where a message wants such, or
/// that there is none.
///
/// # Safety
/// `message` says where there is room for control messages, and how much.
pub(crate) unsafe fn put_control(message: &mut msghdr, control: Option<(c_int, c_int, c_int)>) {
    // SAFETY: the function only adds up sizes.
    let (space, len) = unsafe { (CMSG_SPACE(SIZE), CMSG_LEN(SIZE)) };
    let Some((level, kind, value)) = control.filter(|_| message.msg_controllen >= space as usize)
    else {
        if control.is_some() {
            message.msg_flags |= libc::MSG_CTRUNC;
        }
        return message.msg_controllen = 0;
    };
    // SAFETY: the caller says that there is as much room as `msg_controllen`, which is enough for
    // this one; its place is one of C's, and so it is aligned.
    unsafe {
        let first = CMSG_FIRSTHDR(message);
        if !first.is_null() {
            (*first).cmsg_len = len as usize;
            ((*first).cmsg_level, (*first).cmsg_type) = (level, kind);
            CMSG_DATA(first).cast::<c_int>().write_unaligned(value);
        }
    }
    message.msg_controllen = space as usize;
}

/// Bytes of an integer in a control message.
const SIZE: libc::c_uint = size_of::<c_int>() as libc::c_uint;

/// Writes `value`, cut off at what there is room for.
///
/// # Safety
/// Both pointers can be written to, `address` for as many bytes as `len` says.
unsafe fn put<T>(value: &T, address: *mut sockaddr, len: *mut socklen_t) {
    // SAFETY: the caller says so; no more is written than `len` says.
    unsafe {
        let room = (*len as usize).min(size_of::<T>());
        std::ptr::copy_nonoverlapping(std::ptr::from_ref(value).cast::<u8>(), address.cast(), room);
        *len = size_of::<T>() as socklen_t;
    }
}
