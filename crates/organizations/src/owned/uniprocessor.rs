//! `uniprocessor`: the baseline of every paper. One thread owns the one domain;
//! no lock, no hand-off.

use crate::{Running, Setup, StartError, owned};
use net::Application;
use std::sync::Arc;

/// Starts it.
///
/// # Errors
/// [`StartError`]; on more than one processor, too.
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    if setup.processors != 1 {
        return Err(StartError::Processors {
            organization: "uniprocessor",
            allowed: "1",
            processors: setup.processors,
        });
    }
    let pin = setup.options.pin;
    owned::start(setup, pin)
}
