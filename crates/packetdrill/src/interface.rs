//! [`Interface`]: the table of functions by which packetdrill calls a stack.

use crate::calls::{self, Data};
use crate::drill::Drill;
use libc::{
    c_int, c_long, c_longlong, c_uint, c_ulong, c_void, epoll_event, iovec, loff_t, msghdr, nfds_t,
    pollfd, size_t, sockaddr, socklen_t, ssize_t, timeval,
};

/// Declares the table and how it is filled, in packetdrill's order.
macro_rules! interface {
    ($($name:ident: fn($($arg:ty),*) -> $result:ty;)*) => {
        /// `struct packetdrill_interface`. Each function is given `userdata` first, and
        /// answers as the system call of its name, -1 and `errno` for an error.
        #[repr(C)]
        #[allow(missing_docs)]
        pub struct Interface {
            pub userdata: Data,
            pub free: unsafe extern "C" fn(Data),
            $(pub $name: unsafe extern "C" fn(Data, $($arg),*) -> $result,)*
        }

        impl Interface {
            /// The table of a stack.
            pub(crate) fn of(drill: Box<Drill>) -> Interface {
                Interface {
                    userdata: Box::into_raw(drill).cast(),
                    free: calls::free,
                    $($name: calls::$name,)*
                }
            }
        }
    };
}

interface! {
    socket: fn(c_int, c_int, c_int) -> c_int;
    bind: fn(c_int, *const sockaddr, socklen_t) -> c_int;
    listen: fn(c_int, c_int) -> c_int;
    accept: fn(c_int, *mut sockaddr, *mut socklen_t) -> c_int;
    connect: fn(c_int, *const sockaddr, socklen_t) -> c_int;
    read: fn(c_int, *mut c_void, size_t) -> ssize_t;
    readv: fn(c_int, *const iovec, c_int) -> ssize_t;
    recv: fn(c_int, *mut c_void, size_t, c_int) -> ssize_t;
    recvfrom: fn(c_int, *mut c_void, size_t, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t;
    recvmsg: fn(c_int, *mut msghdr, c_int) -> ssize_t;
    write: fn(c_int, *const c_void, size_t) -> ssize_t;
    writev: fn(c_int, *const iovec, c_int) -> ssize_t;
    send: fn(c_int, *const c_void, size_t, c_int) -> ssize_t;
    sendto: fn(c_int, *const c_void, size_t, c_int, *const sockaddr, socklen_t) -> ssize_t;
    sendmsg: fn(c_int, *const msghdr, c_int) -> ssize_t;
    // These two have variable arguments in C; all that is used is one of them, which
    // is passed as it would be to a function that names it.
    fcntl: fn(c_int, c_int, c_long) -> c_int;
    ioctl: fn(c_int, c_ulong, *mut c_void) -> c_int;
    close: fn(c_int) -> c_int;
    shutdown: fn(c_int, c_int) -> c_int;
    getsockopt: fn(c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int;
    setsockopt: fn(c_int, c_int, c_int, *const c_void, socklen_t) -> c_int;
    poll: fn(*mut pollfd, nfds_t, c_int) -> c_int;
    netdev_send: fn(*const c_void, size_t) -> c_int;
    netdev_receive: fn(*mut c_void, *mut size_t, *mut c_longlong) -> c_int;
    usleep: fn(c_uint) -> c_int;
    gettimeofday: fn(*mut timeval, *mut c_void) -> c_int;
    epoll_create: fn(c_int) -> c_int;
    epoll_ctl: fn(c_int, c_int, c_int, *mut epoll_event) -> c_int;
    epoll_wait: fn(c_int, *mut epoll_event, c_int, c_int) -> c_int;
    pipe: fn(*mut c_int) -> c_int;
    splice: fn(c_int, *mut loff_t, c_int, *mut loff_t, size_t, c_uint) -> ssize_t;
}
