//! [`OnLink`]: the link that a link-local peer is on.

use crate::scope;
use net::Config;
use net::published::Seen;
use std::sync::Arc;
use wire::{Address, Endpoint};

/// One of the host's links, as a socket knows it that is connected to a peer there. What comes
/// from the peer comes to one of our addresses on that link, and these may change.
#[derive(Debug)]
pub(crate) struct OnLink {
    index: u16,
    config: Arc<Config>,
    newer: Seen<Config>,
}

impl OnLink {
    /// The link that `peer` is on, if its address is good on one only; `ours` is our end.
    pub(crate) fn of(config: &Arc<Config>, ours: Endpoint, peer: Endpoint) -> Option<OnLink> {
        let index = scope::link_of(config, ours, peer)?;
        Some(OnLink { index, config: config.clone(), newer: Seen::new(&config.host) })
    }

    /// `end` with this link in it.
    pub(crate) fn name(&self, end: Endpoint) -> Endpoint {
        scope::on_link(end, Some(self.index))
    }

    /// Is it the link of this number, if one is said?
    pub(super) fn may_be(&self, number: Option<u16>) -> bool {
        number.is_none_or(|number| number == self.index + 1)
    }

    /// May what is sent to `local` come by this link? Not if another interface has it or owns it;
    /// a group has no interface.
    pub(super) fn may_have(&mut self, local: Address) -> bool {
        if let Some(config) = self.newer.newer() {
            self.config = config;
        }
        self.config.interface_of(local).is_none_or(|index| index == self.index)
    }
}
