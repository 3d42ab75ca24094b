//! [`Interface`]: what a builder was told of a device.

use crate::addresses::Cidr;
use crate::host::MAX_ADDRESSES;
use crate::{Error, Prefix};
use ::device::{Device, Medium};
use net::{Config, InterfaceConfig};
use std::net::IpAddr;
use wire::{Address, EthernetAddress};

/// Bytes of the smallest datagram that every link carries (RFC 791 3.2).
const LEAST_MTU: usize = 68;

/// What a builder was told of one interface.
#[derive(Debug, Default)]
pub(super) struct Interface {
    pub(super) addresses: Vec<Cidr>,
    pub(super) ethernet: Option<EthernetAddress>,
    pub(super) vlan: Option<u16>,
    pub(super) mtu: Option<usize>,
    pub(super) owned: Vec<Prefix>,
    /// All destinations that no other way is known to are its neighbours.
    pub(super) has_all: bool,
    /// It forms addresses by what routers say; with temporary ones?
    pub(super) slaac: Option<bool>,
}

impl Interface {
    /// Has it an address of IPv6?
    pub(super) fn has_v6(&self) -> bool {
        self.addresses.iter().any(|cidr| cidr.address().is_ipv6())
    }

    /// Its addresses, with a link-local one where IPv6 needs one.
    fn addresses(
        &self,
        ethernet: EthernetAddress,
        is_ethernet: bool,
        others: &Config,
    ) -> Vec<(Address, u8)> {
        let ours = self.addresses.iter().map(|a| (Address::from(a.address()), a.prefix()));
        let mut addresses: Vec<_> = ours.collect();
        let has_link_local = addresses.iter().any(|(a, _)| a.is_link_local_v6());
        if self.has_v6() && is_ethernet && !has_link_local {
            let tentative = others.discovery.tentative();
            addresses.push((others.new_link_local(ethernet, &tentative).into(), 64));
        }
        addresses
    }

    /// As the layers below take it, beside the interfaces that there are.
    pub(super) fn config(self, device: &Device, others: &Config) -> Result<InterfaceConfig, Error> {
        let capabilities = device.capabilities;
        let is_ethernet = capabilities.medium == Medium::Ethernet;
        let name = || device.name.clone();
        let mtu = self.mtu.unwrap_or(capabilities.mtu);
        if capabilities.mtu < LEAST_MTU {
            let mtu = capabilities.mtu;
            return Err(Error::LeastMtu { device: name(), mtu });
        }
        if self.mtu.is_some() && !(LEAST_MTU..=capabilities.mtu).contains(&mtu) {
            return Err(Error::Mtu { device: name(), mtu, most: capabilities.mtu });
        }
        if self.slaac.is_some() && !is_ethernet {
            return Err(Error::Slaac { device: name() });
        }
        if (self.has_v6() || self.slaac.is_some()) && mtu < wire::ipv6::MIN_MTU {
            return Err(Error::MtuV6 { device: name(), mtu });
        }
        let is_twice = |a: &IpAddr| {
            let address = Address::from(*a);
            address.is_link_local_v6() && others.is_ours(address)
        };
        if let Some(address) = self.addresses.iter().map(Cidr::address).find(is_twice) {
            return Err(Error::LinkLocal { device: name(), address });
        }
        if let Some(vlan) = self.vlan
            && !(is_ethernet && capabilities.vlan && (1..=4094).contains(&vlan))
        {
            return Err(Error::Vlan { device: name(), vlan });
        }
        if let Some(ethernet) = self.ethernet
            && !ethernet.is_station()
        {
            return Err(Error::Ethernet(ethernet));
        }
        let ethernet = self.ethernet.unwrap_or(device.ethernet);
        let addresses = self.addresses(ethernet, is_ethernet, others);
        if addresses.len() > MAX_ADDRESSES {
            return Err(Error::Addresses { device: name(), addresses: addresses.len() });
        }
        Ok(InterfaceConfig {
            is_ethernet,
            ethernet,
            vlan: self.vlan,
            addresses,
            mtu,
            transmit_checksum: capabilities.transmit_checksum,
            segmentation: capabilities.segmentation,
        })
    }
}
