//! Addresses of all layers, for both families of IP from the first day.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// An Ethernet (MAC) address.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct EthernetAddress(pub [u8; 6]);

impl EthernetAddress {
    /// All stations on the link.
    pub const BROADCAST: EthernetAddress = EthernetAddress([0xff; 6]);

    /// Is the group bit set (multicast or broadcast)?
    pub const fn is_group(self) -> bool {
        self.0[0] & 1 == 1
    }

    /// Can it be one station's address: neither a group nor all zero?
    pub fn is_station(self) -> bool {
        !self.is_group() && self.0 != [0; 6]
    }
}

impl std::str::FromStr for EthernetAddress {
    type Err = NoEthernetAddress;
    /// Six bytes in hexadecimal digits, with colons between them.
    fn from_str(text: &str) -> Result<EthernetAddress, NoEthernetAddress> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().ok_or(NoEthernetAddress)?;
            let is_byte =
                (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_hexdigit());
            *byte =
                u8::from_str_radix(part, 16).ok().filter(|_| is_byte).ok_or(NoEthernetAddress)?;
        }
        parts.next().map_or(Ok(EthernetAddress(bytes)), |_| Err(NoEthernetAddress))
    }
}

/// A text is no Ethernet address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoEthernetAddress;

impl std::fmt::Display for NoEthernetAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("write an Ethernet address like 02:00:00:00:00:01")
    }
}

impl std::error::Error for NoEthernetAddress {}

impl std::fmt::Display for EthernetAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}
impl std::fmt::Debug for EthernetAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

/// An IP address of either family in 16 bytes: IPv6 as it is, IPv4 mapped into
/// it (RFC 4291 2.5.5.2), so that a flow key compares as plain words.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    high: u64,
    low: u64,
}

const V4_MAPPED: u64 = 0xffff << 32;

impl Address {
    /// 0.0.0.0
    pub const UNSPECIFIED_V4: Address = Address { high: 0, low: V4_MAPPED };
    /// `::`
    pub const UNSPECIFIED_V6: Address = Address { high: 0, low: 0 };

    /// The IPv4 address in it, if it is one.
    #[inline]
    pub const fn v4(self) -> Option<Ipv4Addr> {
        if self.is_v4() { Some(Ipv4Addr::from_bits(self.low as u32)) } else { None }
    }
    /// The IPv6 address in it, if it is one.
    #[inline]
    pub const fn v6(self) -> Option<Ipv6Addr> {
        match self.is_v4() {
            true => None,
            false => Some(Ipv6Addr::from_bits((self.high as u128) << 64 | self.low as u128)),
        }
    }
    /// 0.0.0.0 or `::`, whichever is of its family.
    #[inline]
    pub const fn unspecified(self) -> Address {
        if self.is_v4() { Address::UNSPECIFIED_V4 } else { Address::UNSPECIFIED_V6 }
    }
    /// Is it a group's: 224/4, or ff00::/8?
    #[inline]
    pub const fn is_multicast(self) -> bool {
        if self.is_v4() { self.low >> 28 & 0x0f == 0x0e } else { self.high >> 56 == 0xff }
    }
    /// Is it of all hosts of a link, or of this host: groups that nobody has to join?
    pub fn is_all_hosts(self) -> bool {
        match self.ip() {
            IpAddr::V4(a) => a.octets() == [224, 0, 0, 1],
            IpAddr::V6(a) => matches!(a.segments(), [0xff01 | 0xff02, 0, 0, 0, 0, 0, 0, 1]),
        }
    }
    /// Is it of one link only: fe80::/10?
    pub const fn is_link_local_v6(self) -> bool {
        self.high >> 54 == 0xfe80 >> 6
    }
    /// Is it an IPv4 address?
    #[inline]
    pub const fn is_v4(self) -> bool {
        self.high == 0 && self.low & !0xffff_ffff == V4_MAPPED
    }
    /// The address as the standard library has it.
    pub fn ip(self) -> IpAddr {
        match self.v4() {
            Some(v4) => IpAddr::V4(v4),
            None => IpAddr::V6(Ipv6Addr::from_bits(self.bits())),
        }
    }
    /// Is it 0.0.0.0 or `::`?
    pub fn is_unspecified(self) -> bool {
        self.high == 0 && (self.low == V4_MAPPED || self.low == 0)
    }
    /// Can it be one host's address: not unspecified, multicast or broadcast?
    pub fn is_unicast(self) -> bool {
        match self.ip() {
            IpAddr::V4(a) => !(a.is_unspecified() || a.is_multicast() || a.is_broadcast()),
            IpAddr::V6(a) => !(a.is_unspecified() || a.is_multicast()),
        }
    }
    /// Can a datagram from another host have it as its source? Not if it is a
    /// group's, of this host or network, or of a block that is not for use
    /// (RFC 1122 3.2.1.3, RFC 6890): 0/8, 127/8, 240/4.
    pub fn can_be_source(self) -> bool {
        self.is_unicast() && !self.is_reserved()
    }
    /// Can a datagram leave this host for it? Not to 0/8, 127/8, 240/4 but for
    /// 255.255.255.255, and not to `::` and `::1`.
    pub fn can_be_destination(self) -> bool {
        !self.is_unspecified()
            && (!self.is_reserved() || self.v4().is_some_and(|v4| v4.is_broadcast()))
    }
    /// Is it of this host only: 127/8, or `::1`?
    pub fn is_loopback(self) -> bool {
        match self.ip() {
            IpAddr::V4(a) => a.is_loopback(),
            IpAddr::V6(a) => a.is_loopback(),
        }
    }
    fn is_reserved(self) -> bool {
        match self.ip() {
            IpAddr::V4(a) => matches!(a.octets()[0], 0 | 127 | 240..),
            IpAddr::V6(a) => a.is_loopback(),
        }
    }
    /// Do the two agree in the first `prefix` bits? Those of IPv4 count from the
    /// start of the IPv4 address.
    pub fn shares_prefix(self, other: Address, prefix: u8) -> bool {
        let prefix = u32::from(prefix) + if self.is_v4() { 96 } else { 0 };
        let mask = u128::MAX.checked_shl(128 - prefix.min(128)).unwrap_or(0);
        self.is_v4() == other.is_v4() && (self.bits() ^ other.bits()) & mask == 0
    }
    fn bits(self) -> u128 {
        u128::from(self.high) << 64 | u128::from(self.low)
    }
    /// How many of the first bits the two agree in, of all 128.
    pub fn common_prefix(self, other: Address) -> u32 {
        (self.bits() ^ other.bits()).leading_zeros()
    }
    /// The two words that make it up, most significant first.
    #[inline]
    pub const fn words(self) -> [u64; 2] {
        [self.high, self.low]
    }
}

impl From<Ipv4Addr> for Address {
    #[inline]
    fn from(a: Ipv4Addr) -> Address {
        Address { high: 0, low: V4_MAPPED | a.to_bits() as u64 }
    }
}
impl From<Ipv6Addr> for Address {
    fn from(a: Ipv6Addr) -> Address {
        let bits = a.to_bits();
        Address { high: (bits >> 64) as u64, low: bits as u64 }
    }
}
impl From<IpAddr> for Address {
    fn from(a: IpAddr) -> Address {
        match a {
            IpAddr::V4(a) => a.into(),
            IpAddr::V6(a) => a.into(),
        }
    }
}
impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.ip().fmt(f)
    }
}
impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.ip().fmt(f)
    }
}

/// The IPv6 address at `at` of `bytes`, which has 16 bytes from there on.
#[inline]
pub(crate) fn v6_at(bytes: &[u8], at: usize) -> Ipv6Addr {
    let octets: [u8; 16] = bytes[at..at + 16].try_into().expect("16 bytes");
    Ipv6Addr::from(octets)
}

/// An address with a port.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Endpoint {
    /// The host.
    pub address: Address,
    /// The port.
    pub port: u16,
}

impl Hash for Endpoint {
    /// In as few words as there are bits that differ: that of IPv4 is one.
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Address { high, low } = self.address;
        if self.address.is_v4() {
            return state.write_u64(low << 16 & 0xffff_ffff_0000 | u64::from(self.port));
        }
        for word in [high, low, self.port.into()] {
            state.write_u64(word);
        }
    }
}

impl From<SocketAddr> for Endpoint {
    fn from(a: SocketAddr) -> Endpoint {
        Endpoint { address: a.ip().into(), port: a.port() }
    }
}
impl From<Endpoint> for SocketAddr {
    fn from(e: Endpoint) -> SocketAddr {
        SocketAddr::new(e.address.ip(), e.port)
    }
}
impl std::fmt::Display for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        SocketAddr::from(*self).fmt(f)
    }
}
impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        SocketAddr::from(*self).fmt(f)
    }
}

/// What names a connection on this host: our end and the peer's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowKey {
    /// Our end.
    pub local: Endpoint,
    /// The peer's end.
    pub remote: Endpoint,
}

impl Hash for FlowKey {
    /// In as few words as there are bits that differ: hashing is on the way of
    /// every segment.
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let (local, remote) = (self.local.address, self.remote.address);
        let ports = u32::from(self.local.port) << 16 | u32::from(self.remote.port);
        if local.is_v4() && remote.is_v4() {
            state.write_u64(local.low << 32 | remote.low & 0xffff_ffff);
        } else {
            for word in [local.high, local.low, remote.high, remote.low] {
                state.write_u64(word);
            }
        }
        // As 64 bits: hashers are quickest at whole words.
        state.write_u64(u64::from(ports));
    }
}

impl FlowKey {
    /// The same connection as its other end names it.
    pub fn reversed(self) -> FlowKey {
        FlowKey { local: self.remote, remote: self.local }
    }
}

#[cfg(test)]
mod tests;
