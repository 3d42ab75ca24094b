//! Which link a link-local address, or a group of one link, is on (RFC 4007): by its scope id,
//! which is the number of an interface, from 1 on in the order of the builder, or the name of its
//! device.
//!
//! Below the sockets an address has no scope: what goes to a link-local address leaves by the
//! interface that has its source, so a socket that is told a scope takes the link-local address
//! of that interface. From where an address is read to there, the number stands in the second
//! 16 bits of it, which are zero in every such address (RFC 4291 2.5.6). In a group it stands in
//! the third byte, which is zero or reserved in each (RFC 4291 2.7, RFC 3306 4, RFC 4489 2); there
//! it goes down to the unit that sends.

use net::Config;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use wire::{Address, Endpoint};

/// Where the number stands in an address, and its bits.
const IN_ADDRESS: (u32, u128) = (96, 0xffff);
/// Where it stands in a group, and its bits. The largest stands for all that are too large.
const IN_GROUP: (u32, u128) = (104, 0xff);

/// Where there is a place for a number in `address`, if it is good on one link only.
#[inline]
fn place(address: Address) -> Option<(u32, u128)> {
    match address.is_multicast() {
        false => address.is_link_local_v6().then_some(IN_ADDRESS),
        true => is_of_link(address).then_some(IN_GROUP),
    }
}

/// Is it an address, or a group, of one link or less: of IPv6, the scopes 1 and 2 (RFC 4291 2.7)?
pub(crate) fn is_of_link(address: Address) -> bool {
    let is_group = |v6: Ipv6Addr| matches!(v6.octets(), [0xff, flags, ..] if (1..=2).contains(&(flags & 0x0f)));
    address.is_link_local_v6() || (address.is_multicast() && address.v6().is_some_and(is_group))
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

fn not_available(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::AddrNotAvailable, text)
}

/// As an end of a connection, with the scope in it.
pub(crate) fn endpoint(address: SocketAddr) -> Endpoint {
    let end = Endpoint::from(address);
    match (address, place(end.address)) {
        (SocketAddr::V6(v6), Some((shift, most))) => {
            let scope = u128::from(v6.scope_id()).min(most);
            let bits = v6.ip().to_bits() | scope << shift;
            Endpoint { address: Ipv6Addr::from_bits(bits).into(), ..end }
        }
        _ => end,
    }
}

/// The number in it, if there is one, and the end without it.
pub(crate) fn split(end: Endpoint) -> (Option<u16>, Endpoint) {
    let (Some(v6), Some((shift, mask))) = (end.address.v6(), place(end.address)) else {
        return (None, end);
    };
    let scope = (v6.to_bits() >> shift & mask) as u16;
    let bits = v6.to_bits() & !(mask << shift);
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
        SocketAddr::V6(v6) if end.address.is_multicast() => {
            SocketAddrV6::new(*v6.ip(), v6.port(), 0, scope.unwrap_or(0).into()).into()
        }
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

/// The two ends of what goes to `remote`, from `local` if that is said, without scopes, but for
/// that of a group. To a link-local address it goes from ours on that link.
pub(crate) fn ends(
    config: &Config,
    local: Option<Endpoint>,
    remote: Endpoint,
) -> io::Result<(Option<Endpoint>, Endpoint)> {
    let local = local.map(|local| unscoped(config, local)).transpose()?;
    let wanted = remote;
    let (scope, remote) = split(wanted);
    if !remote.address.is_link_local_v6() {
        if let Some(number) = scope {
            let set = local.filter(|local| !local.address.is_unspecified());
            link_to(config, Some(number), set)?;
            if u128::from(number) == IN_GROUP.1 {
                let text = "a group's scope is up to 254: take `set_multicast_interface`";
                return Err(invalid(text.into()));
            }
        }
        return Ok((local, wanted));
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

/// As everywhere else: no host means this one, if it has a loopback.
#[inline]
pub(crate) fn this_host(config: &Config, remote: Endpoint) -> Endpoint {
    if !remote.address.is_unspecified() || config.loopback.is_none() {
        return remote;
    }
    let address = match remote.address.is_v4() {
        true => Ipv4Addr::LOCALHOST.into(),
        false => Ipv6Addr::LOCALHOST.into(),
    };
    Endpoint { address, ..remote }
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
