//! A TAP device: Ethernet frames to and from the Linux kernel, with checksum
//! and segmentation offload by the virtio header (tuntap.rst), and several
//! queues steered by an eBPF program.

mod datagrams;
mod error;
mod ifreq;
mod queue;
mod ring;
mod room;
mod steering;
mod virtio;

pub use error::Error;
pub use ifreq::{Control, disable_ipv6};
pub use ring::permitted as io_uring_permitted;

use crate::{Capabilities, Counts, Device, Medium, Queue};
use queue::{TapReceive, TapTransmit};
use ring::Ring;
use rustix::io::ioctl_fionbio;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use wire::EthernetAddress;
use wire::steering::Steering;

/// How a TAP device is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Name of the interface, at most 15 bytes; `%d` in it becomes a number
    /// that is free.
    pub name: String,
    /// Take the interface `name`, which exists and is persistent
    /// (`ip tuntap add mode tap`), instead of making one. It stays when the device is
    /// dropped. Its owner needs no further right. Its MTU stays as it is, and it is
    /// brought up, where that is permitted.
    pub existing: bool,
    /// How many queues; 0 counts as 1, the kernel's limit is 256.
    pub queues: usize,
    /// Bytes of the largest IP datagram, of an interface that is made.
    pub mtu: usize,
    /// Leave transport checksums and TCP segmentation to the kernel, and let it
    /// leave both to us.
    pub offload: bool,
    /// Address and prefix length of the kernel's end. Unless it is of IPv6, the kernel's
    /// IPv6 is turned off there.
    pub kernel_address: Option<(IpAddr, u8)>,
    /// Our address on the link; by default made from the kernel's, which is
    /// random.
    pub ethernet: Option<EthernetAddress>,
    /// Chooses the queue that a flow's frames arrive on, if there are several.
    /// Where the system does not permit the program for it, the kernel chooses.
    pub steering: Steering,
    /// Whether many packets are read and written by one call.
    pub io_uring: IoUring,
}

/// Whether packets are read and written by io_uring, many by one call, instead of by a call each.
/// Where few wait, a call each is taken nevertheless. What it brings is in `docs/measurements.md`: less
/// time for many small packets, nothing where offload makes few large ones of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IoUring {
    /// A call for each packet.
    #[default]
    Off,
    /// By io_uring where the kernel permits it ([`io_uring_permitted`]).
    IfPermitted,
    /// By io_uring, or not at all: [`Error::NoIoUring`].
    Required,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            name: "ana%d".into(),
            existing: false,
            queues: 1,
            mtu: 1500,
            offload: true,
            kernel_address: None,
            ethernet: None,
            steering: Steering::new(RandomState::new().hash_one(0)),
            io_uring: IoUring::Off,
        }
    }
}

setters! { Config {
    with_queues queues: usize,
    with_mtu mtu: usize,
    with_offload offload: bool,
    with_steering steering: Steering,
    with_existing existing: bool,
    with_io_uring io_uring: IoUring,
} }

impl Config {
    /// With another [`Config::name`].
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Config {
        self.name = name.into();
        self
    }

    /// With this [`Config::kernel_address`].
    #[must_use]
    pub fn with_kernel_address(mut self, address: impl Into<IpAddr>, prefix: u8) -> Config {
        self.kernel_address = Some((address.into(), prefix));
        self
    }

    /// With this [`Config::ethernet`].
    #[must_use]
    pub fn with_ethernet(mut self, ethernet: EthernetAddress) -> Config {
        self.ethernet = Some(ethernet);
        self
    }
}

/// Bytes of virtio's largest TCP packet, as IP datagram.
const SEGMENTATION: usize = 65535;
/// Packets that the kernel holds for us on each queue.
const QUEUE_LENGTH: u16 = 2048;

/// Makes a TAP device with its kernel end configured and up, or takes an existing
/// one ([`Config::existing`]). One that was made vanishes when its queues are dropped.
/// One that is in use is waited for, a second at most: so a program may follow another.
///
/// # Errors
/// [`Error`]; nothing is left behind then.
pub fn open(config: &Config) -> Result<Device, Error> {
    open_as(Medium::Ethernet, config)
}

/// As [`open`], of an interface that carries `medium`: of IP datagrams it is a TUN device.
pub(crate) fn open_as(medium: Medium, config: &Config) -> Result<Device, Error> {
    let queues = config.queues.max(1);
    let opening = if config.existing { Opening::Existing } else { Opening::New };
    let (first, name, multi) = patiently(|| open_first(medium, config, opening))?;
    let mut files = vec![first];
    while files.len() < queues {
        files.push(open_queue(medium, &name, multi, Opening::Further, queues)?.0);
    }
    let (ethernet, mtu) =
        if config.existing { take(config, &name)? } else { make(medium, config, &name)? };
    build(medium, Attached { files, name, has_header: true }, Some(ethernet), mtu, config)
}

/// A device of these descriptors: each is a queue of one TAP interface, attached to
/// it by whoever has opened it (`TUNSETIFF` with `IFF_TAP` and `IFF_NO_PI`; that the
/// latter is there is not checked, for the kernel does not say). The interface may be
/// in another network namespace and is not configured; its MTU is
/// [`Config::mtu`]. Without `IFF_VNET_HDR` there is no offload. Of the other settings
/// `offload`, `ethernet`, `steering` and `io_uring` count.
///
/// # Errors
/// [`Error::Unsuitable`] if a descriptor is not such a queue; [`Error::System`].
pub fn from_fds(descriptors: Vec<OwnedFd>, config: &Config) -> Result<Device, Error> {
    from_fds_as(Medium::Ethernet, descriptors, config)
}

/// As [`from_fds`], of an interface that carries `medium`.
pub(crate) fn from_fds_as(
    medium: Medium,
    descriptors: Vec<OwnedFd>,
    config: &Config,
) -> Result<Device, Error> {
    let mut of_first: Option<(String, bool)> = None;
    for descriptor in &descriptors {
        let queue = queue::attached(medium, descriptor.as_fd())?;
        if *of_first.get_or_insert_with(|| queue.clone()) != queue {
            let reason = "its queues are not of one interface, or not of one kind";
            return Err(Error::Unsuitable { name: queue.0, reason });
        }
    }
    let Some((name, has_header)) = of_first else {
        let reason = "a device needs one descriptor at least";
        return Err(Error::Unsuitable { name: "no descriptors".into(), reason });
    };
    let mut files = Vec::new();
    for descriptor in descriptors {
        ioctl_fionbio(&descriptor, true).map_err(|e| system(&name, "O_NONBLOCK", e.into()))?;
        let file = File::from(descriptor);
        if has_header {
            set_header_size(&file).map_err(|e| system(&name, "TUNSETVNETHDRSZ", e))?;
        }
        files.push(file);
    }
    build(medium, Attached { files, name, has_header }, None, config.mtu, config)
}

/// Our address on the link, if the kernel's end has this one: locally administered,
/// no group, and not the kernel's own.
fn ours(EthernetAddress(mut kernel): EthernetAddress) -> EthernetAddress {
    kernel[0] = kernel[0] & !1 | 2;
    kernel[5] ^= 1;
    EthernetAddress(kernel)
}

/// The open queues of an interface.
struct Attached {
    files: Vec<File>,
    name: String,
    /// A virtio header stands before each frame.
    has_header: bool,
}

/// The device of these queues. `kernel`: the address of the other end, if known.
fn build(
    medium: Medium,
    attached: Attached,
    kernel: Option<EthernetAddress>,
    mtu: usize,
    config: &Config,
) -> Result<Device, Error> {
    let Attached { files, name, has_header } = attached;
    let offload = config.offload && has_header;
    let kernel = match kernel {
        Some(kernel) => kernel,
        None => queue::ethernet(files[0].as_fd()).map_err(|e| system(&name, "SIOCGIFHWADDR", e))?,
    };
    let cuts = set_offload(&files[0], offload).map_err(|e| system(&name, "offload", e))?;
    let steered =
        files.len() == 1 || steering::attach(files[0].as_fd(), medium, &config.steering).is_ok();

    let counts = Arc::new(Counts::default());
    let link = if medium == Medium::Ethernet { wire::ethernet::LEN + 4 } else { 0 };
    let longest = if offload { SEGMENTATION } else { mtu } + link;
    let mut queues = Vec::new();
    for file in files {
        let ring = || ring_of(&file, &name, config.io_uring);
        let rings = (ring()?, ring()?);
        let file = Arc::new(file);
        let from = (file.clone(), rings.0, counts.clone());
        let to = (file, rings.1, counts.clone());
        queues.push(Queue {
            receive: Box::new(TapReceive::new(from, (medium, longest), has_header)),
            transmit: Box::new(TapTransmit::new(to, has_header, cuts.then_some(medium))),
        });
    }
    Ok(Device {
        name,
        capabilities: Capabilities {
            medium,
            mtu,
            transmit_checksum: offload,
            segmentation: if offload { SEGMENTATION } else { 0 },
            vlan: true,
        },
        ethernet: config.ethernet.unwrap_or(ours(kernel)),
        queues,
        queues_detach: true,
        steering: steered.then_some(config.steering),
        counts: counts.clone(),
        reports: Vec::new(),
    })
}

/// What reads or writes many packets of this queue at once, if that is wanted and can be.
fn ring_of(file: &File, name: &str, wanted: IoUring) -> Result<Option<Ring>, Error> {
    match (wanted, || Ring::of(file.as_fd())) {
        (IoUring::Off, _) => Ok(None),
        (IoUring::IfPermitted, ring) => Ok(ring().ok()),
        (IoUring::Required, ring) => {
            ring().map(Some).map_err(|source| Error::NoIoUring { name: name.into(), source })
        }
    }
}

/// Has the kernel leave checksums, segments and datagrams of one size to us, or not. Says
/// whether it cuts packets into datagrams.
fn set_offload(file: &File, offload: bool) -> io::Result<bool> {
    const TUN_F_USO4: u32 = 0x20;
    const TUN_F_USO6: u32 = 0x40;
    let set = |flags: u32| {
        let code = libc::TUNSETOFFLOAD as libc::Ioctl;
        // SAFETY: the request takes its argument by value.
        check(unsafe { libc::ioctl(file.as_raw_fd(), code, libc::c_ulong::from(flags)) })
    };
    if !offload {
        return set(0).map(|()| false);
    }
    let flags = libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO6;
    // Before Linux 6.2 there is none of datagrams.
    let all = set(flags | TUN_F_USO4 | TUN_F_USO6).map(|()| true);
    all.or_else(|_| set(flags).map(|()| false))
}

fn system(name: &str, step: &'static str, source: io::Error) -> Error {
    Error::System { name: name.into(), step, source }
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What a queue is opened for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Opening {
    /// To make the interface.
    New,
    /// To be the first of an interface that exists.
    Existing,
    /// To be one more.
    Further,
}

/// The longest that [`open`] waits for an interface that is in use.
const IN_USE: Duration = Duration::from_secs(1);

/// Tries again while the interface is in use, for [`IN_USE`]. Not only a program that ends has
/// it a little longer: so has each process that a program starts, until it is the program that
/// was asked for, as a copy of the descriptors that are closed here.
fn patiently<T>(open: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    let end = Instant::now() + IN_USE;
    loop {
        match open() {
            Err(Error::InUse(_)) if Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(1));
            }
            result => return result,
        }
    }
}

/// Opens the first queue. Returns its file, the interface's name, and whether the
/// interface is one of several queues.
fn open_first(
    medium: Medium,
    config: &Config,
    opening: Opening,
) -> Result<(File, String, bool), Error> {
    let (name, queues) = (&config.name, config.queues.max(1));
    if opening == Opening::Existing && ifreq::request(name).is_some() {
        // Else the kernel would make it.
        let control = Control::new().map_err(|e| system(name, "socket", e))?;
        control.mtu(name).map_err(|e| match e.raw_os_error() {
            Some(libc::ENODEV) => Error::Missing(name.clone()),
            _ => system(name, "MTU", e),
        })?;
    }
    match open_queue(medium, name, queues > 1, opening, queues) {
        // One made for several queues has to be opened so.
        Err(Error::Unsuitable { .. }) if queues == 1 => {
            open_queue(medium, name, true, opening, queues).map(|(file, name)| (file, name, true))
        }
        result => result.map(|(file, name)| (file, name, queues > 1)),
    }
}

const NO_SUCH_TAP: &str = "it is no TAP interface with as many queues: make it by \
                           `ip tuntap add mode tap`, for several queues with `multi_queue`";
const NO_SUCH_TUN: &str = "it is no TUN interface with as many queues: make it by \
                           `ip tuntap add mode tun`, for several queues with `multi_queue`";

/// The flag of interfaces that carry `medium`.
fn kind_flag(medium: Medium) -> libc::c_int {
    match medium {
        Medium::Ethernet => libc::IFF_TAP,
        Medium::Ip => libc::IFF_TUN,
    }
}

/// Opens one queue of interface `name`. Returns the file and the name, with `%d`
/// replaced.
fn open_queue(
    medium: Medium,
    name: &str,
    multi: bool,
    opening: Opening,
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
    let mut flags = kind_flag(medium) | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    if multi {
        flags |= libc::IFF_MULTI_QUEUE;
    }
    if opening == Opening::New {
        flags |= libc::IFF_TUN_EXCL;
    }
    request.ifr_ifru.ifru_flags = flags as libc::c_short;
    // SAFETY: the request reads and writes one `ifreq`.
    let done =
        unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, &raw mut request) };
    check(done).map_err(|e| match (e.raw_os_error(), opening) {
        (Some(libc::EPERM), _) => Error::NotAllowed(name.into()),
        (Some(libc::EBUSY | libc::EEXIST), _) => Error::InUse(name.into()),
        (Some(libc::E2BIG), _) => Error::TooManyQueues(queues),
        (Some(libc::EINVAL), Opening::New) => Error::BadName(name.into()),
        (Some(libc::EINVAL), Opening::Existing) => {
            let reason = match medium {
                Medium::Ethernet => NO_SUCH_TAP,
                Medium::Ip => NO_SUCH_TUN,
            };
            Error::Unsuitable { name: name.into(), reason }
        }
        _ => system(name, "TUNSETIFF", e),
    })?;
    set_header_size(&file).map_err(|e| system(name, "TUNSETVNETHDRSZ", e))?;
    Ok((file, ifreq::name(&request)))
}

/// Has the kernel use the virtio header of [`virtio::LEN`] bytes.
fn set_header_size(file: &File) -> io::Result<()> {
    let size = virtio::LEN as libc::c_int;
    let code = libc::TUNSETVNETHDRSZ as libc::Ioctl;
    // SAFETY: the request reads one int.
    check(unsafe { libc::ioctl(file.as_raw_fd(), code, &raw const size) })
}

/// Sets up the kernel's end of an interface that was made. Returns its address and
/// its MTU.
fn make(medium: Medium, config: &Config, name: &str) -> Result<(EthernetAddress, usize), Error> {
    let step = |step| move |e| system(name, step, e);
    let control = Control::new().map_err(step("socket"))?;
    // The kernel says much of its own over IPv6, which is for those who ask for it.
    let speaks_v6 = config.kernel_address.is_some_and(|(address, _)| address.is_ipv6());
    if speaks_v6 && config.mtu < wire::ipv6::MIN_MTU {
        return Err(Error::SmallMtu(config.mtu));
    }
    match (medium, speaks_v6) {
        (Medium::Ethernet, true) => ifreq::skip_dad(name),
        (Medium::Ethernet, false) => disable_ipv6(name),
        _ => {}
    }
    control.set_mtu(name, config.mtu).map_err(|e| match e.raw_os_error() {
        Some(libc::EINVAL) => Error::BadMtu(config.mtu),
        _ => system(name, "MTU", e),
    })?;
    // The default is good enough where this cannot be set.
    let _ = control.set_queue_length(name, QUEUE_LENGTH);
    if let Some((address, prefix)) = config.kernel_address {
        control.set_address(name, address, prefix).map_err(step("address"))?;
    }
    let ethernet = control.ethernet(name).map_err(step("Ethernet address"))?;
    control.set_up(name, true).map_err(step("bring up"))?;
    if let Some((IpAddr::V6(address), _)) = config.kernel_address {
        wait_until_usable(address);
    }
    Ok((ethernet, config.mtu))
}

/// Waits until the kernel uses an address of its own. For a moment it looks at a new one of IPv6,
/// even if that is not to be checked, and who connects meanwhile has another source.
fn wait_until_usable(address: Ipv6Addr) {
    for _ in 0..1000 {
        // That a socket may be bound to it says nothing where it may to any (`ip_nonlocal_bind`).
        if UdpSocket::bind((address, 0)).is_ok() && !ifreq::is_tentative(address) {
            return;
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// As [`make`], of an interface that exists: it is changed no more than asked for.
fn take(config: &Config, name: &str) -> Result<(EthernetAddress, usize), Error> {
    let step = |step| move |e| system(name, step, e);
    let control = Control::new().map_err(step("socket"))?;
    if let Some((address, prefix)) = config.kernel_address {
        control.set_address(name, address, prefix).map_err(step("address"))?;
    }
    // The owner of the interface may not: it is up already, or somebody else sees to it.
    let _ = control.set_up(name, true);
    let ethernet = control.ethernet(name).map_err(step("Ethernet address"))?;
    Ok((ethernet, control.mtu(name).map_err(step("MTU"))?))
}

#[cfg(test)]
mod tests;
