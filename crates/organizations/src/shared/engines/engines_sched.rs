//! `engines-sched`: Bohra and Iftode 2007, TCPS Sched. As `engines-early`, but the
//! receive queues fall into four classes in strict priority (forwarding,
//! control, ready, wait), and those of established sockets share the engines by
//! the weights of equations 1 to 3, by group-ratio round robin (figure 3). New
//! connections come below established ones. Of several engines, one serves all
//! classes and the others the ready class only.

use crate::shared::engines::early;
use crate::{Running, Setup, StartError};
use net::Application;
use scheduler::Classes;
use std::sync::Arc;

/// Starts it.
///
/// # Errors
/// [`StartError`].
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError> {
    early::start::<Classes, A>(setup, "engines-sched", Classes::default())
}
