//! The stations that a host's neighbours have: what is known of them, and what is given by hand.

use super::held::{Held, error};
use super::{Neighbour, NeighbourState};
use std::io;
use std::net::IpAddr;
use wire::{Address, EthernetAddress};

/// The most neighbours whose stations are given by hand.
pub const MAX_STATIONS: usize = 1024;

impl Held {
    pub(super) fn neighbours(&self) -> Vec<Neighbour> {
        let (config, now) = (self.current(), self.now());
        let neighbour = |interface: u16, address: Address, ethernet, state| Neighbour {
            interface: interface.into(),
            address: address.ip(),
            ethernet,
            state,
        };
        let by_hand = config.stations.iter().map(|(interface, address, ethernet)| {
            neighbour(*interface, *address, *ethernet, NeighbourState::Given)
        });
        let is_given = |interface, address| {
            config.stations.iter().any(|(i, a, _)| (*i, *a) == (interface, address))
        };
        let learnt = config.neighbourhood.all();
        let learnt = learnt.into_iter().filter(|((i, a), _)| !is_given(*i, *a));
        let learnt = learnt.map(|((interface, address), learnt)| {
            let state = match now < learnt.trusted_until {
                true => NeighbourState::Reachable,
                false => NeighbourState::Stale,
            };
            neighbour(interface, address, learnt.ethernet, state)
        });
        by_hand.chain(learnt).collect()
    }

    pub(super) fn set_neighbour(
        &self,
        interface: usize,
        address: IpAddr,
        ethernet: EthernetAddress,
    ) -> io::Result<()> {
        let invalid = |text| error(io::ErrorKind::InvalidInput, text);
        if !ethernet.is_station() {
            return Err(invalid(format!("{ethernet} is not the address of one station")));
        }
        self.change(|config| {
            let of = config.interfaces[..self.count()].get(interface);
            let Some(of) = of.filter(|of| of.is_ethernet) else {
                let text = format!("there is no interface {interface} with Ethernet frames");
                return Err(invalid(text));
            };
            let wanted = Address::from(address);
            if !wanted.is_unicast() || of.addresses.iter().any(|(ours, _)| *ours == wanted) {
                return Err(invalid(format!("{address} is no neighbour's address")));
            }
            let index = interface as u16;
            let key = |(i, a, _): &(u16, Address, EthernetAddress)| (*i, *a);
            match config.stations.binary_search_by_key(&(index, wanted), key) {
                Ok(at) => config.stations[at].2 = ethernet,
                Err(_) if config.stations.len() >= MAX_STATIONS => {
                    let text = format!("a host has {MAX_STATIONS} such neighbours at most");
                    return Err(error(io::ErrorKind::QuotaExceeded, text));
                }
                Err(at) => config.stations.insert(at, (index, wanted, ethernet)),
            }
            Ok(Vec::new())
        })
    }

    pub(super) fn forget_neighbour(&self, interface: usize, address: IpAddr) -> io::Result<()> {
        let index = u16::try_from(interface).unwrap_or(u16::MAX);
        let wanted = Address::from(address);
        self.change(|config| {
            let before = config.stations.len();
            config.stations.retain(|(i, a, _)| (*i, *a) != (index, wanted));
            let learnt = config.neighbourhood.forget(Some((index, wanted)));
            match config.stations.len() < before || learnt > 0 {
                true => Ok(Vec::new()),
                false => {
                    let text = format!("{address} is not a known neighbour");
                    Err(error(io::ErrorKind::NotFound, text))
                }
            }
        })
    }

    pub(super) fn forget_neighbours(&self) {
        // Nothing of it is refused.
        let _ = self.change(|config| {
            config.neighbourhood.forget(None);
            Ok(Vec::new())
        });
    }
}
