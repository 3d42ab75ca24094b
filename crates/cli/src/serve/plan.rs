//! [`Plan`]: arguments that make sense together.

use super::Args;
use super::services::Service;
use crate::failure::Failure;
use crate::http::Directory;
use anabranch::{Cidr, Organization};
use clap::builder::PossibleValuesParser;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

/// The organizations' names, for `clap`.
pub fn organization_names() -> PossibleValuesParser {
    PossibleValuesParser::new(Organization::all().map(Organization::name))
}

/// Arguments that make sense together.
pub struct Plan {
    /// As given.
    pub args: Args,
    /// Threads that process packets.
    pub processors: usize,
    /// Checksums and segmentation by the device.
    pub offload: bool,
    /// What the web server serves.
    pub root: Option<Arc<Directory>>,
    /// The small services, with their ports.
    pub services: Vec<(Service, u16)>,
}

impl Plan {
    /// Checks the arguments against each other, and against the file system.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub fn new(args: Args) -> Result<Plan, Failure> {
        args.choices.check(std::slice::from_ref(&args.organization))?;
        check_addresses(&args)?;
        let processors = processors(&args)?;
        let services = services(&args);
        check_ports(&args, &services)?;
        let root = match args.http {
            Some(_) => Some(Arc::new(open_root(&args.root)?)),
            None => None,
        };
        if let Some(path) = &args.stats_json {
            check_writable("--stats-json", path)?;
        }
        if let Some(path) = &args.pcap {
            check_writable("--pcap", path)?;
        }
        let offload = !args.no_offload && args.fault.is_none();
        Ok(Plan { processors, offload, root, services, args })
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

fn services(args: &Args) -> Vec<(Service, u16)> {
    let ports = [
        (Service::Echo, args.tcp_echo),
        (Service::Discard, args.tcp_discard),
        (Service::Chargen, args.tcp_chargen),
        (Service::Close, args.tcp_close),
        (Service::Sink, args.tcp_sink),
    ];
    ports.into_iter().filter_map(|(service, port)| Some((service, port?))).collect()
}

fn check_addresses(args: &Args) -> Result<(), Failure> {
    let (ours, theirs): (Cidr, Cidr) = (args.address, args.peer_address);
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
    match args.gateway {
        Some(gateway) if !ours.contains(gateway) => Err(Failure::refused(format!(
            "--gateway {gateway} is not in the network of --address {ours}: \
             choose a router there, such as {}",
            theirs.address()
        ))),
        Some(gateway) if !ours.is_neighbour(gateway) => Err(Failure::refused(format!(
            "--gateway {gateway} is no other host of {ours}: choose a router there, such as {}",
            theirs.address()
        ))),
        _ => Ok(()),
    }
}

fn check_ports(args: &Args, services: &[(Service, u16)]) -> Result<(), Failure> {
    let tcp = services.iter().map(|(service, port)| (service.name(), *port));
    let tcp: Vec<_> = args.http.map(|port| ("http", port)).into_iter().chain(tcp).collect();
    let udp = [("udp-echo", args.udp_echo), ("udp-dial", args.udp_dial)];
    let udp: Vec<_> = udp.into_iter().filter_map(|(name, port)| Some((name, port?))).collect();
    for ports in [tcp, udp] {
        for (i, (name, port)) in ports.iter().enumerate() {
            if let Some((other, _)) = ports[..i].iter().find(|(_, other)| other == port) {
                return Err(Failure::refused(format!(
                    "port {port} is asked for twice, by --{other} and --{name}: \
                     give each service a port of its own"
                )));
            }
        }
    }
    Ok(())
}

fn open_root(path: &Path) -> Result<Directory, Failure> {
    Directory::open(path).map_err(|e| {
        let path = path.display();
        Failure::refused(format!("cannot serve --root {path}: {e}: name a readable directory"))
    })
}

/// Can a file be written at `path`? Leaves nothing there.
fn check_writable(option: &str, path: &Path) -> Result<(), Failure> {
    let is_new = !path.exists();
    File::options().append(true).create(true).open(path).map_err(|e| {
        let path = path.display();
        Failure::refused(format!("cannot write {option} {path}: {e}: name a file that can be made"))
    })?;
    if is_new {
        // It will be made again.
        let _ = fs::remove_file(path);
    }
    Ok(())
}
