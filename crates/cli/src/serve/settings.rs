//! [`Settings`]: arguments that make sense together.

use super::Args;
use super::services::{HttpThreads, WEB};
use crate::failure::Failure;
use crate::files::{Output, distinct};
use crate::http::Directory;
use crate::zone::is_of_link;
use anabranch::{Cidr, Organization};
use clap::builder::PossibleValuesParser;
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

/// Bytes of the smallest datagram that a link with IPv6 carries.
const LEAST_MTU_V6: u16 = 1280;

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
        check_ways(&args)?;
        check_mtu(&args)?;
        let processors = processors(&args)?;
        check_ports(&args)?;
        check_threads(&args)?;
        let root = match args.services.has(WEB) {
            true => Some(Arc::new(open_root(&args.root)?)),
            false => None,
        };
        let (pcap, stats) = (args.pcap.as_deref(), args.stats_json.as_deref());
        not_standard_output("--pcap", pcap, ", or take `anabranch capture`")?;
        not_standard_output("--stats-json", stats, "")?;
        distinct(&[("--pcap", pcap), ("--stats-json", stats)])?;
        pcap.map(|path| Output::new("--pcap", path)).transpose()?;
        let stats = stats.map(|path| Output::new("--stats-json", path)).transpose()?;
        let offload = !args.no_offload && args.fault.is_none();
        Ok(Settings { processors, offload, root, stats, args })
    }
}

/// Standard output has what is told of the run.
fn not_standard_output(option: &str, path: Option<&Path>, or: &str) -> Result<(), Failure> {
    match path {
        Some(path) if path == Path::new("-") => Err(Failure::refused(format!(
            "{option} cannot go to standard output, where the summary goes: name a file{or}"
        ))),
        _ => Ok(()),
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
    check_station(args)?;
    let (ours, theirs): (Cidr, Cidr) = (args.address, args.peer_address);
    if args.dhcp {
        return check_dhcp(args);
    }
    if !args.link.kind.has_peers && args.vlan.is_none() {
        check_ends(ours, theirs)?;
    }
    check_added(args, Some(ours))?;
    match &args.gateway {
        Some(gateway) => check_gateway(args, gateway.on("--gateway", &args.link.name)?),
        None => Ok(()),
    }
}

/// Is it another host of one of our networks? Of IPv6 it may be one of the link.
fn check_gateway(args: &Args, gateway: IpAddr) -> Result<(), Failure> {
    let (ours, theirs) = (args.address, args.peer_address);
    let all = || std::iter::once(&ours).chain(&args.add_address);
    let is_neighbour = all().any(|cidr| cidr.is_neighbour(gateway));
    let has_link = all().any(|cidr| cidr.address().is_ipv6());
    let is_ours = all().any(|cidr| cidr.address() == gateway);
    let such_as = such_as(ours, theirs);
    match all().find(|cidr| cidr.contains(gateway)) {
        _ if is_neighbour || (has_link && !is_ours && is_of_link(gateway)) => Ok(()),
        Some(network) => Err(Failure::refused(format!(
            "--gateway {gateway} is no other host of {network}: choose a router there{such_as}"
        ))),
        None => Err(Failure::refused(format!(
            "--gateway {gateway} is not in the network of --address {ours}: choose a router \
             there{such_as}"
        ))),
    }
}

/// Can these be asked for names, and are routes each another one, by this device?
fn check_ways(args: &Args) -> Result<(), Failure> {
    let device = &args.link.name;
    for server in &args.dns {
        let address = server.on("--dns", device)?;
        if address.is_unspecified() || address.is_multicast() || address.is_loopback() {
            return Err(Failure::refused(format!(
                "--dns {address} is no other host: give a server's address, like 10.99.0.1"
            )));
        }
    }
    for (n, zoned) in args.route.iter().enumerate() {
        let route = zoned.on(device)?;
        if args.route[..n].iter().any(|other| other.route == route) {
            return Err(Failure::refused(format!(
                "--route {route} is given twice: give each route once"
            )));
        }
    }
    Ok(())
}

/// Does the link carry datagrams as IPv6 needs them (RFC 8200 5)?
fn check_mtu(args: &Args) -> Result<(), Failure> {
    let (ours, theirs) = (&args.address, &args.peer_address);
    let is_given = |cidr: &&Cidr| cidr.address().is_ipv6();
    let ends = [ours, theirs].into_iter().filter(|_| !args.dhcp);
    match ends.chain(&args.add_address).find(is_given) {
        Some(cidr) if args.mtu < LEAST_MTU_V6 => Err(Failure::refused(format!(
            "--mtu {} is too little for {cidr}: IPv6 needs {LEAST_MTU_V6} or more",
            args.mtu
        ))),
        _ => Ok(()),
    }
}

/// Can the device have this Ethernet address, and this VLAN?
fn check_station(args: &Args) -> Result<(), Failure> {
    if let Some(mac) = args.mac.filter(|mac| !mac.is_station()) {
        return Err(Failure::refused(format!(
            "--mac {mac} cannot be the address of one station: choose one like 02:00:00:00:00:01"
        )));
    }
    let option = args.vlan.map(|_| "--vlan").or(args.mac.map(|_| "--mac"));
    match option.filter(|_| args.link.kind.has_peers) {
        Some(option) => Err(Failure::refused(format!(
            "{option} is not for --xdp, by which untagged frames for the interface's own address \
             come: take a TAP device on a bridge with the interface"
        ))),
        None => Ok(()),
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
    let has_end = !args.link.kind.has_peers && args.vlan.is_none();
    let theirs = has_end.then_some(args.peer_address);
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
