//! Why there is no device.

use std::io;

/// Why a TAP or TUN device could not be made, and what to do about it. Its `Debug` is its
/// `Display`.
#[derive(thiserror::Error)]
#[non_exhaustive]
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
        "not allowed to make TUN/TAP device `{0}`: run as root, grant CAP_NET_ADMIN, or use a private network namespace"
    )]
    NotAllowed(String),
    /// There is an interface of this name.
    #[error(
        "there is an interface `{0}` already: choose another name, or end the program that holds it"
    )]
    InUse(String),
    /// There is no interface of this name to take.
    #[error(
        "there is no interface `{0}` to take: make it with `ip tuntap add dev {0} mode tap` (or `tun`)"
    )]
    Missing(String),
    /// The interface, or the descriptor, is something else than asked for.
    #[error("`{name}` cannot be used: {reason}")]
    Unsuitable {
        /// The interface, or the descriptor.
        name: String,
        /// What is wrong, and what would be right.
        reason: &'static str,
    },
    /// It cannot be a name.
    #[error("`{0}` cannot be an interface name: use 1 to 15 bytes without spaces, `/` and `:`")]
    BadName(String),
    /// More queues than the kernel's TAP has.
    #[error("{0} queues are more than a TUN/TAP device can have: ask for at most 256")]
    TooManyQueues(usize),
    /// The kernel refuses io_uring, which was [required](super::IoUring::Required).
    #[error(
        "io_uring cannot be used for `{name}`: {source}; permit it by `sudo sysctl kernel.io_uring_disabled=0`, or do without"
    )]
    NoIoUring {
        /// The device's name.
        name: String,
        /// The kernel's answer.
        source: io::Error,
    },
    /// The MTU is not one that the kernel takes.
    #[error("an MTU of {0} bytes is not possible: choose 68 to 65521")]
    BadMtu(usize),
    /// The kernel's end is to have an address of IPv6, for which the MTU is too small (RFC 8200 5).
    #[error("an MTU of {0} bytes is too small for IPv6: choose 1280 to 65521")]
    SmallMtu(usize),
    /// Another system call failed.
    #[error("cannot set up TUN/TAP device `{name}` ({step}): {source}; check the kernel's log")]
    System {
        /// The device's name.
        name: String,
        /// What was being done.
        step: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
}

debug_is_display!(Error);
