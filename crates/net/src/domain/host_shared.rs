//! What the units of a host have in common below the transport layer, where an
//! organization does not give each its own.

use super::Domain;
use crate::Config;
use crate::application::Application;
use crate::connections::Connections;
use crate::ip::Identifications;
use crate::link::Neighbours;
use crate::maybe_shared::Shared;
use crate::rate_limit::RateLimit;
use std::sync::Arc;

/// A table of neighbours, the identifications of datagrams, and the limits of what
/// is answered. No segment of a connection whose neighbour is known touches them.
#[derive(Clone)]
pub struct HostShared {
    neighbours: Shared<Neighbours>,
    identifications: Arc<Identifications>,
    resets: Arc<RateLimit>,
    errors: Arc<RateLimit>,
    echoes: Arc<RateLimit>,
}

opaque_debug!([] HostShared, "HostShared");

impl HostShared {
    /// Those of a host; no neighbour is known yet.
    pub fn new(config: &Config) -> HostShared {
        let limit = || Arc::new(RateLimit::new(config, config.errors_per_second));
        HostShared {
            neighbours: Shared::new(Neighbours::new(config)),
            identifications: Arc::new(Identifications::shared(config)),
            resets: limit(),
            errors: limit(),
            echoes: limit(),
        }
    }
}

impl<A: Application, C: Connections<A::Connection>> Domain<A, C> {
    /// Has these in common with other domains from now on. Then ARP frames need to
    /// come to one of them only, the one with index 0.
    #[must_use]
    pub fn sharing(mut self, host_shared: &HostShared) -> Self {
        self.link.share(&host_shared.neighbours);
        self.ip.identifications = host_shared.identifications.clone();
        self.ip.errors = host_shared.errors.clone();
        self.ip.echoes = host_shared.echoes.clone();
        self.transport.resets = host_shared.resets.clone();
        self
    }
}
