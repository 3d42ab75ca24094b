//! The functions of the table: they take C's arguments apart, and put the answer
//! together. What they do is elsewhere.
//!
//! SAFETY, of all blocks here: packetdrill gives each function the `userdata` of the
//! table, which is a [`Drill`] until [`free`] was called; and the pointers that the
//! system call of the same name takes, valid as that call wants them.

use crate::drill::Drill;
use crate::errno::{Answer, Errno};
use crate::memory;
use crate::readiness;
use crate::sockopt::TCP_INQ;
use libc::{
    c_int, c_long, c_longlong, c_uint, c_ulong, c_void, epoll_event, iovec, loff_t, msghdr, nfds_t,
    pollfd, size_t, sockaddr, socklen_t, ssize_t, timeval,
};

/// `userdata`.
pub(crate) type Data = *mut c_void;

/// The stack behind `userdata`.
///
/// # Safety
/// `data` is the table's, and the stack was not freed.
unsafe fn drill<'a>(data: Data) -> &'a Drill {
    // SAFETY: the table's `userdata` came from `Box::into_raw`, and only shared
    // references are made of it until it is freed.
    unsafe { &*data.cast::<Drill>() }
}

/// -1 and `errno`, or the value.
fn answer(result: Answer) -> ssize_t {
    match result {
        Ok(value) => value as ssize_t,
        Err(Errno(code)) => {
            // SAFETY: the address of the thread's own `errno`.
            unsafe { *libc::__errno_location() = code };
            -1
        }
    }
}

/// As [`answer`], for calls that return an `int`.
fn number(result: Answer) -> c_int {
    answer(result) as c_int
}

pub(crate) unsafe extern "C" fn free(data: Data) {
    // SAFETY: the last call: nobody has the stack any more.
    unsafe { Box::from_raw(data.cast::<Drill>()) }.end();
}

pub(crate) unsafe extern "C" fn socket(
    data: Data,
    domain: c_int,
    kind: c_int,
    protocol: c_int,
) -> c_int {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    number(drill.world.call(|| drill.open(domain, kind, protocol)))
}

pub(crate) unsafe extern "C" fn bind(
    data: Data,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    // SAFETY: as the module says.
    let (drill, address) = unsafe { (drill(data), memory::address(address, len)) };
    number(drill.world.call(|| drill.socket(fd)?.bind(address?)))
}

pub(crate) unsafe extern "C" fn listen(data: Data, fd: c_int, backlog: c_int) -> c_int {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    number(drill.world.call(|| drill.socket(fd)?.listen(&drill.world, backlog)))
}

pub(crate) unsafe extern "C" fn accept(
    data: Data,
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    number(drill.world.call(|| {
        let (accepted, peer) = drill.accept(fd)?;
        // SAFETY: as the module says.
        unsafe { memory::put_address(peer, address, len) }?;
        Ok(accepted)
    }))
}

pub(crate) unsafe extern "C" fn connect(
    data: Data,
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    // SAFETY: as the module says.
    let (drill, address) = unsafe { (drill(data), memory::address_or_none(address, len)) };
    number(drill.world.call(|| match address? {
        Some(address) => drill.socket(fd)?.connect(&drill.world, address),
        None => drill.socket(fd)?.disconnect(),
    }))
}

pub(crate) unsafe extern "C" fn read(
    data: Data,
    fd: c_int,
    buf: *mut c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: the same contract.
    unsafe { recv(data, fd, buf, len, 0) }
}

pub(crate) unsafe extern "C" fn recv(
    data: Data,
    fd: c_int,
    buf: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the module says.
    let (drill, bytes) = unsafe { (drill(data), memory::bytes_mut(buf, len)) };
    answer(drill.world.call(|| drill.socket(fd)?.receive(&drill.world, bytes?, flags)))
}

pub(crate) unsafe extern "C" fn recvfrom(
    data: Data,
    fd: c_int,
    buf: *mut c_void,
    len: size_t,
    flags: c_int,
    _: *mut sockaddr,
    _: *mut socklen_t,
) -> ssize_t {
    // SAFETY: the same contract. A connected socket tells no address.
    unsafe { recv(data, fd, buf, len, flags) }
}

/// Receives into parts.
///
/// # Safety
/// As the module says.
unsafe fn receive_parts(
    data: Data,
    fd: c_int,
    parts: *const iovec,
    count: usize,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the module says.
    let (drill, parts) = unsafe { (drill(data), memory::parts(parts, count)) };
    answer(drill.world.call(|| {
        let parts = parts?;
        let mut bytes = vec![0; parts.iter().map(|part| part.iov_len).sum()];
        let n = drill.socket(fd)?.receive(&drill.world, &mut bytes, flags)?;
        // SAFETY: as the module says.
        unsafe { memory::scatter(&bytes[..n], parts) }?;
        Ok(n)
    }))
}

pub(crate) unsafe extern "C" fn readv(
    data: Data,
    fd: c_int,
    parts: *const iovec,
    count: c_int,
) -> ssize_t {
    // SAFETY: the same contract.
    unsafe { receive_parts(data, fd, parts, count.max(0) as usize, 0) }
}

pub(crate) unsafe extern "C" fn recvmsg(
    data: Data,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> ssize_t {
    if message.is_null() {
        return answer(Err(Errno(libc::EFAULT)));
    }
    // SAFETY: not null, and as the module says.
    let message = unsafe { &mut *message };
    message.msg_flags = 0;
    // SAFETY: the same contract.
    let read = unsafe { receive_parts(data, fd, message.msg_iov, message.msg_iovlen, flags) };
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    let hint = drill.socket(fd).ok().and_then(|socket| socket.hint()).filter(|_| read > 0);
    // SAFETY: as the module says.
    unsafe { memory::put_control(message, hint.map(|hint| (libc::IPPROTO_TCP, TCP_INQ, hint))) };
    read
}

pub(crate) unsafe extern "C" fn write(
    data: Data,
    fd: c_int,
    buf: *const c_void,
    len: size_t,
) -> ssize_t {
    // SAFETY: the same contract.
    unsafe { send(data, fd, buf, len, 0) }
}

pub(crate) unsafe extern "C" fn send(
    data: Data,
    fd: c_int,
    buf: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the module says.
    let (drill, bytes) = unsafe { (drill(data), memory::bytes(buf, len)) };
    answer(drill.world.call(|| drill.socket(fd)?.send(&drill.world, bytes?, flags)))
}

pub(crate) unsafe extern "C" fn sendto(
    data: Data,
    fd: c_int,
    buf: *const c_void,
    len: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_len: socklen_t,
) -> ssize_t {
    if flags & libc::MSG_FASTOPEN == 0 {
        // SAFETY: the same contract. A connected socket needs no address.
        return unsafe { send(data, fd, buf, len, flags) };
    }
    // SAFETY: as the module says.
    let (drill, bytes) = unsafe { (drill(data), memory::bytes(buf, len)) };
    // SAFETY: as the module says.
    let remote = unsafe { memory::address(address, address_len) }.ok();
    answer(drill.world.call(|| drill.socket(fd)?.send_opening(&drill.world, bytes?, flags, remote)))
}

/// Sends parts.
///
/// # Safety
/// As the module says.
unsafe fn send_parts(
    data: Data,
    fd: c_int,
    parts: *const iovec,
    count: usize,
    flags: c_int,
) -> ssize_t {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    answer(drill.world.call(|| {
        // SAFETY: as the module says.
        let bytes = unsafe { memory::gather(memory::parts(parts, count)?) }?;
        drill.socket(fd)?.send(&drill.world, &bytes, flags)
    }))
}

pub(crate) unsafe extern "C" fn writev(
    data: Data,
    fd: c_int,
    parts: *const iovec,
    count: c_int,
) -> ssize_t {
    // SAFETY: the same contract.
    unsafe { send_parts(data, fd, parts, count.max(0) as usize, 0) }
}

pub(crate) unsafe extern "C" fn sendmsg(
    data: Data,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    if message.is_null() {
        return answer(Err(Errno(libc::EFAULT)));
    }
    // SAFETY: not null, and as the module says.
    let message = unsafe { &*message };
    if flags & libc::MSG_FASTOPEN == 0 {
        // SAFETY: as the module says.
        return unsafe { send_parts(data, fd, message.msg_iov, message.msg_iovlen, flags) };
    }
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    answer(drill.world.call(|| {
        // SAFETY: as the module says.
        let bytes = unsafe { memory::gather(memory::parts(message.msg_iov, message.msg_iovlen)?) }?;
        // SAFETY: as the module says.
        let remote = unsafe { memory::address(message.msg_name.cast(), message.msg_namelen) }.ok();
        drill.socket(fd)?.send_opening(&drill.world, &bytes, flags, remote)
    }))
}

pub(crate) unsafe extern "C" fn fcntl(
    data: Data,
    fd: c_int,
    command: c_int,
    argument: c_long,
) -> c_int {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    number(drill.world.call(|| drill.socket(fd)?.fcntl(command, argument as c_int)))
}

pub(crate) unsafe extern "C" fn ioctl(
    data: Data,
    fd: c_int,
    request: c_ulong,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    number(drill.world.call(|| {
        if request != libc::FIONREAD {
            return Err(Errno(libc::ENOTTY));
        }
        let unread = drill.socket(fd)?.unread()? as c_int;
        // SAFETY: as the module says: this request wants an integer.
        unsafe { memory::bytes_mut(argument, size_of::<c_int>()) }?
            .copy_from_slice(&unread.to_ne_bytes());
        Ok(0)
    }))
}

pub(crate) unsafe extern "C" fn close(data: Data, fd: c_int) -> c_int {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    number(drill.world.call(|| drill.close(fd)))
}

pub(crate) unsafe extern "C" fn shutdown(data: Data, fd: c_int, how: c_int) -> c_int {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    number(drill.world.call(|| drill.socket(fd)?.shutdown(how)))
}

pub(crate) unsafe extern "C" fn getsockopt(
    data: Data,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    number(drill.world.call(|| {
        // SAFETY: as the module says.
        let len = unsafe { len.as_mut() }.ok_or(Errno(libc::EFAULT))?;
        let option = drill.socket(fd)?.option(&drill.world, level, name)?;
        let n = option.len().min(*len as usize);
        // SAFETY: as the module says: there is room for as much as `len` says.
        unsafe { memory::bytes_mut(value, n) }?.copy_from_slice(&option[..n]);
        *len = n as socklen_t;
        Ok(0)
    }))
}

pub(crate) unsafe extern "C" fn setsockopt(
    data: Data,
    fd: c_int,
    level: c_int,
    name: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    // SAFETY: as the module says.
    let (drill, value) = unsafe { (drill(data), memory::bytes(value, len as usize)) };
    number(drill.world.call(|| drill.socket(fd)?.set_option(&drill.world, level, name, value?)))
}

pub(crate) unsafe extern "C" fn poll(
    data: Data,
    fds: *mut pollfd,
    count: nfds_t,
    millis: c_int,
) -> c_int {
    // SAFETY: as the module says.
    let (drill, fds) = unsafe { (drill(data), memory::values(fds, count as usize)) };
    number(drill.world.call(|| readiness::poll(&drill.world, |fd| drill.socket(fd), fds?, millis)))
}

pub(crate) unsafe extern "C" fn epoll_create(data: Data, _: c_int) -> c_int {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    number(drill.world.call(|| drill.create_epoll()))
}

pub(crate) unsafe extern "C" fn epoll_ctl(
    data: Data,
    epoll: c_int,
    operation: c_int,
    fd: c_int,
    event: *mut epoll_event,
) -> c_int {
    // SAFETY: as the module says.
    let (drill, event) = unsafe { (drill(data), event.as_ref()) };
    let event = event.copied().unwrap_or(epoll_event { events: 0, u64: 0 });
    number(drill.world.call(|| drill.epoll(epoll)?.control(operation, drill.socket(fd)?, event)))
}

pub(crate) unsafe extern "C" fn epoll_wait(
    data: Data,
    epoll: c_int,
    events: *mut epoll_event,
    most: c_int,
    millis: c_int,
) -> c_int {
    // SAFETY: as the module says.
    let (drill, events) = unsafe { (drill(data), memory::values(events, most.max(0) as usize)) };
    number(drill.world.call(|| drill.epoll(epoll)?.wait(&drill.world, events?, millis)))
}

pub(crate) unsafe extern "C" fn pipe(_: Data, _: *mut c_int) -> c_int {
    number(Err(Errno(libc::ENOSYS)))
}

pub(crate) unsafe extern "C" fn splice(
    _: Data,
    _: c_int,
    _: *mut loff_t,
    _: c_int,
    _: *mut loff_t,
    _: size_t,
    _: c_uint,
) -> ssize_t {
    answer(Err(Errno(libc::ENOSYS)))
}

pub(crate) unsafe extern "C" fn netdev_send(
    data: Data,
    packet: *const c_void,
    len: size_t,
) -> c_int {
    // SAFETY: as the module says.
    let (drill, packet) = unsafe { (drill(data), memory::bytes(packet, len)) };
    number(packet.map(|packet| {
        drill.world.arrive(packet);
        0
    }))
}

pub(crate) unsafe extern "C" fn netdev_receive(
    data: Data,
    buf: *mut c_void,
    len: *mut size_t,
    micros: *mut c_longlong,
) -> c_int {
    // SAFETY: as the module says.
    let drill = unsafe { drill(data) };
    let Some(sent) = drill.world.next_packet() else {
        // packetdrill takes it for a packet of no bytes, and says so.
        // SAFETY: as the module says.
        unsafe { *len = 0 };
        return 0;
    };
    // SAFETY: as the module says: there is room for `len` bytes.
    unsafe {
        let room = memory::bytes_mut(buf, *len).unwrap_or_default();
        let n = sent.bytes.len().min(room.len());
        room[..n].copy_from_slice(&sent.bytes[..n]);
        *len = n;
        *micros = sent.at as c_longlong;
    }
    0
}

pub(crate) unsafe extern "C" fn usleep(data: Data, micros: c_uint) -> c_int {
    // SAFETY: as the module says.
    unsafe { drill(data) }.world.sleep(micros.into());
    0
}

pub(crate) unsafe extern "C" fn gettimeofday(
    data: Data,
    time: *mut timeval,
    _: *mut c_void,
) -> c_int {
    // SAFETY: as the module says.
    let (drill, time) = unsafe { (drill(data), time.as_mut()) };
    let micros = drill.world.look();
    if let Some(time) = time {
        time.tv_sec = (micros / 1_000_000) as libc::time_t;
        time.tv_usec = (micros % 1_000_000) as libc::suseconds_t;
    }
    0
}
