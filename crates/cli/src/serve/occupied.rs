//! Is the network that a new device is to have taken already? The kernel takes an
//! address twice without a word, and then reaches only one of the two.

use crate::failure::Failure;
use anabranch::Cidr;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

/// The kernel's routes and its interfaces, in this thread's network.
const ROUTES: [&str; 2] = ["/proc/thread-self/net/route", "/proc/thread-self/net/ipv6_route"];
const INTERFACES: &str = "/proc/thread-self/net/dev";

/// A route's flags, as in the kernel's `route.h` and `ipv6_route.h`: it is by a router, it
/// refuses.
const GATEWAY: u32 = 0x0002;
const REJECT: u32 = 0x0200;

/// Refuses addresses of the stack and of the kernel's end of its device `name` that
/// another interface has, or has the network of; and further addresses of the stack that the
/// kernel has.
///
/// # Errors
/// Which interface it is, and what would be right.
pub(super) fn check(name: &str, ours: Cidr, theirs: Cidr, further: &[Cidr]) -> Result<(), Failure> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    // If there is such an interface, it cannot be made, and the device says so.
    if read(INTERFACES).lines().any(|line| line.trim_start().starts_with(&format!("{name}:"))) {
        return Ok(());
    }
    let [v4, v6] = ROUTES.map(read);
    let routes: Vec<Route> =
        v4.lines().filter_map(Route::v4).chain(v6.lines().filter_map(Route::v6)).collect();
    for (option, cidr) in [("--address", ours), ("--peer-address", theirs)] {
        if let Some(route) = rival(&routes, cidr) {
            let Route { interface, network, length } = route;
            let why = format!("`{interface}` has the network {network}/{length}");
            return Err(refused(option, cidr, &why));
        }
    }
    let further = further.iter().map(|cidr| ("--add-address", *cidr));
    for (option, cidr) in
        [("--address", ours), ("--peer-address", theirs)].into_iter().chain(further)
    {
        let address = cidr.address();
        // An address without a network, such as one of `lo`.
        if !is_of_link(address) && binds(address) && !binds(nobodys(address)) {
            return Err(refused(option, cidr, &format!("an interface has {address}")));
        }
    }
    Ok(())
}

/// Would the kernel give a socket this address?
fn binds(address: IpAddr) -> bool {
    UdpSocket::bind((address, 0)).is_ok()
}

/// An address of the family of `like` that no interface has. If a socket may have it, that it may
/// have an address says nothing: with `ip_nonlocal_bind` it may have any, and so it may in a
/// network namespace in which no interface was up yet.
fn nobodys(like: IpAddr) -> IpAddr {
    match like {
        // Reserved (RFC 1112 4), and to be discarded (RFC 6666).
        IpAddr::V4(_) => Ipv4Addr::new(240, 0, 0, 1).into(),
        IpAddr::V6(_) => Ipv6Addr::new(0x100, 0, 0, 0, 0, 0, 0, 1).into(),
    }
}

/// Each link has the same network for these.
fn is_of_link(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

fn refused(option: &str, cidr: Cidr, why: &str) -> Failure {
    Failure::refused(format!(
        "{option} {cidr} is taken, {why} already: choose another network, such as --address \
         {} --peer-address {}, or end the program that has it",
        if cidr.v4().is_some() { "10.98.0.2/24" } else { "fd00:98::2/64" },
        if cidr.v4().is_some() { "10.98.0.1/24" } else { "fd00:98::1/64" },
    ))
}

/// A network that an interface has.
#[derive(Clone, Debug, PartialEq)]
struct Route {
    interface: String,
    network: IpAddr,
    length: u8,
}

impl Route {
    /// A line of `/proc/net/route`: interface, destination, gateway, flags, three counts and the
    /// mask. Numbers are as the machine has them in memory, in network byte order. None for
    /// other lines, and for networks that are reached by a router.
    fn v4(line: &str) -> Option<Route> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [interface, destination, _, flags, _, _, _, mask] = fields.get(..8)? else {
            return None;
        };
        let field = |text: &str| {
            u32::from_str_radix(text, 16).ok().map(|n| Ipv4Addr::from(n.to_ne_bytes()))
        };
        let (network, mask) = (field(destination)?, field(mask)?);
        is_connected(flags)?;
        let length = u8::try_from(mask.to_bits().count_ones()).ok()?;
        Some(Route { interface: (*interface).to_owned(), network: network.into(), length })
    }

    /// A line of `/proc/net/ipv6_route`: destination, its length, source, its length, next
    /// hop, three numbers, flags, interface.
    fn v6(line: &str) -> Option<Route> {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [destination, length, .., flags, interface] = fields.get(..10)? else { return None };
        let network = Ipv6Addr::from(u128::from_str_radix(destination, 16).ok()?);
        let length = u8::from_str_radix(length, 16).ok()?;
        is_connected(flags)?;
        Some(Route { interface: (*interface).to_owned(), network: network.into(), length })
    }

    fn has(&self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        let ((network, wide), (address, width)) = (bits(self.network), bits(address));
        let behind = 128_u32.saturating_sub(self.length.into());
        let differ = (network ^ address).checked_shr(behind).unwrap_or(0);
        wide == width && self.length <= wide && differ == 0
    }
}

/// None if a route with these flags is by a router, or refuses.
fn is_connected(flags: &str) -> Option<()> {
    let flags = u32::from_str_radix(flags, 16).ok()?;
    (flags & (GATEWAY | REJECT) == 0).then_some(())
}

/// The route by which the kernel would reach an address rather than by a new one with a
/// network of its prefix.
fn rival(routes: &[Route], cidr: Cidr) -> Option<&Route> {
    let address = cidr.address();
    let rivals = routes.iter().filter(|route| route.has(address) && route.length >= cidr.prefix());
    // Its own /128 stands there, too; the network says more.
    (!is_of_link(address)).then(|| rivals.min_by_key(|route| route.length)).flatten()
}

#[cfg(test)]
mod tests;
