//! What the units of a host have in common below the transport layer, where an
//! organization does not give each its own.

use super::Domain;
use crate::Config;
use crate::application::Application;
use crate::connections::Connections;
use crate::link::SharedNeighbours;
use platform::atomic::AtomicU16;
use std::sync::Arc;

/// A table of neighbours, and the identifications of datagrams that we fragment.
/// Neither is touched by a packet whose neighbour is known, and which fits.
#[derive(Clone)]
pub struct Commons {
    neighbours: SharedNeighbours,
    identifications: Arc<AtomicU16>,
}

impl Commons {
    /// Those of a host; no neighbour is known yet.
    pub fn new(config: &Config) -> Commons {
        let neighbours = SharedNeighbours::new(config);
        Commons { neighbours, identifications: Arc::default() }
    }
}

impl<A: Application, C: Connections<A::Connection>> Domain<A, C> {
    /// Has these in common with other domains from now on. Then ARP frames need to
    /// come to one of them only, the one with index 0.
    #[must_use]
    pub fn sharing(mut self, commons: &Commons) -> Self {
        self.link.share(&commons.neighbours);
        self.ip.share(&commons.identifications);
        self
    }
}
