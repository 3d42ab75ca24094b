//! The family of IP that all cases of a test program run over.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::atomic::{AtomicBool, Ordering};

/// The server's address.
pub const SERVER: &str = "10.0.0.1";
/// The client's address.
pub const CLIENT: &str = "10.0.0.2";
/// The server's address of IPv6.
pub const SERVER_V6: &str = "fd00::1";
/// The client's address of IPv6.
pub const CLIENT_V6: &str = "fd00::2";

static IPV6: AtomicBool = AtomicBool::new(false);

/// From now on cases run over IPv6. A test program calls it before each of its tests, or
/// before none: tests of one program run side by side.
pub fn use_ipv6() {
    IPV6.store(true, Ordering::Relaxed);
}

/// Do cases run over IPv6?
pub fn is_ipv6() -> bool {
    IPV6.load(Ordering::Relaxed)
}

/// The server's address.
pub fn server() -> &'static str {
    if is_ipv6() { SERVER_V6 } else { SERVER }
}

/// The client's address.
pub fn client() -> &'static str {
    if is_ipv6() { CLIENT_V6 } else { CLIENT }
}

/// The server's address.
///
/// # Panics
/// Never.
pub fn address() -> IpAddr {
    server().parse().expect("an address")
}

/// Another address of the network, which nobody has.
pub fn neighbour(host: u8) -> IpAddr {
    match is_ipv6() {
        true => Ipv6Addr::new(0xfd00, 0, 0, 0, 0, 0, 0, host.into()).into(),
        false => Ipv4Addr::new(10, 0, 0, host).into(),
    }
}

/// All addresses of a host, for sockets that are bound to them.
pub fn any() -> &'static str {
    if is_ipv6() { "::" } else { "0.0.0.0" }
}

/// An address of each host's own.
pub fn loopback() -> &'static str {
    if is_ipv6() { "::1" } else { "127.0.0.1" }
}

/// Addresses by which the client reaches itself.
pub fn own() -> &'static [&'static str] {
    if is_ipv6() { &["::1", CLIENT_V6] } else { &["127.0.0.1", "127.9.9.9", CLIENT] }
}
