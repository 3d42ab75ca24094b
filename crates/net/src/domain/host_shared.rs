//! What the units of a host have in common below the transport layer, where an
//! organization does not give each its own.

use super::Domain;
use crate::Config;
use crate::application::Application;
use crate::connections::Connections;
use crate::ip::Identifications;
use crate::link::SharedNeighbours;
use crate::rate_limit::RateLimit;
use std::sync::Arc;

/// A table of neighbours, the identifications of datagrams, and the limits of what
/// is answered. No segment of a connection whose neighbour is known touches them.
#[derive(Clone)]
pub struct Commons {
    neighbours: SharedNeighbours,
    identifications: Arc<Identifications>,
    resets: Arc<RateLimit>,
    errors: Arc<RateLimit>,
    echoes: Arc<RateLimit>,
}

impl Commons {
    /// Those of a host; no neighbour is known yet.
    pub fn new(config: &Config) -> Commons {
        let limit = || Arc::new(RateLimit::new(config, config.errors_per_second));
        Commons {
            neighbours: SharedNeighbours::new(config),
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
    pub fn sharing(mut self, commons: &Commons) -> Self {
        self.link.share(&commons.neighbours);
        self.ip.identifications = commons.identifications.clone();
        self.ip.errors = commons.errors.clone();
        self.ip.echoes = commons.echoes.clone();
        self.transport.resets = commons.resets.clone();
        self
    }
}
