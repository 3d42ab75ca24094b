//! `processor-per-connection`: Yates 1996, section 2 (PPC), and today's
//! shared-nothing stacks. Each processor has a thread wired to it that owns a
//! domain and a queue of each device; the device's steering and the domains'
//! choice of ports bring a connection's packets to the processor that has it.
//! A packet passes no lock.

use crate::{Running, Setup, StartError, owned};
use net::Application;
use std::sync::Arc;

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    if setup.processors == 0 || setup.processors > 1024 {
        return Err(StartError::Processors {
            organization: "processor-per-connection",
            allowed: "1 to 1024",
            processors: setup.processors,
        });
    }
    owned::start(setup, true)
}
