//! `virtual-processors`: Yates 1996, VPPC. Connections fall by their hash to
//! virtual processors, from as many as there are processors to as many as there
//! are connections. A virtual processor is a unit of concurrency and not a
//! thread: all that its connections need is replicated in it (a domain), and a
//! semaphore lets one thread at a time run there (3.1). That may be a thread
//! that brings packets up, which floats over the system's processors unless
//! wired, or one of the application that is borrowed for its own call.
//!
//! A thread brings a burst of packets up or down, then yields the virtual
//! processor, so that others can run on it: timers, borrowed threads (3.3). Its
//! connections have their turns round robin, by the domain's ready list. A burst
//! is `Config::burst` packets, 1 to 64. A thread that came for something else takes a
//! few such stays, so that it does not wake the virtual processor's own thread for
//! what it can do itself; then it tells that thread.

use crate::{Running, Setup, StartError, locked};
use net::Application;
use std::sync::Arc;
use sync::counted::Counted;
use sync::semaphore::BinarySemaphore;

/// Starts it.
///
/// # Errors
/// [`StartError`]; with fewer virtual processors than processors, too.
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError> {
    let (processors, virtual_processors) = (setup.processors, setup.options.virtual_processors);
    if usize::from(virtual_processors) < processors || virtual_processors == 0 {
        return Err(StartError::VirtualProcessors { virtual_processors, processors });
    }
    let burst = setup.config.burst;
    let name = "virtual-processors";
    if setup.instruments.is_some() {
        let semaphore = Counted::<BinarySemaphore>::default;
        locked::start(setup, name, virtual_processors, burst, semaphore)
    } else {
        locked::start(setup, name, virtual_processors, burst, BinarySemaphore::default)
    }
}
