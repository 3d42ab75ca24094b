//! [`Prefix`], a network as a whole.

use crate::CidrError;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// A network: all addresses that have their first bits in common, such as
/// `198.18.0.0/15`, or `0.0.0.0/0` for all of IPv4 and `::/0` for all of IPv6.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Prefix {
    network: IpAddr,
    bits: u8,
}

impl Prefix {
    /// All addresses of IPv4.
    pub const ALL_V4: Prefix = Prefix { network: IpAddr::V4(Ipv4Addr::UNSPECIFIED), bits: 0 };
    /// All addresses of IPv6.
    pub const ALL_V6: Prefix = Prefix { network: IpAddr::V6(Ipv6Addr::UNSPECIFIED), bits: 0 };

    /// The network of the addresses that have their first `bits` bits in common with
    /// `network`.
    ///
    /// # Errors
    /// [`CidrError`] if `network` has bits beyond them, or is shorter.
    pub fn new(network: impl Into<IpAddr>, bits: u8) -> Result<Prefix, CidrError> {
        let network = network.into();
        let (value, most) = match network {
            IpAddr::V4(address) => (u128::from(address.to_bits()) << 96, 32),
            IpAddr::V6(address) => (address.to_bits(), 128),
        };
        if bits > most {
            return Err(CidrError::Prefix(bits, most));
        }
        let host = u128::MAX.checked_shr(bits.into()).unwrap_or(0);
        if value & host != 0 {
            return Err(CidrError::HostBits(network, bits));
        }
        Ok(Prefix { network, bits })
    }

    /// Its first address.
    pub fn network(&self) -> IpAddr {
        self.network
    }

    /// How many bits its addresses have in common.
    pub fn bits(&self) -> u8 {
        self.bits
    }
}

impl FromStr for Prefix {
    type Err = CidrError;
    fn from_str(text: &str) -> Result<Prefix, CidrError> {
        let parts = text.split_once('/');
        let parsed = parts.and_then(|(a, b)| Some((a.parse::<IpAddr>().ok()?, b.parse().ok()?)));
        let (network, bits) = parsed.ok_or_else(|| CidrError::Form(text.into()))?;
        Prefix::new(network, bits)
    }
}

impl TryFrom<&str> for Prefix {
    type Error = CidrError;
    fn try_from(text: &str) -> Result<Prefix, CidrError> {
        text.parse()
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.network, self.bits)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_and_what_is_none() {
        for good in
            ["0.0.0.0/0", "10.0.0.0/8", "192.0.2.7/32", "128.0.0.0/1", "::/0", "2001:db8::/32"]
        {
            assert_eq!(good.parse::<Prefix>().expect("a network").to_string(), good);
        }
        assert_eq!("0.0.0.0/0".parse(), Ok(Prefix::ALL_V4));
        assert_eq!("::/0".parse(), Ok(Prefix::ALL_V6));
        for bad in [
            "10.0.0.0",
            "10.0.0.1/8",
            "10.0.0.0/33",
            "x/8",
            "2001:db8::1/64",
            "::/129",
            "10.0.0.0/",
        ] {
            let error = bad.parse::<Prefix>().expect_err(bad);
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
