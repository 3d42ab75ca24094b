//! [`Ways`]: the routes of a stack, for those who ask for one again and again.

use net::Config;
use net::ip::{Route, Routes};
use std::sync::Arc;
use wire::Endpoint;

/// The routes of a configuration.
#[derive(Debug)]
pub(crate) struct Ways {
    config: Arc<Config>,
    routes: Routes,
}

impl Ways {
    /// The way from one end to another, by those that are known if `config` is still theirs.
    pub(crate) fn route(
        known: &mut Option<Ways>,
        config: Arc<Config>,
        (local, remote): (Endpoint, Endpoint),
    ) -> Option<Route> {
        let same = known.take().filter(|ways| Arc::ptr_eq(&ways.config, &config));
        let ways = known.insert(same.unwrap_or_else(|| {
            let routes = Routes::new(&config);
            Ways { config, routes }
        }));
        ways.routes.lookup_from(local.address, remote.address)
    }
}
