//! `global-lock`: as in early SMP kernels. One lock guards the one domain; any thread
//! that has a packet or a call takes it.

use crate::{Running, Setup, StartError, locked};
use net::Application;
use std::sync::Arc;

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError> {
    locked::start_by_name(setup, "global-lock", 1)
}
