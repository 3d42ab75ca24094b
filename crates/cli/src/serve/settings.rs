//! [`Settings`]: arguments that make sense together.

use super::Args;
use super::services::{HttpThreads, WEB};
use crate::failure::Failure;
use crate::files::{Output, distinct};
use crate::http::Directory;
use anabranch::{Cidr, Organization};
use clap::builder::PossibleValuesParser;
use std::path::Path;
use std::sync::Arc;

/// The organizations' names, for `clap`.
pub fn organization_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Organization::all().map(Organization::name))
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
        check_threads(&args)?;
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
    let organization = args.organization.parse::<Organization>();
    let single = organization.is_ok_and(Organization::is_single);
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
    if args.slaac && args.link.kind.has_peers {
        return Err(Failure::refused(
            "--slaac hears no router by --xdp, which takes only what is for addresses that are given: \
             give them by --add-address, or use --tap",
        ));
    }
    let (ours, theirs): (Cidr, Cidr) = (args.address, args.peer_address);
    if args.dhcp {
        return check_dhcp(args);
    }
    if !args.link.kind.has_peers {
        check_ends(ours, theirs)?;
    }
    check_added(args, Some(ours))?;
    match args.gateway {
        Some(gateway) if !ours.contains(gateway) => Err(Failure::refused(format!(
            "--gateway {gateway} is not in the network of --address {ours}: \
             choose a router there{}",
            such_as(ours, theirs)
        ))),
        Some(gateway) if !ours.is_neighbour(gateway) => Err(Failure::refused(format!(
            "--gateway {gateway} is no other host of {ours}: choose a router there{}",
            such_as(ours, theirs)
        ))),
        _ => Ok(()),
    }
}

/// Can a DHCP server be asked?
fn check_dhcp(args: &Args) -> Result<(), Failure> {
    if args.link.kind.has_peers {
        return Err(Failure::refused(
            "--dhcp is not for --xdp, by which only what is for a known address comes: give \
             --address, or take a TAP device on a bridge with the interface",
        ));
    }
    check_added(args, None)
}

/// The other end, as an example of a router.
fn such_as(ours: Cidr, theirs: Cidr) -> String {
    let is_there = ours.contains(theirs.address());
    if is_there { format!(", such as {}", theirs.address()) } else { String::new() }
}

/// Are these the two ends of one link?
fn check_ends(ours: Cidr, theirs: Cidr) -> Result<(), Failure> {
    if ours.address() == theirs.address() {
        return Err(Failure::refused(format!(
            "--address and --peer-address are both {}: give each end its own",
            ours.address()
        )));
    }
    if ours.prefix() != theirs.prefix() || !ours.contains(theirs.address()) {
        return Err(Failure::refused(format!(
            "--address {ours} and --peer-address {theirs} are not in one network: \
             choose them like 10.99.0.2/24 and 10.99.0.1/24"
        )));
    }
    Ok(())
}

/// Is each of our further addresses another one?
fn check_added(args: &Args, ours: Option<Cidr>) -> Result<(), Failure> {
    let theirs = (!args.link.kind.has_peers).then_some(args.peer_address);
    let mut all: Vec<_> = ours.into_iter().chain(theirs).map(|cidr| cidr.address()).collect();
    for address in args.add_address.iter().map(Cidr::address) {
        if all.contains(&address) {
            return Err(Failure::refused(format!(
                "--add-address {address} is given already: give each address once"
            )));
        }
        all.push(address);
    }
    Ok(())
}

fn check_threads(args: &Args) -> Result<(), Failure> {
    let organization = args.organization.parse::<Organization>();
    let (HttpThreads::Own, Ok(organization)) = (args.http_threads, organization) else {
        return Ok(());
    };
    anabranch::unit::threads_of(organization).map_err(|reason| {
        Failure::refused(format!(
            "{organization} has no threads for tasks: {reason}: take uniprocessor, \
             processor-per-connection or group-threads, or --http-threads pool"
        ))
    })
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
