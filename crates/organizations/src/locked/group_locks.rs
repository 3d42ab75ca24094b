//! `group-locks`: Willmann 2006, ConnP-L. Connections fall into groups by their
//! hash; each group is a domain behind a lock of its own, and any thread enters
//! any group. (The paper has 128 groups.)

use crate::{Running, Setup, StartError, locked};
use net::Application;
use std::sync::Arc;

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError> {
    let groups = setup.options.groups.max(1);
    locked::start_by_name(setup, "group-locks", groups)
}
