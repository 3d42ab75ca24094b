//! How long addresses are good that were given by hand for a while, of both families.

use super::Change;
use super::table::{Lifetimes, Limited, Table};
use std::net::IpAddr;
use wire::Instant;

/// The most addresses that were given for a while.
pub const MAX_LIMITED: usize = 4096;

impl Limited {
    pub(super) fn due(&self) -> Instant {
        let Lifetimes { preferred, valid } = self.lifetimes;
        if self.deprecated { valid } else { preferred.min(valid) }
    }
}

impl Table {
    /// Bounds an address, or frees it. False if there are too many.
    pub(super) fn limit(
        &mut self,
        address: IpAddr,
        lifetimes: Option<Lifetimes>,
        now: Instant,
    ) -> bool {
        let was_old = self.unlimit(address);
        let deprecated = was_old && lifetimes.is_some_and(|until| until.preferred <= now);
        if was_old && !deprecated {
            self.changes.push(Change::Old(address, false));
        }
        let Some(lifetimes) = lifetimes else { return true };
        if self.limited.len() >= MAX_LIMITED {
            self.turned_away.addresses += 1;
            return false;
        }
        self.limited.push(Limited { address, lifetimes, deprecated });
        true
    }

    /// Nothing ends the address any more. Was it deprecated for its age?
    pub(super) fn unlimit(&mut self, address: IpAddr) -> bool {
        let at = self.limited.iter().position(|limited| limited.address == address);
        at.is_some_and(|at| self.limited.swap_remove(at).deprecated)
    }

    /// Until when an address is good, whoever has said so; `None`: for good.
    pub(super) fn lifetimes(&self, address: IpAddr) -> Option<Lifetimes> {
        let by_hand = self.limited.iter().find(|limited| limited.address == address);
        let formed = self.states.iter().flat_map(|state| &state.formed);
        let formed = formed.into_iter().find(|formed| IpAddr::V6(formed.address) == address);
        by_hand.map(|limited| limited.lifetimes).or_else(|| {
            formed.map(|formed| Lifetimes { preferred: formed.preferred, valid: formed.valid })
        })
    }

    /// Lets them grow old.
    pub(super) fn due_limited(&mut self, now: Instant) {
        let mut over = Vec::new();
        let Table { limited, changes, .. } = self;
        limited.retain_mut(|limited| {
            if limited.lifetimes.valid <= now {
                changes.push(Change::Over(limited.address));
                over.push(limited.address);
                return false;
            }
            let deprecated = limited.lifetimes.preferred <= now;
            if deprecated != limited.deprecated {
                limited.deprecated = deprecated;
                changes.push(Change::Old(limited.address, deprecated));
            }
            true
        });
        for address in over {
            if let IpAddr::V6(address) = address {
                self.forget(address);
            }
        }
    }
}
