//! Networks that are on the link (RFC 4861 6.3.4).

use super::Change;
use super::table::{MAX_NETWORKS, Network, Table, after, longest_silent};
use std::net::Ipv6Addr;
use wire::ndp::Prefix;
use wire::{Address, Instant};

impl Table {
    /// A router tells of a network.
    pub(super) fn prefix(&mut self, interface: u16, prefix: &Prefix, now: Instant) {
        // RFC 4862 5.5.3/1
        let mask = u128::MAX.checked_shl(128 - u32::from(prefix.bits)).unwrap_or(0);
        let network = Ipv6Addr::from_bits(prefix.network.to_bits() & mask);
        let segment = network.segments()[0];
        let is_v4 = Address::from(network).is_v4();
        //= RFC 4861 6.3.4: the link-local prefix is ignored; so is what no host of IPv6 is in
        if segment & 0xffc0 == 0xfe80 || segment >> 8 == 0xff || prefix.bits == 0 || is_v4 {
            return;
        }
        let prefix = Prefix { network, ..*prefix };
        if prefix.on_link {
            self.on_link(interface, &prefix, now);
        }
        if prefix.autonomous {
            self.autonomous(interface, &prefix, now);
        }
    }

    fn on_link(&mut self, interface: u16, prefix: &Prefix, now: Instant) {
        // RFC 4861 6.3.4/3
        let Some(state) = self.state(interface) else { return };
        let (network, bits, until) = (prefix.network, prefix.bits, after(now, prefix.valid));
        let same = |known: &Network| known.network == network && known.bits == bits;
        match state.networks.iter().position(same) {
            Some(at) if prefix.valid == 0 => {
                state.networks.swap_remove(at);
                self.changes.push(Change::OnLink(interface, network, bits, false));
            }
            Some(at) => state.networks[at] = Network { network, bits, until, heard: now },
            None if prefix.valid == 0 => {}
            None => {
                let mut gone = None;
                if state.networks.len() >= MAX_NETWORKS {
                    let heard = state.networks.iter().map(|network| network.heard);
                    let Some(at) = longest_silent(heard, now) else {
                        return self.turned_away.networks += 1;
                    };
                    gone = Some(state.networks.swap_remove(at));
                }
                state.networks.push(Network { network, bits, until, heard: now });
                let gone =
                    gone.map(|gone| Change::OnLink(interface, gone.network, gone.bits, false));
                self.changes.extend(gone);
                self.changes.push(Change::OnLink(interface, network, bits, true));
            }
        }
    }

    /// Forgets networks whose time is over.
    pub(super) fn due_networks(&mut self, now: Instant) {
        for state in &mut self.states {
            for gone in state.networks.iter().filter(|network| network.until <= now) {
                self.changes.push(Change::OnLink(state.index, gone.network, gone.bits, false));
            }
            state.networks.retain(|network| network.until > now);
        }
    }
}
