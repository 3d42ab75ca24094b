//! Is the network that a new device is to have taken already? The kernel takes an
//! address twice without a word, and then reaches only one of the two.

use crate::failure::Failure;
use anabranch::Cidr;
use std::net::{Ipv4Addr, UdpSocket};

/// The kernel's IPv4 routes and its interfaces, in this thread's network.
const ROUTES: &str = "/proc/thread-self/net/route";
const INTERFACES: &str = "/proc/thread-self/net/dev";

/// Refuses addresses of the stack and of the kernel's end of its device `name` that
/// another interface has, or has the network of.
///
/// # Errors
/// Which interface it is, and what would be right.
pub(super) fn check(name: &str, ours: Cidr, theirs: Cidr) -> Result<(), Failure> {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    // If there is such an interface, it cannot be made, and the device says so.
    if read(INTERFACES).lines().any(|line| line.trim_start().starts_with(&format!("{name}:"))) {
        return Ok(());
    }
    let routes = read(ROUTES);
    for (option, cidr) in [("--address", ours), ("--peer-address", theirs)] {
        let Some(address) = cidr.v4() else { continue };
        if let Some((interface, network)) = rival(&routes, address, cidr.prefix()) {
            return Err(refused(option, cidr, &format!("`{interface}` has the network {network}")));
        }
        // An address without a network, such as one of `lo`.
        if UdpSocket::bind((address, 0)).is_ok() {
            return Err(refused(option, cidr, &format!("an interface has {address}")));
        }
    }
    Ok(())
}

fn refused(option: &str, cidr: Cidr, why: &str) -> Failure {
    Failure::refused(format!(
        "{option} {cidr} is taken, {why} already: choose another network, such as --address \
         10.98.0.2/24 --peer-address 10.98.0.1/24, or end the program that has it"
    ))
}

/// The interface, and its network, by which the kernel would reach `address` rather
/// than by a new one with a network of this prefix.
fn rival(routes: &str, address: Ipv4Addr, prefix: u8) -> Option<(String, String)> {
    routes.lines().skip(1).find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [interface, destination, gateway, .., mask] = fields.get(..8)? else { return None };
        // As the machine has them in memory, in network byte order.
        let field = |text: &str| {
            u32::from_str_radix(text, 16).ok().map(|n| Ipv4Addr::from(n.to_ne_bytes()))
        };
        let (network, mask) = (field(destination)?, field(mask)?.to_bits());
        let is_connected = *gateway == "00000000";
        let length = mask.count_ones();
        let has_it = address.to_bits() & mask == network.to_bits();
        (is_connected && has_it && length >= u32::from(prefix))
            .then(|| ((*interface).to_owned(), format!("{network}/{length}")))
    })
}

#[cfg(test)]
mod tests;
