//! Errors: why a stack could not be started, in one line each with the mend;
//! and what sockets remember of theirs.

use net::application::ConnectError;
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

/// What a socket remembers of an error. It becomes an [`io::Error`] when a call
/// returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SocketError {
    #[error(transparent)]
    Tcp(#[from] tcp::Error),
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

impl SocketError {
    /// The stack has stopped.
    pub(crate) const STOPPED: SocketError = SocketError::Connect(ConnectError::Stopped);

    fn kind(self) -> io::ErrorKind {
        match self {
            SocketError::Tcp(error) => tcp_kind(error),
            SocketError::Connect(error) => match error {
                ConnectError::NoRoute => io::ErrorKind::NetworkUnreachable,
                ConnectError::NoPort => io::ErrorKind::AddrNotAvailable,
                ConnectError::InUse => io::ErrorKind::AddrInUse,
                ConnectError::TableFull => io::ErrorKind::OutOfMemory,
                ConnectError::NoThread => io::ErrorKind::QuotaExceeded,
                ConnectError::Stopped => io::ErrorKind::NetworkDown,
            },
        }
    }
}

/// TCP's errors as the standard library names them.
fn tcp_kind(error: tcp::Error) -> io::ErrorKind {
    match error {
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
    }
}

impl From<SocketError> for io::Error {
    fn from(error: SocketError) -> io::Error {
        io::Error::new(error.kind(), error)
    }
}
