//! Devices: where a stack's packets come from and go to.
//!
//! - [`memory`]: two devices back to back, in this process;
//! - [`tap`]: an interface of the Linux kernel, with Ethernet frames;
//! - [`tun`]: one that carries bare IP datagrams, as tunnels have;
//! - [`xdp`]: an interface that the kernel keeps, a network card's for example;
//! - [`custom`]: a device of your own, that takes and gives packets as bytes;
//! - [`fault`] and [`pcap`]: wrappers that make a bad link of a good device, and
//!   that write what passes to a file.
//!
//! A device that has to be as fast as these implements [`Receive`] and [`Transmit`]
//! itself, which pass [`Packet`]s whose payload is shared and not copied.

pub mod custom;

pub use ::device::{Batch, Capabilities, Counts, Device, Medium, Queue, Receive, Transmit};
pub use wire::packet::{ChecksumState, Meta};
pub use wire::steering::Steering;
pub use wire::{EthernetAddress, Packet};

/// Devices in memory.
pub mod memory {
    pub use ::device::memory::{Config, pair};
}

/// TAP devices: Ethernet frames to and from the Linux kernel.
pub mod tap {
    pub use ::device::tap::{Config, Error, IoUring, from_fds, io_uring_permitted, open};
}

/// TUN devices: bare IP datagrams to and from the Linux kernel.
pub mod tun {
    pub use ::device::tun::{Config, Error, IoUring, from_fds, open};
}

/// AF_XDP: an interface that the Linux kernel keeps, but for what is for our addresses.
pub mod xdp {
    pub use ::device::xdp::{Config, Error, MOST_MTU, MOST_PREFIXES, Mode, Offer, Take};
    pub use ::device::xdp::{available, offer, open};
}

/// A wrapper that makes a good device a bad link.
pub mod fault {
    pub use ::device::fault::{FaultCounts, Spec, SpecError, wrap};
}

/// A wrapper that writes what passes to a file in pcapng format.
pub mod pcap {
    pub use ::device::pcap::{wrap, wrap_writer};
}
