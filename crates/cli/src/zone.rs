//! Addresses that are written with the link that they are on, as `fe80::1%eth0` (RFC 4007 11).

use crate::failure::Failure;
use anabranch::Route;
use std::fmt;
use std::fs;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV6};
use std::str::FromStr;

/// An address, and the name or the number of its link, if one is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zoned {
    /// The address.
    pub address: IpAddr,
    zone: Option<String>,
}

/// Is it good on one link only?
pub fn is_of_link(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

impl FromStr for Zoned {
    type Err = String;
    fn from_str(text: &str) -> Result<Zoned, String> {
        let wrong = |_| "write an address like 10.99.0.1, fd00::1 or fe80::1%eth0".to_owned();
        let Some((address, zone)) = text.split_once('%') else {
            return Ok(Zoned { address: text.parse().map_err(wrong)?, zone: None });
        };
        let address = IpAddr::from(address.parse::<Ipv6Addr>().map_err(wrong)?);
        if !is_of_link(address) {
            return Err(format!("only addresses of fe80::/10 have a link: write {address} alone"));
        }
        if zone.is_empty() {
            return Err(format!("the link is missing behind %: write it like {address}%eth0"));
        }
        Ok(Zoned { address, zone: Some(zone.to_owned()) })
    }
}

impl fmt::Display for Zoned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.address)?;
        self.zone.as_ref().map_or(Ok(()), |zone| write!(f, "%{zone}"))
    }
}

impl Zoned {
    /// The address, for a stack whose only interface is called `device`.
    ///
    /// # Errors
    /// If another link is written.
    pub fn on(&self, option: &str, device: &str) -> Result<IpAddr, Failure> {
        match &self.zone {
            Some(zone) if zone != device && zone != "1" => Err(Failure::refused(format!(
                "{option} {self}: the stack has no interface `{zone}`: write {}%{device}",
                self.address
            ))),
            _ => Ok(self.address),
        }
    }

    /// The address and a port, for sockets of the kernel.
    ///
    /// # Errors
    /// If the kernel has no such interface, or none is written and one is needed.
    pub fn of_kernel(&self, port: u16) -> Result<SocketAddr, String> {
        let (IpAddr::V6(address), true) = (self.address, is_of_link(self.address)) else {
            return Ok((self.address, port).into());
        };
        let Some(zone) = &self.zone else {
            return Err(format!("{address} is on some link: write which, like {address}%eth0"));
        };
        let number = fs::read_to_string(format!("/sys/class/net/{zone}/ifindex"));
        let by_name = number.ok().filter(|_| !zone.contains('/'));
        let number = by_name.as_deref().unwrap_or(zone).trim().parse().ok().filter(|n| *n > 0);
        match number {
            Some(number) => Ok(SocketAddrV6::new(address, port, 0, number).into()),
            None => Err(format!("there is no interface `{zone}`: `ip link` lists those there are")),
        }
    }
}

/// A route, and the name of the link that its router is on, if one is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZonedRoute {
    /// The route.
    pub route: Route,
    zone: Option<String>,
}

impl FromStr for ZonedRoute {
    type Err = String;
    fn from_str(text: &str) -> Result<ZonedRoute, String> {
        let zone = text.split_once('%').and_then(|(_, rest)| rest.split_whitespace().next());
        let zone = zone.map(str::to_owned);
        // The stack has one interface, with this number.
        let numbered = zone.as_ref().map(|zone| text.replacen(&format!("%{zone}"), "%1", 1));
        let route = numbered.as_deref().unwrap_or(text).parse();
        Ok(ZonedRoute {
            route: route.map_err(|error: anabranch::CidrError| error.to_string())?,
            zone,
        })
    }
}

impl ZonedRoute {
    /// The route, for a stack whose only interface is called `device`.
    ///
    /// # Errors
    /// If another link is written.
    pub fn on(&self, device: &str) -> Result<Route, Failure> {
        let address = self.route.gateway();
        let router = Zoned { address, zone: self.zone.clone() };
        router.on("--route: router", device).map(|_| self.route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zoned(text: &str) -> Zoned {
        text.parse().expect(text)
    }

    #[test]
    fn a_link_is_named_by_its_device_or_by_one() {
        let address: IpAddr = "fe80::1".parse().expect("an address");
        for text in ["fe80::1", "fe80::1%ana0", "fe80::1%1"] {
            assert_eq!(zoned(text).on("--gateway", "ana0").expect(text), address);
            assert_eq!(zoned(text).to_string(), text);
        }
        let error = zoned("fe80::1%ana1").on("--gateway", "ana0").expect_err("another");
        assert!(error.to_string().ends_with("write fe80::1%ana0"), "{error}");
        for text in ["10.0.0.1%ana0", "fd00::1%ana0", "fe80::1%", "x", "", "%ana0"] {
            text.parse::<Zoned>().expect_err(text);
        }
    }

    #[test]
    fn a_router_of_a_route_has_a_link_too() {
        let text = "2001:db8:1::/48 via fe80::1%ana0 metric 5";
        let zoned: ZonedRoute = text.parse().expect("a route");
        let plain: Route = "2001:db8:1::/48 via fe80::1%1 metric 5".parse().expect("a route");
        assert_eq!(zoned.on("ana0").expect("its device"), plain);
        assert!(zoned.on("ana1").is_err());
        assert!("default via fe80::1%2".parse::<ZonedRoute>().expect("one").on("ana0").is_err());
        let plain: ZonedRoute = "default via 10.0.0.1".parse().expect("a route");
        assert!(plain.on("ana0").is_ok());
    }

    #[test]
    fn the_kernel_has_numbers_for_its_links() {
        let address = |text| zoned(text).of_kernel(80);
        assert_eq!(address("fe80::1%lo").expect("lo is there").to_string(), "[fe80::1%1]:80");
        assert_eq!(address("fe80::1%7").expect("a number").to_string(), "[fe80::1%7]:80");
        assert_eq!(address("10.0.0.1").expect("no link").to_string(), "10.0.0.1:80");
        for text in ["fe80::1", "fe80::1%ana-no", "fe80::1%0", "fe80::1%../lo"] {
            address(text).expect_err(text);
        }
    }
}
