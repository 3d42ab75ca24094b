//! [`NameServer`]: a server for names as it is given by hand.

use super::PORT;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::str::FromStr;
use wire::Address;

/// A server for names, for `Builder::dns`: an address, such as `10.99.0.1`,
/// `2001:db8::53` or, with the link that it is on, `fe80::1%eth0` or `fe80::1%2` (RFC 4007 11). Behind the %
/// stands the name of the device or the number of its interface, from 1 on in the order of the builder.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct NameServer {
    address: IpAddr,
    link: Option<String>,
}

/// Why something is no [`NameServer`].
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameServerError {
    /// It is not written as one.
    #[error(
        "{0:?} is no address of a server for names: write it like 10.99.0.1, fd00::1 or fe80::1%eth0"
    )]
    Form(String),
    /// The address is good on every link.
    #[error(
        "server for names {0}: only addresses of fe80::/10 have a link: leave out what is behind %"
    )]
    NoLink(String),
    /// The address is no other host's.
    #[error("server for names {0} is no other host: give a server's address, like 10.99.0.1")]
    NoHost(IpAddr),
    /// The stack has no such interface.
    #[error(
        "server for names {server}: the stack has no such interface: take one of {names}, or its number"
    )]
    NoInterface {
        /// The server.
        server: NameServer,
        /// The names of those that it has.
        names: String,
    },
}

crate::sentence::debug_is_display!(NameServerError);

impl NameServer {
    /// Its address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Where it is asked, for a stack with interfaces of these names.
    ///
    /// # Errors
    /// If it is no other host, or on no link that there is.
    pub(crate) fn on(&self, names: &[String]) -> Result<SocketAddr, NameServerError> {
        let address = self.address;
        if address.is_unspecified() || address.is_multicast() {
            return Err(NameServerError::NoHost(address));
        }
        // Without a link, it is on the only one, or a socket says what is missing.
        let (IpAddr::V6(v6), Some(link)) = (address, &self.link) else {
            return Ok((address, PORT).into());
        };
        let is_one = |number: &usize| (1..=names.len()).contains(number);
        let by_name = || names.iter().position(|name| name == link).map(|at| at + 1);
        let number = link.parse().ok().filter(is_one).or_else(by_name);
        let number = number.ok_or_else(|| NameServerError::NoInterface {
            server: self.clone(),
            names: names.join(", "),
        })?;
        Ok(SocketAddrV6::new(v6, PORT, 0, number as u32).into())
    }
}

impl FromStr for NameServer {
    type Err = NameServerError;
    fn from_str(text: &str) -> Result<NameServer, NameServerError> {
        let wrong = || NameServerError::Form(text.into());
        let Some((address, link)) = text.split_once('%') else {
            return Ok(text.parse::<IpAddr>().map_err(|_| wrong())?.into());
        };
        let address: Ipv6Addr = address.parse().map_err(|_| wrong())?;
        if link.is_empty() {
            return Err(wrong());
        }
        if !Address::from(address).is_link_local_v6() {
            return Err(NameServerError::NoLink(text.into()));
        }
        Ok(NameServer { address: address.into(), link: Some(link.into()) })
    }
}

impl fmt::Display for NameServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        self.link.as_ref().map_or(Ok(()), |link| write!(f, "%{link}"))
    }
}

impl fmt::Debug for NameServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

macro_rules! from {
    ($($type:ty),*) => {
        $(impl From<$type> for NameServer {
            fn from(address: $type) -> NameServer {
                NameServer { address: address.into(), link: None }
            }
        })*
    };
}
from! { IpAddr, Ipv4Addr, Ipv6Addr, [u8; 4], [u8; 16], [u16; 8] }

macro_rules! from_text {
    ($($text:ty),*) => {
        $(impl TryFrom<$text> for NameServer {
            type Error = NameServerError;
            fn try_from(text: $text) -> Result<NameServer, NameServerError> {
                text.parse()
            }
        })*
    };
}
from_text! { &str, String, &String }

#[cfg(test)]
mod tests {
    use super::*;

    fn on(text: &str, names: &[&str]) -> Result<SocketAddr, NameServerError> {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        text.parse::<NameServer>()?.on(&names)
    }

    #[test]
    fn a_server_is_found_on_its_link() {
        let good = [
            ("10.0.0.1", "10.0.0.1:53"),
            ("fd00::1", "[fd00::1]:53"),
            ("fe80::1%lan", "[fe80::1%2]:53"),
            ("fe80::1%1", "[fe80::1%1]:53"),
        ];
        for (text, at) in good {
            assert_eq!(on(text, &["wan", "lan"]).map(|at| at.to_string()), Ok(at.into()));
        }
        // Which link that is, sockets find out.
        assert_eq!(on("fe80::1", &["lan"]).map(|at| at.to_string()), Ok("[fe80::1]:53".into()));
        // A device whose name is a number, but no interface's.
        assert_eq!(on("fe80::1%7", &["7"]).map(|at| at.to_string()), Ok("[fe80::1%1]:53".into()));
    }

    #[test]
    fn what_is_none_is_said() {
        let bad = [
            ("example.org", "is no address of a server"),
            ("fe80::1%", "is no address of a server"),
            ("10.0.0.1%lan", "is no address of a server"),
            ("fd00::1%lan", "only addresses of fe80::/10 have a link"),
            ("fe80::1%dsl", "no such interface: take one of wan, lan"),
            ("fe80::1%0", "no such interface"),
            ("fe80::1%3", "no such interface"),
            ("::", "is no other host"),
            ("ff02::fb", "is no other host"),
        ];
        for (text, why) in bad {
            let error = on(text, &["wan", "lan"]).expect_err(text).to_string();
            assert!(error.contains(why) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
