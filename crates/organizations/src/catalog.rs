//! The names of the organizations, and what starts them.

use crate::options::Choice;
use crate::{Running, Setup, StartError};
use net::Application;
use std::sync::Arc;

/// What the catalog says of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its unit of concurrency.
    pub unit: &'static str,
    /// Does it run on one processor only?
    pub single: bool,
    /// The choices that it leaves open.
    pub choices: &'static [Choice],
}

macro_rules! catalog {
    ($($(#[$meta:meta])* $($module:ident)::+, $name:literal ($source:literal, $unit:literal, $single:literal) [$($choice:ident)*];)*) => {
        /// All organizations.
        pub const CATALOG: &[Entry] = &[
            $($(#[$meta])* Entry {
                name: $name,
                source: $source,
                unit: $unit,
                single: $single,
                choices: &[$(Choice::$choice),*],
            },)*
        ];

        /// Starts the organization called `name`.
        ///
        /// # Errors
        /// [`StartError`]; `None` if there is no such organization.
        #[allow(clippy::type_complexity)]
        pub fn start<A: Application + 'static>(
            name: &str,
            setup: Setup<A>,
        ) -> Option<Result<Arc<dyn Running<A>>, StartError>> {
            match name {
                $($(#[$meta])* $name => Some(crate::$($module)::+::start(setup)),)*
                _ => None,
            }
        }
    };
}

catalog! {
    owned::uniprocessor, "uniprocessor" ("every paper's baseline", "the stack", true) [Pin];
    locked::global_lock, "global-lock" ("the default SMP kernel of old", "the stack", false) [Lock Pin];
    shared::message_parallel, "message-parallel" ("Schmidt 1996, Message Parallelism; Willmann 2006, MsgP", "the packet", false) [Order Lock Pin];
    locked::group_locks, "group-locks" ("Willmann 2006, ConnP-L", "a group of connections", false) [Groups Lock Pin];
    mailbox::group_threads, "group-threads" ("Willmann 2006, ConnP-T", "a group of connections", false) [Groups Pin];
    mailbox::thread_per_connection, "thread-per-connection" ("Schmidt 1996, CP; Yates 1996, TPC", "the connection", false) [MaxThreads Pin];
    locked::virtual_processors, "virtual-processors" ("Yates 1996, VPPC", "the virtual processor", false) [VirtualProcessors Pin];
    owned::processor_per_connection, "processor-per-connection" ("Yates 1996, PPC", "the processor", false) [];
    shared::engines, "engines" ("Bohra and Iftode 2007, TCPServers", "dedicated engines", false) [Engines Lock Pin];
    shared::engines::engines_early, "engines-early" ("Bohra and Iftode 2007, TCPS Early", "the socket", false) [Engines Lock Pin];
    shared::engines::engines_sched, "engines-sched" ("Bohra and Iftode 2007, TCPS Sched", "the socket", false) [Engines Lock Pin];
    layered, "layer-parallel" ("Schmidt and Suda 1996", "the layer", false) [Pin];
    // The worked example of docs/organizations.md.
    #[cfg(any(test, thirteenth))]
    locked::combining, "combining" ("Hendler et al. 2010, flat combining", "the stack", false) [Pin];
}

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOG.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests;
