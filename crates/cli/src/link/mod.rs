//! What a stack can stand on: a row in [`LINKS`] for each kind of device, with all that
//! `serve`, `demo` and `doctor` want of it.

mod memory;
mod tap;
mod xdp;

use crate::failure::Failure;
use crate::finding::{Finding, Rights};
use clap::{Arg, ArgMatches, Command};
use device::Device;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketType, netdevice};
use std::fmt;
use std::net::IpAddr;
use std::os::fd::OwnedFd;

/// A kind of device.
pub struct Kind {
    /// Its name in messages.
    pub title: &'static str,
    /// Which way figures went: `over TAP`.
    pub way: &'static str,
    /// How `serve` is told to use one; `None`: it cannot.
    naming: Option<Naming>,
    /// It is an interface with peers of its own; else the kernel is its only one.
    pub has_peers: bool,
    /// Does the kernel not tell whoever waits at one that it was deleted? Then it has to be looked for.
    pub goes_silently: bool,
    /// Makes one.
    pub open: fn(&Request<'_>) -> Result<Opened, Failure>,
    /// Prepares this process for a demonstration over one, before it has threads. Says
    /// where it is, or why there is none.
    pub prepare: fn() -> Result<&'static str, String>,
    /// Looks for what it needs; `serve` can use one if nothing that is found is bad.
    pub examine: fn(&Rights) -> Vec<Finding>,
    /// Tries one in a private network.
    pub trial: fn(&Rights) -> Trial,
}

/// An option of `serve`.
struct Naming {
    option: &'static str,
    /// The device that is used if none is named; of the first kind that has one.
    default: Option<&'static str>,
    help: &'static str,
}

/// What is asked of a device.
pub struct Request<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its queues.
    pub queues: usize,
    /// Bytes of the largest IP datagram.
    pub mtu: usize,
    /// Checksums and segmentation by the device, if it can.
    pub offload: bool,
    /// The address of the stack.
    pub ours: IpAddr,
    /// Further addresses of the stack.
    pub others: &'a [IpAddr],
    /// The address of the other end, and the bits of its network's prefix, if that is IPv4.
    pub peer: Option<(IpAddr, u8)>,
}

/// A device, and what is at its other end.
pub struct Opened {
    /// The device.
    pub device: Device,
    /// What is at its other end.
    pub peer: Peer,
}

/// What is at the other end of a device.
pub enum Peer {
    /// The kernel.
    Kernel,
    /// A stack that is to be put on this device.
    Stack(Box<Device>),
}

/// What came of a trial.
pub struct Trial {
    /// What was found.
    pub findings: Vec<Finding>,
    /// `demo` can use it.
    pub usable: bool,
}

/// All kinds, those first that `demo` likes better.
pub static LINKS: &[&Kind] = &[&tap::KIND, &memory::KIND, &tap::EXISTING, &xdp::KIND];

/// The kind that stands between two stacks of this process: `serve` cannot use it, and it needs no
/// rights.
pub fn between_stacks() -> Option<&'static Kind> {
    LINKS.iter().copied().find(|kind| kind.naming.is_none())
}

impl fmt::Debug for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title)
    }
}

/// The device that `serve` was asked for: an option for each kind.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// Its kind.
    pub kind: &'static Kind,
    /// Its name.
    pub name: String,
}

/// The number of the interface of this name.
pub fn number(name: &str) -> Option<u32> {
    netdevice::name_to_index(asking().ok()?, name).ok()
}

/// Was the interface of this number deleted?
pub fn is_deleted(number: u32) -> bool {
    let name = asking().and_then(|socket| netdevice::index_to_name(socket, number));
    name.is_err_and(|error| error == Errno::NODEV)
}

/// A socket to ask for interfaces by.
fn asking() -> Result<OwnedFd, Errno> {
    rustix::net::socket(AddressFamily::INET, SocketType::DGRAM, None)
}

fn named() -> impl Iterator<Item = (&'static Kind, &'static Naming)> {
    LINKS.iter().filter_map(|kind| Some((*kind, kind.naming.as_ref()?)))
}

impl clap::FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Chosen, clap::Error> {
        let given = named().find_map(|(kind, naming)| {
            Some(Chosen { kind, name: matches.get_one::<String>(naming.option)?.clone() })
        });
        let default = || {
            let (kind, name) = named().find_map(|(kind, naming)| Some((kind, naming.default?)))?;
            Some(Chosen { kind, name: name.to_owned() })
        };
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingRequiredArgument);
        given.or_else(default).ok_or_else(missing)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Chosen::from_arg_matches(matches)?;
        Ok(())
    }
}

impl clap::Args for Chosen {
    fn augment_args(command: Command) -> Command {
        let options: Vec<&str> = named().map(|(_, naming)| naming.option).collect();
        named().fold(command, |command, (_, naming)| {
            let default = naming.default.map(|name| format!(" [default: {name}]"));
            let help = naming.help.to_owned() + &default.unwrap_or_default();
            let others = options.iter().filter(|option| **option != naming.option);
            let option = Arg::new(naming.option).long(naming.option).value_name("NAME").help(help);
            command.arg(option.conflicts_with_all(others))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Chosen::augment_args(command)
    }
}

#[cfg(test)]
mod tests;
