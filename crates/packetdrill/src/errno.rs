//! [`Errno`]: why a system call failed, as its caller hears it.

use libc::c_int;
use std::io::{self, ErrorKind};

/// A value of `errno`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(pub(crate) c_int);

/// The result of a system call.
pub(crate) type Answer<T = usize> = Result<T, Errno>;

impl From<io::Error> for Errno {
    fn from(error: io::Error) -> Errno {
        if let Some(code) = error.raw_os_error() {
            return Errno(code);
        }
        Errno(match error.kind() {
            ErrorKind::ConnectionRefused => libc::ECONNREFUSED,
            ErrorKind::ConnectionReset => libc::ECONNRESET,
            ErrorKind::ConnectionAborted => libc::ECONNABORTED,
            ErrorKind::NotConnected => libc::ENOTCONN,
            ErrorKind::HostUnreachable => libc::EHOSTUNREACH,
            ErrorKind::NetworkUnreachable => libc::ENETUNREACH,
            ErrorKind::NetworkDown => libc::ENETDOWN,
            ErrorKind::AddrInUse => libc::EADDRINUSE,
            ErrorKind::AddrNotAvailable => libc::EADDRNOTAVAIL,
            ErrorKind::BrokenPipe => libc::EPIPE,
            ErrorKind::WouldBlock => libc::EAGAIN,
            ErrorKind::TimedOut => libc::ETIMEDOUT,
            ErrorKind::InvalidInput => libc::EINVAL,
            _ => libc::EIO,
        })
    }
}
