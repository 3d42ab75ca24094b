//! `processor-per-connection`: Yates 1996, section 2 (PPC), and today's
//! shared-nothing stacks. Each processor has a thread wired to it that owns a
//! domain and a queue of each device; the device's steering and the domains'
//! choice of ports bring a connection's packets to the processor that has it.
//! A packet passes no lock.

use crate::runtime::check::check;
use crate::{Running, Setup, StartError, owned};
use net::Application;
use std::sync::Arc;

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(
    mut setup: Setup<A>,
) -> Result<Arc<dyn Running<A>>, StartError> {
    check(&setup, "processor-per-connection")?;
    setup.options.pin = true;
    owned::start(setup)
}
