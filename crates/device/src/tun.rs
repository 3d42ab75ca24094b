//! A TUN device: bare IP datagrams to and from the Linux kernel, without Ethernet and
//! without ARP; for the rest as a [TAP device](crate::tap), by the same code.

use crate::{Device, Medium, tap};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use wire::steering::Steering;

pub use crate::tap::{Error, IoUring};

/// How a TUN device is made.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Name of the interface, at most 15 bytes; `%d` in it becomes a number
    /// that is free.
    pub name: String,
    /// Take the interface `name`, which exists and is persistent
    /// (`ip tuntap add mode tun`), instead of making one. It stays when the device is
    /// dropped. Its owner needs no further right. Its MTU stays as it is, and it is
    /// brought up, where that is permitted.
    pub existing: bool,
    /// How many queues; 0 counts as 1, the kernel's limit is 256.
    pub queues: usize,
    /// Bytes of the largest IP datagram, of an interface that is made, or of one whose
    /// descriptors are given.
    pub mtu: usize,
    /// Leave transport checksums and TCP segmentation to the kernel, and let it
    /// leave both to us.
    pub offload: bool,
    /// Address and prefix length of the kernel's end.
    pub kernel_address: Option<(IpAddr, u8)>,
    /// Chooses the queue that a flow's datagrams arrive on, if there are several.
    /// Where the system does not permit the program for it, the kernel chooses.
    pub steering: Steering,
    /// Whether many datagrams are read and written by one call.
    pub io_uring: IoUring,
}

impl Default for Config {
    fn default() -> Config {
        let common = tap::Config::default();
        let tap::Config { name, existing, queues, mtu, offload, kernel_address, .. } = common;
        let (steering, io_uring) = (common.steering, common.io_uring);
        Config { name, existing, queues, mtu, offload, kernel_address, steering, io_uring }
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

    fn common(&self) -> tap::Config {
        let own = self.clone();
        let Config { name, existing, queues, mtu, offload, kernel_address, .. } = own;
        let (ethernet, steering, io_uring) = (None, own.steering, own.io_uring);
        tap::Config {
            name,
            existing,
            queues,
            mtu,
            offload,
            kernel_address,
            ethernet,
            steering,
            io_uring,
        }
    }
}

/// Makes a TUN device with its kernel end configured and up, or takes an existing
/// one ([`Config::existing`]). One that was made vanishes when its queues are dropped.
///
/// # Errors
/// [`Error`]; nothing is left behind then.
pub fn open(config: &Config) -> Result<Device, Error> {
    tap::open_as(Medium::Ip, &config.common())
}

/// A device of these descriptors: each is a queue of one TUN interface, attached to
/// it by whoever has opened it (`TUNSETIFF` with `IFF_TUN` and `IFF_NO_PI`; that the
/// latter is there is not checked, for the kernel does not say): a VPN service, a
/// service manager, or a helper with the rights. The interface may be in another network
/// namespace and is not configured; its MTU is [`Config::mtu`]. Without `IFF_VNET_HDR`
/// there is no offload. Of the other settings `offload`,
/// `steering` and `io_uring` count.
///
/// # Errors
/// [`Error::Unsuitable`] if a descriptor is not such a queue; [`Error::System`].
pub fn from_fds(descriptors: Vec<OwnedFd>, config: &Config) -> Result<Device, Error> {
    tap::from_fds_as(Medium::Ip, descriptors, &config.common())
}
