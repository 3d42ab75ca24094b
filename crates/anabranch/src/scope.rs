//! Which link a link-local address is on (RFC 4007): by its scope id, which is the number of
//! an interface, from 1 on in the order of the builder, or the name of its device.
//!
//! Below the sockets an address has no scope: what goes to a link-local address leaves by the
//! interface that has its source, so a socket that is told a scope takes the link-local address
//! of that interface. From where an address is read to there, the number stands in the second
//! 16 bits of it, which are zero in every such address (RFC 4291 2.5.6).

use net::Config;
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use wire::{Address, Endpoint};

/// Where the number stands.
const SHIFT: u32 = 96;

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn not_available(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::AddrNotAvailable, text)
}

/// As an end of a connection, with the scope in it.
pub(crate) fn endpoint(address: SocketAddr) -> Endpoint {
    match address {
        SocketAddr::V6(v6) if Address::from(*v6.ip()).is_link_local_v6() => {
            let scope = v6.scope_id().min(u16::MAX.into());
            let bits = v6.ip().to_bits() | u128::from(scope) << SHIFT;
            Endpoint { address: Ipv6Addr::from_bits(bits).into(), port: v6.port() }
        }
        address => address.into(),
    }
}

/// The number in it, if there is one, and the end without it.
pub(crate) fn split(end: Endpoint) -> (Option<u16>, Endpoint) {
    let Some(v6) = end.address.v6().filter(|_| end.address.is_link_local_v6()) else {
        return (None, end);
    };
    let scope = (v6.to_bits() >> SHIFT) as u16;
    let bits = v6.to_bits() & !(u128::from(u16::MAX) << SHIFT);
    let address = Ipv6Addr::from_bits(bits).into();
    ((scope != 0).then_some(scope), Endpoint { address, ..end })
}

/// The index of the interface that has an address, or that owns a network with it.
fn interface_of(config: &Config, ours: Address) -> Option<usize> {
    config.interface_of(ours).map(usize::from)
}

/// The link-local address of an interface, and its index, if it has one.
fn local_of(config: &Config, index: usize) -> Option<Address> {
    let addresses = &config.interfaces.get(index)?.addresses;
    addresses.iter().map(|(a, _)| *a).find(|a| a.is_link_local_v6())
}

/// `end` as its users see it; our end, `ours`, shows what link it is on, if `end` does not.
pub(crate) fn socket_addr(config: &Config, end: Endpoint, ours: Address) -> SocketAddr {
    let (scope, end) = split(end);
    match SocketAddr::from(end) {
        SocketAddr::V6(v6) if end.address.is_link_local_v6() => {
            // Both may be ours, on two links.
            let ours = if config.is_ours(end.address) { end.address } else { ours };
            let by_ours = || interface_of(config, ours).map_or(0, |index| index as u32 + 1);
            let scope = scope.map_or_else(by_ours, u32::from);
            SocketAddrV6::new(*v6.ip(), v6.port(), 0, scope).into()
        }
        address => address,
    }
}

/// What a socket is bound to, without a scope, if the interface has it or owns it.
pub(crate) fn unscoped(config: &Config, wanted: Endpoint) -> io::Result<Endpoint> {
    let (scope, end) = split(wanted);
    let Some(number) = scope else { return Ok(end) };
    match interface_of(config, end.address) {
        Some(index) if index + 1 == usize::from(number) => Ok(end),
        _ => {
            let text = format!("{} is no address of interface {number}", end.address);
            Err(not_available(text))
        }
    }
}

/// The two ends of what goes to `remote`, from `local` if that is said, without scopes. To a
/// link-local address it goes from ours on that link.
pub(crate) fn ends(
    config: &Config,
    local: Option<Endpoint>,
    remote: Endpoint,
) -> io::Result<(Option<Endpoint>, Endpoint)> {
    let local = local.map(|local| unscoped(config, local)).transpose()?;
    let (scope, remote) = split(remote);
    if !remote.address.is_link_local_v6() {
        return Ok((local, remote));
    }
    if config.is_ours(remote.address) {
        ourselves(config, scope, remote)?;
        return Ok((local, remote));
    }
    let set = local.filter(|local| !local.address.is_unspecified());
    let Some(index) = link_to(config, scope, set)? else { return Ok((local, remote)) };
    if set.is_some() {
        return Ok((set, remote));
    }
    let Some(address) = local_of(config, index) else {
        let number = index + 1;
        let text = format!("interface {number} has no link-local address: give it one of IPv6");
        return Err(not_available(text));
    };
    let port = local.map_or(0, |local| local.port);
    Ok((Some(Endpoint { address, port }), remote))
}

/// Is it really this host that is meant? On another link an address of ours is somebody else's,
/// whom no packet of ours reaches.
fn ourselves(config: &Config, scope: Option<u16>, remote: Endpoint) -> io::Result<()> {
    let Some(number) = scope else { return Ok(()) };
    match interface_of(config, remote.address) {
        Some(index) if index + 1 != usize::from(number) => Err(invalid(format!(
            "{} is an address of this stack, on interface {}: give that another one to reach interface {number}'s",
            remote.address,
            index + 1
        ))),
        _ => Ok(()),
    }
}

/// Which link a link-local peer is on: the index of the interface that has `ours`.
pub(crate) fn link_of(config: &Config, ours: Endpoint, remote: Endpoint) -> Option<u16> {
    let link = interface_of(config, ours.address).filter(|_| remote.address.is_link_local_v6());
    link.and_then(|index| u16::try_from(index).ok())
}

/// `end` with its link in it, if it is good on one only.
pub(crate) fn on_link(end: Endpoint, link: Option<u16>) -> Endpoint {
    match (link, SocketAddr::from(end)) {
        (Some(index), SocketAddr::V6(v6)) => {
            let scope = u32::from(index) + 1;
            endpoint(SocketAddrV6::new(*v6.ip(), v6.port(), 0, scope).into())
        }
        _ => end,
    }
}

/// The index of the interface of this number, or of the one that has `local`, or of the only one
/// that has a link; `None` if there is none.
fn link_to(
    config: &Config,
    scope: Option<u16>,
    local: Option<Endpoint>,
) -> io::Result<Option<usize>> {
    let is_loopback = |index| config.loopback.map(usize::from) == Some(index);
    let by_local = local.and_then(|local| interface_of(config, local.address));
    if by_local.is_some_and(is_loopback) {
        let text = "a link is not reached from the loopback's address: bind to another";
        return Err(invalid(text.into()));
    }
    if let Some(number) = scope.map(usize::from) {
        let index = number - 1;
        return match by_local {
            _ if index >= config.interfaces.len() || is_loopback(index) => {
                Err(invalid(format!("the stack has no interface {number}")))
            }
            Some(other) if other != index => Err(invalid(format!(
                "interface {number} does not have the address that the socket is bound to"
            ))),
            _ => Ok(Some(index)),
        };
    }
    if by_local.is_some() {
        return Ok(by_local);
    }
    let indices = 0..config.interfaces.len();
    let mut links = indices.filter(|index| local_of(config, *index).is_some());
    match (links.next(), links.next()) {
        (Some(_), Some(_)) => {
            let text =
                "a link-local address is on each of several links: say which, as in fe80::1%1";
            Err(invalid(text.into()))
        }
        (only, _) => Ok(only),
    }
}

/// The address that is written with the number of an interface, or with one of these names of
/// theirs, such as `fe80::1%eth0`, `fe80::1%2` or `[fe80::1%eth0]`; `None` if it is not written
/// so.
pub(crate) fn scoped(host: &str, port: u16, names: &[String]) -> Option<io::Result<SocketAddr>> {
    let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
    let (address, zone) = bare.split_once('%')?;
    let address: Ipv6Addr = address.parse().ok()?;
    let by_name = || names.iter().position(|name| name == zone).map(|at| at as u32 + 1);
    Some(match zone.parse().ok().or_else(by_name) {
        Some(number) => Ok(SocketAddrV6::new(address, port, 0, number).into()),
        None => Err(invalid(match names {
            [] => format!("there is no interface {zone:?}: give its number, from 1 on"),
            names => {
                let names = names.join(", ");
                format!("there is no interface {zone:?}: take one of {names}, or its number")
            }
        })),
    })
}

/// A router's address, and the index of the interface in front of it, as in `fe80::1%2`.
pub(crate) fn router(text: &str) -> Option<(IpAddr, Option<u16>)> {
    let Some((address, number)) = text.split_once('%') else {
        return Some((text.parse().ok()?, None));
    };
    let address: Ipv6Addr = address.parse().ok()?;
    let index = number.parse::<u16>().ok()?.checked_sub(1)?;
    Address::from(address).is_link_local_v6().then_some((address.into(), Some(index)))
}

#[cfg(test)]
mod tests;
