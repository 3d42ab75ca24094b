//! `engines-early`: Bohra and Iftode 2007, TCPS Early. The event handler of an
//! engine demultiplexes each packet into the receive queue of its socket, and
//! drops it there if the queue is full, before any work was done for it; sockets
//! with packets have their turns round robin.

use crate::shared::engines::early;
use crate::{Running, Setup, StartError};
use net::Application;
use scheduler::RoundRobin;
use std::sync::Arc;

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError> {
    early::start::<RoundRobin, A>(setup, "engines-early", RoundRobin::default())
}
