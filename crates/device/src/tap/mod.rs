//! A TAP device: Ethernet frames to and from the Linux kernel, with checksum
//! and segmentation offload by the virtio header (tuntap.rst), and several
//! queues steered by an eBPF program.

mod ifreq;
mod queue;
mod steering;
mod virtio;

pub use ifreq::{Control, disable_ipv6};

use crate::{Capabilities, Counts, Device, Medium, Queue};
use queue::{TapReceive, TapTransmit};
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use wire::EthernetAddress;
use wire::steering::Steering;

/// How a TAP device is made.
#[derive(Clone, Debug)]
pub struct Config {
    /// Name of the interface, at most 15 bytes; `%d` in it becomes a number
    /// that is free.
    pub name: String,
    /// How many queues; 0 counts as 1, the kernel's limit is 256.
    pub queues: usize,
    /// Bytes of the largest IP datagram.
    pub mtu: usize,
    /// Leave transport checksums and TCP segmentation to the kernel, and let it
    /// leave both to us.
    pub offload: bool,
    /// Address and prefix length of the kernel's end.
    pub kernel_address: Option<(Ipv4Addr, u8)>,
    /// Our address on the link; by default made from the kernel's, which is
    /// random.
    pub ethernet: Option<EthernetAddress>,
    /// Chooses the queue that a flow's frames arrive on, if there are several.
    /// Where the system does not permit the program for it, the kernel chooses.
    pub steering: Steering,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            name: "ana%d".into(),
            queues: 1,
            mtu: 1500,
            offload: true,
            kernel_address: None,
            ethernet: None,
            steering: Steering::new(RandomState::new().hash_one(0)),
        }
    }
}

/// Why a TAP device could not be made, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kernel has no TUN/TAP driver, or its file is not here.
    #[error(
        "there is no /dev/net/tun: load the kernel module `tun`, or map the file into this container"
    )]
    NoDriver,
    /// Its file must not be opened.
    #[error("not allowed to open /dev/net/tun: run as root, or give the file mode 0666")]
    NoAccess,
    /// CAP_NET_ADMIN is missing.
    #[error(
        "not allowed to make TAP device `{0}`: run as root, grant CAP_NET_ADMIN, or use a private network namespace"
    )]
    NotAllowed(String),
    /// There is an interface of this name.
    #[error(
        "there is an interface `{0}` already: choose another name, or end the program that holds it"
    )]
    InUse(String),
    /// It cannot be a name.
    #[error("`{0}` cannot be an interface name: use 1 to 15 bytes without spaces, `/` and `:`")]
    BadName(String),
    /// More queues than the kernel's TAP has.
    #[error("{0} queues are more than a TAP device can have: ask for at most 256")]
    TooManyQueues(usize),
    /// The MTU is not one that the kernel takes.
    #[error("an MTU of {0} bytes is not possible: choose 68 to 65521")]
    BadMtu(usize),
    /// Another system call failed.
    #[error("cannot set up TAP device `{name}` ({step}): {source}; check the kernel's log")]
    System {
        /// The device's name.
        name: String,
        /// What was being done.
        step: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

/// Bytes of virtio's largest TCP packet, as IP datagram.
const SEGMENTATION: usize = 65535;
/// Packets that the kernel holds for us on each queue.
const QUEUE_LENGTH: u16 = 2048;

/// Makes a TAP device with its kernel end configured and up. It vanishes when
/// its queues are dropped.
///
/// # Errors
/// [`Error`]; nothing is left behind then.
pub fn open(config: &Config) -> Result<Device, Error> {
    let queues = config.queues.max(1);
    let first = open_queue(&config.name, queues > 1, true, queues)?;
    let (name, mut files) = (first.1, vec![first.0]);
    while files.len() < queues {
        files.push(open_queue(&name, true, false, queues)?.0);
    }
    let offload = if config.offload { libc::TUN_F_CSUM | libc::TUN_F_TSO4 } else { 0 };
    let code = libc::TUNSETOFFLOAD as libc::Ioctl;
    // SAFETY: the request takes its argument by value.
    let done = unsafe { libc::ioctl(files[0].as_raw_fd(), code, offload as libc::c_ulong) };
    check(done).map_err(|e| system(&name, "offload", e))?;
    let ethernet = configure(config, &name)?;
    let steered = queues == 1 || steering::attach(files[0].as_fd(), &config.steering).is_ok();

    let counts = Arc::new(Counts::default());
    let longest = if config.offload { SEGMENTATION } else { config.mtu } + wire::ethernet::LEN + 4;
    let queue = |file: File| {
        let file = Arc::new(file);
        Queue {
            receive: Box::new(TapReceive::new(file.clone(), counts.clone(), longest)),
            transmit: Box::new(TapTransmit::new(file, counts.clone())),
        }
    };
    Ok(Device {
        name,
        capabilities: Capabilities {
            medium: Medium::Ethernet,
            mtu: config.mtu,
            transmit_checksum: config.offload,
            segmentation: if config.offload { SEGMENTATION } else { 0 },
        },
        ethernet,
        queues: files.into_iter().map(queue).collect(),
        steering: steered.then_some(config.steering),
        counts: counts.clone(),
        faults: None,
    })
}

fn system(name: &str, step: &'static str, source: io::Error) -> Error {
    Error::System { name: name.into(), step, source }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Opens one queue of interface `name`: the `first` one makes the interface.
/// Returns the file and the name, with `%d` replaced.
fn open_queue(
    name: &str,
    multi: bool,
    first: bool,
    queues: usize,
) -> Result<(File, String), Error> {
    let mut request =
        ifreq::request(name).ok_or_else(|| Error::BadName(name.escape_debug().to_string()))?;
    let file = File::options()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK)
        .open("/dev/net/tun")
        .map_err(|e| match e.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::ENXIO) => Error::NoDriver,
            Some(libc::EACCES | libc::EPERM) => Error::NoAccess,
            _ => system(name, "open /dev/net/tun", e),
        })?;
    let mut flags = libc::IFF_TAP | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    if multi {
        flags |= libc::IFF_MULTI_QUEUE;
    }
    if first {
        flags |= libc::IFF_TUN_EXCL;
    }
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the request reads and writes one `ifreq`.
    let done =
        unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, &raw mut request) };
    check(done).map_err(|e| match e.raw_os_error() {
        Some(libc::EPERM) => Error::NotAllowed(name.into()),
        Some(libc::EBUSY | libc::EEXIST) => Error::InUse(name.into()),
        Some(libc::E2BIG) => Error::TooManyQueues(queues),
        Some(libc::EINVAL) if first => Error::BadName(name.into()),
        _ => system(name, "TUNSETIFF", e),
    })?;
    let size = virtio::LEN as libc::c_int;
    // SAFETY: the request reads one int.
    let done = unsafe {
        libc::ioctl(file.as_raw_fd(), libc::TUNSETVNETHDRSZ as libc::Ioctl, &raw const size)
    };
    check(done).map_err(|e| system(name, "TUNSETVNETHDRSZ", e))?;
    let real = request.ifr_name.iter().take_while(|&&c| c != 0).map(|&c| c as u8 as char).collect();
    Ok((file, real))
}

/// Sets up the kernel's end, and returns our address.
fn configure(config: &Config, name: &str) -> Result<EthernetAddress, Error> {
    let step = |step| move |e| system(name, step, e);
    let control = Control::new().map_err(step("socket"))?;
    disable_ipv6(name);
    control.set_mtu(name, config.mtu).map_err(|e| match e.raw_os_error() {
        Some(libc::EINVAL) => Error::BadMtu(config.mtu),
        _ => system(name, "MTU", e),
    })?;
    // The default is good enough where this cannot be set.
    let _ = control.set_queue_length(name, QUEUE_LENGTH);
    if let Some((address, prefix)) = config.kernel_address {
        control.set_address(name, address, prefix).map_err(step("address"))?;
    }
    let EthernetAddress(mut ethernet) = control.ethernet(name).map_err(step("Ethernet address"))?;
    control.set_up(name, true).map_err(step("bring up"))?;
    // Locally administered, no group, and not the kernel's own.
    ethernet[0] = ethernet[0] & !1 | 2;
    ethernet[5] ^= 1;
    Ok(config.ethernet.unwrap_or(EthernetAddress(ethernet)))
}

#[cfg(test)]
mod tests;
