//! What a builder is told of addresses that are checked, and of those that come by themselves.

use super::Builder;
use net::discovery::{Dad, Link, Slaac, stable_key};
use net::{Config, InterfaceConfig};
use platform::RandomState;
use std::hash::BuildHasher;
use std::net::Ipv6Addr;
use wire::Address;

/// Where a machine has its name for itself (machine-id(5)).
const MACHINE_ID: &str = "/etc/machine-id";

impl Builder {
    /// How addresses of IPv6 on Ethernet are checked before they are used (RFC 4862 5.4): not
    /// at all, while they are used already, or before. Default: [`Dad::Optimistic`], so that a
    /// stack can do its work as soon as it has started, and not a second later. Whether another
    /// station has an address is told as an event ([`Host::watch`](crate::Host::watch)); it is
    /// taken away then. Bare IP devices (TUN) have no other stations, and check nothing.
    ///
    /// With [`Dad::Strict`] sockets can be bound to an address when it was checked
    /// ([`Host::wait_checked`](crate::Host::wait_checked)).
    pub fn dad(mut self, dad: Dad) -> Builder {
        self.dad = dad;
        self
    }

    /// The last device, which has Ethernet frames, gets addresses of IPv6, routers, networks,
    /// an MTU and servers of names by what routers say (RFC 4861, RFC 4862, RFC 8106). Its
    /// addresses are the same in each network whenever the stack starts, and tell nothing of
    /// the machine (RFC 7217). What comes and goes is told as events
    /// ([`Host::watch`](crate::Host::watch)). What routers say of DHCPv6 is told, too, and asked for
    /// by who wants it ([`Host::dhcp6_flags`](crate::Host::dhcp6_flags)). Default: addresses and routes by hand only.
    pub fn slaac(mut self) -> Builder {
        self.interface().slaac.get_or_insert(false);
        self
    }

    /// As [`Builder::slaac`], with temporary addresses beside, which are the sources of what
    /// goes out, and change each day (RFC 8981).
    pub fn temporary_addresses(mut self) -> Builder {
        self.interface().slaac = Some(true);
        self
    }

    /// What the stable addresses of [`Builder::slaac`] come from, beside the network and the
    /// name of the device: nobody else should know it. Default: `/etc/machine-id`; where that
    /// is not, chance, and other addresses at each start.
    pub fn stable_secret(mut self, secret: impl AsRef<[u8]>) -> Builder {
        self.stable_secret = Some(secret.as_ref().to_vec());
        self
    }
}

/// How the addresses of interfaces are checked and formed.
pub(super) struct Forming {
    dad: Dad,
    secret: Vec<u8>,
}

impl Forming {
    pub(super) fn new(dad: Dad, secret: Option<Vec<u8>>) -> Forming {
        let of_machine = || std::fs::read(MACHINE_ID).ok().filter(|id| id.len() >= 32);
        let chance = || {
            let draw = |n: u64| RandomState::new().hash_one(n).to_ne_bytes();
            [draw(1), draw(2)].concat()
        };
        Forming { dad, secret: secret.or_else(of_machine).unwrap_or_else(chance) }
    }

    /// Has the last interface of `config`, of a device with this name, take part.
    pub(super) fn begin(&self, config: &mut Config, name: &str, slaac: Option<bool>) {
        let index = config.interfaces.len() - 1;
        let interface = &mut config.interfaces[index];
        if !interface.is_ethernet {
            return;
        }
        let key = stable_key(&self.secret, name);
        let link = Link {
            ethernet: interface.ethernet,
            mtu: interface.mtu,
            dad: self.dad,
            slaac: slaac.map(|temporary| Slaac { key, temporary }),
            given: v6(interface).into_iter().map(|(address, _)| address).collect(),
        };
        let checked = match self.dad {
            Dad::Off => Vec::new(),
            Dad::Optimistic | Dad::Strict => v6(interface),
        };
        match self.dad {
            Dad::Off => {}
            Dad::Strict => interface.addresses.retain(|(address, _)| address.is_v4()),
            Dad::Optimistic => {
                config.optimistic.extend(checked.iter().map(|(a, _)| Address::from(*a)));
            }
        }
        let index = index as u16;
        config.discovery.begin(index, link);
        for (address, prefix) in checked {
            config.discovery.check(index, address, prefix);
        }
    }
}

/// The addresses of IPv6 of an interface.
fn v6(interface: &InterfaceConfig) -> Vec<(Ipv6Addr, u8)> {
    let ours = interface.addresses.iter();
    ours.filter_map(|(address, prefix)| Some((address.v6()?, *prefix))).collect()
}
