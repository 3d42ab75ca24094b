//! Which of an interface's IPv6 addresses a datagram has as its source (RFC 6724 5).

use crate::config::Config;
use std::cmp::Reverse;
use std::net::Ipv6Addr;
use wire::Address;

/// The scope of all the world (RFC 4291 2.7).
const GLOBAL: u8 = 14;

/// The scope of an address, as multicast counts them (RFC 6724 3.1).
fn scope(address: Ipv6Addr) -> u8 {
    // RFC 6724 3.1/1
    match address.segments()[0] {
        first if address.is_multicast() => first as u8 & 0x0f,
        first if first & 0xffc0 == 0xfe80 => 2,
        _ if address.is_loopback() => 2,
        first if first & 0xffc0 == 0xfec0 => 5,
        _ => GLOBAL,
    }
}

/// The label of an address by the default policy table (RFC 6724 2.1).
fn label(address: Ipv6Addr) -> u8 {
    // RFC 6724 2.1/1
    match address.segments() {
        _ if address.is_loopback() => 0,
        [0, 0, 0, 0, 0, 0xffff, ..] => 4,
        [0, 0, 0, 0, 0, 0, ..] => 3,
        [0x2001, 0, ..] => 5,
        [0x2002, ..] => 2,
        [0x3ffe, ..] => 12,
        [first, ..] if first & 0xfe00 == 0xfc00 => 13,
        [first, ..] if first & 0xffc0 == 0xfec0 => 11,
        _ => 1,
    }
}

/// The address of interface `index` that what goes to `destination` has as its source: by
/// rules 1, 2, 3, 6, 7 and 8, then the one that was given first. Rule 4 is for addresses that
/// a host does not have here, and rule 5 is the route's. An address that is still checked is
/// taken after others (RFC 4429 3.3).
pub(super) fn choose(config: &Config, index: u16, destination: Address) -> Option<Address> {
    // RFC 6724 5/1, 5/2, 5/3, 5/5, 5/6, 5/7, 5/8
    // RFC 4862 5.5.4/1
    let to = destination.v6()?;
    let wanted = scope(to);
    let rank = |&&(ours, prefix): &&(Address, u8)| {
        let from = ours.v6().unwrap_or(Ipv6Addr::UNSPECIFIED);
        let scope = scope(from);
        // Of those that reach as far, the nearest; of the others, the one that reaches most.
        let nearest = (scope >= wanted).then_some(Reverse(scope));
        (
            ours == destination,
            (nearest, scope),
            !config.deprecated.contains(&ours),
            !config.optimistic.contains(&ours),
            label(from) == label(to),
            config.temporary.contains(&ours),
            ours.common_prefix(destination).min(prefix.into()),
        )
    };
    let addresses = &config.interfaces[usize::from(index)].addresses;
    // The last of those that are alike is taken.
    let ours = addresses.iter().rev().filter(|(ours, _)| !ours.is_v4());
    ours.max_by_key(rank).map(|(ours, _)| *ours)
}

/// Our address on interface `index` that what is for `group` has as its source.
pub(crate) fn for_group(config: &Config, index: u16, group: Address) -> Option<Address> {
    let interface = config.interfaces.get(usize::from(index))?;
    match group.is_v4() {
        true => interface.addresses.iter().map(|(a, _)| *a).find(|a| a.is_v4()),
        false => choose(config, index, group),
    }
}

#[cfg(test)]
mod tests;
