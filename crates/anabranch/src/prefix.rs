//! [`Prefix`], a network as a whole.

use crate::CidrError;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr};
use std::str::FromStr;

/// A network: all addresses that have their first bits in common, such as
/// `198.18.0.0/15`, or `0.0.0.0/0` for all of IPv4. There is only IPv4 yet.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Prefix {
    network: Ipv4Addr,
    bits: u8,
}

impl Prefix {
    /// All addresses of IPv4.
    pub const ALL_V4: Prefix = Prefix { network: Ipv4Addr::UNSPECIFIED, bits: 0 };

    /// The network of the addresses that have their first `bits` bits in common with
    /// `network`.
    ///
    /// # Errors
    /// [`CidrError`] if `network` has bits beyond them, or is longer.
    pub fn new(network: impl Into<IpAddr>, bits: u8) -> Result<Prefix, CidrError> {
        let network = match network.into() {
            IpAddr::V4(network) => network,
            IpAddr::V6(network) => return Err(CidrError::Family(network.to_string())),
        };
        if bits > 32 {
            return Err(CidrError::Prefix(bits));
        }
        let host = u32::MAX.checked_shr(bits.into()).unwrap_or(0);
        if network.to_bits() & host != 0 {
            return Err(CidrError::HostBits(network, bits));
        }
        Ok(Prefix { network, bits })
    }

    /// Its first address.
    pub fn network(&self) -> IpAddr {
        self.network.into()
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
        for good in ["0.0.0.0/0", "10.0.0.0/8", "192.0.2.7/32", "128.0.0.0/1"] {
            assert_eq!(good.parse::<Prefix>().expect("a network").to_string(), good);
        }
        assert_eq!("0.0.0.0/0".parse(), Ok(Prefix::ALL_V4));
        for bad in ["10.0.0.0", "10.0.0.1/8", "10.0.0.0/33", "x/8", "::/0", "10.0.0.0/"] {
            let error = bad.parse::<Prefix>().expect_err(bad);
            assert!(!error.to_string().contains('\n'), "{error}");
        }
    }
}
