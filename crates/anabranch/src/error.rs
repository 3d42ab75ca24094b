//! Why a stack could not be started, in one line each, with the mend.

use std::io;

/// Why a stack could not be started.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No device was given.
    #[error("a stack needs a device: give the builder one, such as device::tap::open(..)")]
    NoDevice,
    /// An address does not parse.
    #[error("{0:?} is not an address with a prefix: write it like 10.99.0.2/24")]
    Address(String),
    /// An address is of a family that the device's layers do not speak yet.
    #[error("{0} is an IPv6 address, which the stack does not speak yet: use an IPv4 address")]
    Family(String),
    /// There is no organization of that name.
    #[error("there is no organization {name:?}: choose one of {known}")]
    Organization {
        /// What was asked for.
        name: String,
        /// All there are.
        known: String,
    },
    /// The organization could not be started.
    #[error(transparent)]
    Start(#[from] organizations::StartError),
}

/// TCP's errors as the standard library names them.
pub(crate) fn io_error(error: tcp::Error) -> io::Error {
    let kind = match error {
        tcp::Error::Refused => io::ErrorKind::ConnectionRefused,
        tcp::Error::Reset => io::ErrorKind::ConnectionReset,
        tcp::Error::Aborted => io::ErrorKind::ConnectionAborted,
        tcp::Error::TimedOut => io::ErrorKind::TimedOut,
        tcp::Error::Unreachable(what) => match what {
            tcp::Unreachable::Network => io::ErrorKind::NetworkUnreachable,
            tcp::Unreachable::Port | tcp::Unreachable::Protocol => io::ErrorKind::ConnectionRefused,
            _ => io::ErrorKind::HostUnreachable,
        },
        tcp::Error::WouldBlock => io::ErrorKind::WouldBlock,
        tcp::Error::Shutdown => io::ErrorKind::BrokenPipe,
        tcp::Error::NotConnected => io::ErrorKind::NotConnected,
    };
    io::Error::new(kind, error)
}

/// A failed open as the standard library names it.
pub(crate) fn connect_error(error: net::application::ConnectError) -> io::Error {
    use net::application::ConnectError as E;
    let kind = match error {
        E::NoRoute => io::ErrorKind::NetworkUnreachable,
        E::NoPort => io::ErrorKind::AddrNotAvailable,
        E::InUse => io::ErrorKind::AddrInUse,
        E::TableFull => io::ErrorKind::OutOfMemory,
        E::Refused(_) => NO_THREAD,
        E::Stopped => io::ErrorKind::ConnectionAborted,
    };
    io::Error::new(kind, error)
}

/// The kind of error, and of no other, that means that there is no thread.
const NO_THREAD: io::ErrorKind = io::ErrorKind::QuotaExceeded;

/// The error of a failed open, of which the kind was kept.
pub(crate) fn told(kind: io::ErrorKind) -> io::Error {
    match kind {
        NO_THREAD => {
            let why = organizations::thread_per_connection::NO_THREAD;
            io::Error::new(kind, net::application::ConnectError::Refused(why))
        }
        _ => kind.into(),
    }
}
