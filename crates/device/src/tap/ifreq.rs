//! `struct ifreq`: names, addresses, MTU and state of the kernel's interfaces, by
//! ioctl (netdevice(7)), in the network namespace of the calling thread.

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use wire::EthernetAddress;

/// Bytes of the longest interface name.
pub const MAX_NAME: usize = libc::IFNAMSIZ - 1;

/// A socket to configure interfaces by.
pub struct Control(OwnedFd);

/// A request for nothing yet.
pub(super) fn empty() -> libc::ifreq {
    // SAFETY: an `ifreq` is plain data, for which zeros are valid.
    unsafe { std::mem::zeroed() }
}

/// The request for interface `name`, or `None` if that cannot be a name.
pub(super) fn request(name: &str) -> Option<libc::ifreq> {
    let bad = |c: char| c == '/' || c == ':' || c.is_whitespace() || c == '\0';
    if name.is_empty() || name.len() > MAX_NAME || name.contains(bad) || matches!(name, "." | "..")
    {
        return None;
    }
    let mut request = empty();
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Some(request)
}

/// The name in a request that the kernel has filled in.
pub(super) fn name(request: &libc::ifreq) -> String {
    let bytes = request.ifr_name.iter().take_while(|&&c| c != 0).map(|&c| c as u8);
    String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned()
}

/// The Ethernet address in a request that SIOCGIFHWADDR has filled in.
pub(super) fn ethernet(request: &libc::ifreq) -> EthernetAddress {
    // SAFETY: the field of the union is plain data, for which all bytes are valid.
    let hardware = unsafe { request.ifr_ifru.ifru_hwaddr };
    EthernetAddress(std::array::from_fn(|i| hardware.sa_data[i] as u8))
}

fn inet(address: Ipv4Addr) -> libc::sockaddr {
    // SAFETY: a `sockaddr` is plain data, for which zeros are valid.
    let mut sockaddr: libc::sockaddr = unsafe { std::mem::zeroed() };
    sockaddr.sa_family = libc::AF_INET as libc::sa_family_t;
    // `sockaddr_in`: 2 bytes of port, then the address.
    for (to, from) in sockaddr.sa_data[2..6].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    sockaddr
}

fn netmask(prefix: u8) -> Ipv4Addr {
    Ipv4Addr::from_bits(u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0))
}

/// `struct in6_ifreq`.
#[repr(C)]
struct AddressRequest {
    address: libc::in6_addr,
    prefix: u32,
    index: libc::c_int,
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Control {
    /// Opens the socket.
    ///
    /// # Errors
    /// Those of socket(2).
    pub fn new() -> io::Result<Control> {
        let (family, kind) = (AddressFamily::INET, SocketType::DGRAM);
        Ok(Control(socket_with(family, kind, SocketFlags::CLOEXEC, None)?))
    }

    fn ioctl(
        &self,
        name: &str,
        code: libc::Ioctl,
        fill: impl FnOnce(&mut libc::ifreq),
    ) -> io::Result<libc::ifreq> {
        let mut request = request(name).ok_or(io::ErrorKind::InvalidInput)?;
        fill(&mut request);
        // SAFETY: `code` is one of the SIOC requests below, which read or write
        // one `ifreq`.
        if unsafe { libc::ioctl(self.0.as_raw_fd(), code, &mut request) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(request)
    }

    /// A request of ethtool's about the interface.
    ///
    /// # Safety
    /// `about` begins with a command and is as long as that reads and writes.
    pub(crate) unsafe fn ethtool(&self, name: &str, about: *mut libc::c_char) -> io::Result<()> {
        const SIOCETHTOOL: libc::Ioctl = 0x8946;
        self.ioctl(name, SIOCETHTOOL, |r| r.ifr_ifru.ifru_data = about).map(drop)
    }

    /// Gives the interface an address, and a prefix of this many bits.
    ///
    /// # Errors
    /// EPERM without CAP_NET_ADMIN, ENODEV if there is no such interface, EACCES where the
    /// system has IPv6 turned off.
    pub fn set_address(&self, name: &str, address: IpAddr, prefix: u8) -> io::Result<()> {
        let address = match address {
            IpAddr::V4(address) => address,
            IpAddr::V6(address) => return self.set_address_v6(name, address, prefix),
        };
        self.ioctl(name, libc::SIOCSIFADDR, |r| r.ifr_ifru.ifru_addr = inet(address))?;
        let mask = inet(netmask(prefix));
        self.ioctl(name, libc::SIOCSIFNETMASK, |r| r.ifr_ifru.ifru_netmask = mask)?;
        Ok(())
    }

    fn set_address_v6(&self, name: &str, address: Ipv6Addr, prefix: u8) -> io::Result<()> {
        let request = self.ioctl(name, libc::SIOCGIFINDEX, |_| ())?;
        let address = libc::in6_addr { s6_addr: address.octets() };
        let request = AddressRequest {
            address,
            prefix: prefix.into(),
            // SAFETY: SIOCGIFINDEX has filled in this field of the union.
            index: unsafe { request.ifr_ifru.ifru_ifindex },
        };
        let (family, kind) = (AddressFamily::INET6, SocketType::DGRAM);
        let socket = socket_with(family, kind, SocketFlags::CLOEXEC, None)?;
        // SAFETY: of a socket of IPv6 the request reads one such structure.
        if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFADDR, &request) } < 0 {
            let error = io::Error::last_os_error();
            // The interface was given it before.
            return if error.kind() == io::ErrorKind::AlreadyExists { Ok(()) } else { Err(error) };
        }
        Ok(())
    }

    /// Sets the MTU, in bytes of IP datagram.
    ///
    /// # Errors
    /// As [`Control::set_address`]; EINVAL if the interface cannot.
    pub fn set_mtu(&self, name: &str, mtu: usize) -> io::Result<()> {
        let mtu = i32::try_from(mtu).map_err(|_| io::ErrorKind::InvalidInput)?;
        self.ioctl(name, libc::SIOCSIFMTU, |r| r.ifr_ifru.ifru_mtu = mtu)?;
        Ok(())
    }

    /// The MTU, in bytes of IP datagram.
    ///
    /// # Errors
    /// ENODEV if there is no such interface.
    pub fn mtu(&self, name: &str) -> io::Result<usize> {
        let request = self.ioctl(name, libc::SIOCGIFMTU, |_| ())?;
        // SAFETY: SIOCGIFMTU has filled in this field of the union.
        Ok(unsafe { request.ifr_ifru.ifru_mtu }.max(0) as usize)
    }

    /// Sets how many packets each transmit queue of the interface holds.
    ///
    /// # Errors
    /// As [`Control::set_address`].
    pub fn set_queue_length(&self, name: &str, packets: u16) -> io::Result<()> {
        let packets = i32::from(packets);
        self.ioctl(name, libc::SIOCSIFTXQLEN, |r| r.ifr_ifru.ifru_metric = packets)?;
        Ok(())
    }

    /// Brings the interface up, or down.
    ///
    /// # Errors
    /// As [`Control::set_address`].
    pub fn set_up(&self, name: &str, up: bool) -> io::Result<()> {
        let request = self.ioctl(name, libc::SIOCGIFFLAGS, |_| ())?;
        // SAFETY: SIOCGIFFLAGS has filled in this field of the union.
        let mut flags = unsafe { request.ifr_ifru.ifru_flags };
        let bits = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        flags = if up { flags | bits } else { flags & !bits };
        self.ioctl(name, libc::SIOCSIFFLAGS, |r| r.ifr_ifru.ifru_flags = flags)?;
        Ok(())
    }

    /// The interface's Ethernet address.
    ///
    /// # Errors
    /// ENODEV if there is no such interface.
    pub fn ethernet(&self, name: &str) -> io::Result<EthernetAddress> {
        let request = self.ioctl(name, libc::SIOCGIFHWADDR, |_| ())?;
        Ok(ethernet(&request))
    }
}

/// Keeps the kernel from speaking IPv6 on the interface (router solicitations,
/// multicast reports), where that can be set.
pub fn disable_ipv6(name: &str) {
    // Failure costs only some packets that nobody asked for.
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
}

/// Has the kernel use its addresses of IPv6 on the interface at once, where that can be set: at
/// the other end is nobody but who made it. While it looks for others that have an address, it
/// would connect from one of another interface, to which no answer leads.
pub(super) fn skip_dad(name: &str) {
    // Failure costs a second.
    let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/accept_dad"), "0");
}

/// Does the kernel still look whether others have this address of an interface of its own?
pub(super) fn is_tentative(address: Ipv6Addr) -> bool {
    let all = std::fs::read_to_string("/proc/thread-self/net/if_inet6").unwrap_or_default();
    let hex = format!("{:032x}", address.to_bits());
    all.lines().any(|line| says_tentative(line, &hex))
}

/// Is it a line of `if_inet6` for this address, with the flag `IFA_F_TENTATIVE`?
fn says_tentative(line: &str, hex: &str) -> bool {
    let mut words = line.split_whitespace();
    let flags = words.next().filter(|word| *word == hex).and_then(|_| words.nth(3));
    flags.and_then(|flags| u32::from_str_radix(flags, 16).ok()).is_some_and(|f| f & 0x40 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tentative_addresses() {
        let hex = format!("{:032x}", "fd99::1".parse::<Ipv6Addr>().expect("one").to_bits());
        let line = |flags| format!("fd990000000000000000000000000001 03 40 00 {flags} ana-test");
        assert!(says_tentative(&line("c0"), &hex));
        assert!(!says_tentative(&line("80"), &hex));
        let other = line("c0").replace("0001 ", "0002 ");
        assert!(!says_tentative(&other, &hex) && !says_tentative("", &hex));
    }

    #[test]
    fn names_and_masks() {
        for good in ["tap0", "é"] {
            assert_eq!(request(good).as_ref().map(name).as_deref(), Some(good));
        }
        for bad in ["", "sixteen-bytes-xx", "a/b", "a b", ".", "a:b"] {
            assert!(request(bad).is_none(), "{bad}");
        }
        assert_eq!(netmask(24), Ipv4Addr::new(255, 255, 255, 0));
        assert_eq!(netmask(0), Ipv4Addr::UNSPECIFIED);
        assert_eq!(netmask(32), Ipv4Addr::BROADCAST);
    }
}
