//! [`Settings`]: arguments that make sense together.

use super::Args;
use super::services::WEB;
use crate::failure::Failure;
use crate::files::{Output, distinct};
use crate::http::Directory;
use anabranch::organizations::{CATALOG, find};
use clap::builder::PossibleValuesParser;
use std::fmt;
use std::net::Ipv4Addr;
use std::path::Path;
use std::str::FromStr;
use std::sync::Arc;

/// The organizations' names, for `clap`.
pub fn organization_names() -> PossibleValuesParser {
    PossibleValuesParser::new(CATALOG.iter().map(|entry| entry.name))
}

/// An address, and the length of its network's prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// The address.
    pub address: Ipv4Addr,
    /// Bits of the prefix, 1 to 31.
    pub prefix: u8,
}

impl FromStr for Network {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Network, &'static str> {
        let wrong = "write an IPv4 address and the length of its prefix, like 10.99.0.2/24";
        let (address, prefix) = text.split_once('/').ok_or(wrong)?;
        let address: Ipv4Addr = address.parse().map_err(|_| wrong)?;
        let prefix = prefix.parse().map_err(|_| wrong)?;
        if !(1..=31).contains(&prefix) {
            return Err("choose a prefix of 1 to 31 bits: there are two hosts in the network");
        }
        let network = Network { address, prefix };
        let host = address.to_bits() & !network.mask();
        let unusable = prefix < 31 && (host == 0 || host == !network.mask());
        if unusable || address.is_multicast() || address.is_loopback() || address.is_broadcast() {
            return Err("that is not a host's address: choose one like 10.99.0.2/24");
        }
        Ok(network)
    }
}

impl Network {
    fn mask(self) -> u32 {
        u32::MAX << (32 - u32::from(self.prefix))
    }

    fn is_broadcast(self, address: Ipv4Addr) -> bool {
        let host = address.to_bits() & !self.mask();
        self.prefix < 31 && (host == 0 || host == !self.mask())
    }

    fn contains(self, address: Ipv4Addr) -> bool {
        (self.address.to_bits() ^ address.to_bits()) & self.mask() == 0
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.prefix)
    }
}

/// Arguments that make sense together.
pub struct Settings {
    /// The arguments as given.
    pub args: Args,
    /// Threads that process packets.
    pub processors: usize,
    /// Checksums and segmentation by the device.
    pub offload: bool,
    /// What the web server serves.
    pub root: Option<Arc<Directory>>,
    /// Where the statistics go.
    pub stats: Option<Output>,
}

impl Settings {
    /// Checks the arguments against each other, and against the file system.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn new(args: Args) -> Result<Settings, Failure> {
        args.choices.check(std::slice::from_ref(&args.organization))?;
        check_addresses(&args)?;
        let processors = processors(&args)?;
        check_ports(&args)?;
        let root = match args.services.has(WEB) {
            true => Some(Arc::new(open_root(&args.root)?)),
            false => None,
        };
        let (pcap, stats) = (args.pcap.as_deref(), args.stats_json.as_deref());
        distinct(&[("--pcap", pcap), ("--stats-json", stats)])?;
        pcap.map(|path| Output::new("--pcap", path)).transpose()?;
        let stats = stats.map(|path| Output::new("--stats-json", path)).transpose()?;
        let offload = !args.no_offload && args.fault.is_none();
        Ok(Settings { processors, offload, root, stats, args })
    }
}

/// As many as were asked for, or as there are.
fn processors(args: &Args) -> Result<usize, Failure> {
    let single = find(&args.organization).is_some_and(|entry| entry.single);
    match args.processors {
        Some(n) if single && n > 1 => Err(Failure::refused(format!(
            "{} runs on one processor, not on {n}: change --processors or --organization",
            args.organization
        ))),
        Some(n) => Ok(n.into()),
        None if single => Ok(1),
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from).min(256)),
    }
}

fn check_addresses(args: &Args) -> Result<(), Failure> {
    let (ours, theirs) = (args.address, args.peer_address);
    if ours.address == theirs.address {
        return Err(Failure::refused(format!(
            "--address and --peer-address are both {}: give each end its own",
            ours.address
        )));
    }
    if ours.prefix != theirs.prefix || !ours.contains(theirs.address) {
        return Err(Failure::refused(format!(
            "--address {ours} and --peer-address {theirs} are not in one network: \
             choose them like 10.99.0.2/24 and 10.99.0.1/24"
        )));
    }
    match args.gateway {
        Some(gateway) if !ours.contains(gateway) => Err(Failure::refused(format!(
            "--gateway {gateway} is not in the network of --address {ours}: \
             choose a router there, such as {}",
            theirs.address
        ))),
        Some(gateway) if gateway == ours.address || ours.is_broadcast(gateway) => {
            Err(Failure::refused(format!(
                "--gateway {gateway} is no other host of {ours}: choose a router there, such as {}",
                theirs.address
            )))
        }
        _ => Ok(()),
    }
}

fn check_ports(args: &Args) -> Result<(), Failure> {
    match args.services.clash() {
        None => Ok(()),
        Some((one, other, port)) => Err(Failure::refused(format!(
            "port {port} is asked for twice, by --{one} and --{other}: \
             give each service a port of its own"
        ))),
    }
}

fn open_root(path: &Path) -> Result<Directory, Failure> {
    Directory::open(path).map_err(|e| {
        let path = path.display();
        Failure::refused(format!("cannot serve --root {path}: {e}: name a readable directory"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks() {
        let good: Network = "10.99.0.2/24".parse().expect("good");
        assert_eq!(good.to_string(), "10.99.0.2/24");
        assert!(good.contains(Ipv4Addr::new(10, 99, 0, 1)));
        assert!(!good.contains(Ipv4Addr::new(10, 99, 1, 1)));
        assert!("10.0.0.0/31".parse::<Network>().is_ok());
        for bad in [
            "",
            "10.99.0.2",
            "10.99.0.2/",
            "10.99.0.2/0",
            "10.99.0.2/32",
            "10.99.0.2/-1",
            "10.99.0.0/24",
            "10.99.0.255/24",
            "224.0.0.1/8",
            "127.0.0.1/8",
            "fe80::1/64",
            "/24",
        ] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }
}
