//! Errors: why a stack could not be started, one line each that names cause and mend;
//! and what sockets remember of theirs.

use crate::addresses::{CidrError, Route};
use crate::host::MAX_ADDRESSES;
use crate::organization::NoSuchOrganization;
use crate::servers::NameServerError;
use net::application::ConnectError;
use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use wire::EthernetAddress;

/// Why a stack could not be started. Its `Debug` is its `Display`, so that a
/// program whose `main` returns it prints a sentence.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No device was given.
    #[error("a stack needs a device: give the builder one, such as device::tap::open(..)")]
    NoDevice,
    /// A device of the kernel could not be made.
    #[error(transparent)]
    Device(#[from] ::device::tap::Error),
    /// An address or a route makes no sense.
    #[error(transparent)]
    Address(#[from] CidrError),
    /// Sockets that ask for no port could get none of these.
    #[error(
        "ports {first} to {last} cannot be those of sockets that ask for none: choose 1 to 65535, or some of them"
    )]
    Ports {
        /// The first.
        first: u16,
        /// The last.
        last: u16,
    },
    /// A router is in none of the stack's networks.
    #[error(
        "gateway {gateway} is not a neighbour in a network of the stack ({networks}): choose a router there, or add an address"
    )]
    Gateway {
        /// The router.
        gateway: IpAddr,
        /// The addresses that the stack has.
        networks: String,
    },
    /// A route names an interface that there is not.
    #[error(
        "route {route}: the stack has {interfaces} interface(s): write a number up to that behind %"
    )]
    Interface {
        /// The route.
        route: Route,
        /// How many interfaces there are.
        interfaces: usize,
    },
    /// A device cannot carry datagrams of this size.
    #[error("device {device} cannot have an MTU of {mtu} bytes: choose 68 to {most}")]
    Mtu {
        /// The device's name.
        device: String,
        /// What was asked for.
        mtu: usize,
        /// What the device can have.
        most: usize,
    },
    /// A device carries less than any datagram needs (RFC 791 3.2).
    #[error("device {device} has an MTU of {mtu} bytes, too few for IP: make it with 68 or more")]
    LeastMtu {
        /// The device's name.
        device: String,
        /// What it has.
        mtu: usize,
    },
    /// A device with an address of IPv6 carries less than IPv6 needs (RFC 8200 5).
    #[error(
        "device {device} has an MTU of {mtu} bytes, too few for IPv6: choose 1280 or more, or give it no IPv6 address"
    )]
    MtuV6 {
        /// The device's name.
        device: String,
        /// What it has.
        mtu: usize,
    },
    /// There is no such VLAN, or the device has no frames with its tag: AF_XDP leaves them to the kernel.
    #[error(
        "device {device} cannot be in VLAN {vlan}: choose 1 to 4094, on a device with Ethernet frames, but not one of AF_XDP: take a TAP device on a bridge with the interface"
    )]
    Vlan {
        /// The device's name.
        device: String,
        /// What was asked for.
        vlan: u16,
    },
    /// Two devices have the same link-local address.
    #[error(
        "device {device} cannot have {address}, which another device has: give it another one, for our address says which link is meant"
    )]
    LinkLocal {
        /// The device's name.
        device: String,
        /// The address.
        address: IpAddr,
    },
    /// Addresses come by what routers say on Ethernet only.
    #[error(
        "device {device} has no Ethernet frames, by which routers are heard: give it an address by hand"
    )]
    Slaac {
        /// The device's name.
        device: String,
    },
    /// A link-layer address is not one station's.
    #[error("{0} cannot be the address of one station: choose one like 02:00:00:00:00:01")]
    Ethernet(EthernetAddress),
    /// There is no organization of that name.
    #[error(transparent)]
    Organization(#[from] NoSuchOrganization),
    /// There can be no such control socket.
    #[cfg(feature = "control")]
    #[error("no control socket `{name}`: {error}")]
    Control {
        /// The name that was asked for.
        name: String,
        /// Why.
        error: io::Error,
    },
    /// A server for names makes no sense.
    #[error(transparent)]
    NameServer(#[from] NameServerError),
    /// An interface has more addresses than one may have.
    #[error("device {device} has {addresses} addresses: give it {} at most", MAX_ADDRESSES)]
    Addresses {
        /// The device's name.
        device: String,
        /// How many it would have, with a link-local one of its own.
        addresses: usize,
    },
    /// The organization could not be started.
    #[error(transparent)]
    Start(#[from] organizations::StartError),
}

crate::sentence::debug_is_display!(Error);

impl From<Infallible> for Error {
    fn from(never: Infallible) -> Error {
        match never {}
    }
}

/// What a socket remembers of an error. It becomes an [`io::Error`] when a call
/// returns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SocketError {
    #[error(transparent)]
    Tcp(#[from] tcp::Error),
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("message too long")]
    TooLarge,
}

impl SocketError {
    /// The stack has stopped.
    pub(crate) const STOPPED: SocketError = SocketError::Connect(ConnectError::Stopped);

    fn kind(self) -> io::ErrorKind {
        match self {
            SocketError::Tcp(error) => tcp_kind(error),
            SocketError::TooLarge => io::ErrorKind::InvalidInput,
            SocketError::Connect(error) => match error {
                ConnectError::NoRoute => io::ErrorKind::NetworkUnreachable,
                ConnectError::NoPort => io::ErrorKind::AddrNotAvailable,
                ConnectError::InUse => io::ErrorKind::AddrInUse,
                ConnectError::TableFull | ConnectError::NoMemory => io::ErrorKind::OutOfMemory,
                ConnectError::Refused(_) => io::ErrorKind::QuotaExceeded,
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
        match error {
            // The standard library has no word for it.
            SocketError::TooLarge => rustix::io::Errno::MSGSIZE.into(),
            error => io::Error::new(error.kind(), error),
        }
    }
}
