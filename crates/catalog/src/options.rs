//! What organizations can be told, beside the number of processors.

use sync::LockKind;

/// The choices that an organization leaves open. Each takes those that its entry
/// in the catalog lists ([`crate::Entry::choices`]); the others are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Groups of connections.
    pub groups: u16,
    /// Virtual processors (Yates 2: from the number of processors to the number
    /// of connections).
    pub virtual_processors: u16,
    /// The least and the most packet processing engines; between them, their
    /// number follows the load. 0: as many as there are processors.
    pub engines: (u16, u16),
    /// The type of the locks that connections are processed under.
    pub lock: LockKind,
    /// Keep the order in which packets of a flow arrived, by tickets.
    pub order: bool,
    /// The most threads for connections; 0: as many as the system gives.
    pub max_threads: usize,
    /// Wire threads to processors, where the organization does not do so anyway.
    pub pin: bool,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            groups: 128,
            virtual_processors: 16,
            engines: (0, 0),
            lock: LockKind::default(),
            order: false,
            max_threads: 0,
            pin: false,
        }
    }
}

/// One of the choices in [`Options`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// [`Options::groups`].
    Groups,
    /// [`Options::virtual_processors`].
    VirtualProcessors,
    /// [`Options::engines`].
    Engines,
    /// [`Options::lock`].
    Lock,
    /// [`Options::order`].
    Order,
    /// [`Options::max_threads`].
    MaxThreads,
    /// [`Options::pin`].
    Pin,
}

impl Choice {
    /// Its name on the command line, without the dashes.
    pub const fn name(self) -> &'static str {
        match self {
            Choice::Groups => "groups",
            Choice::VirtualProcessors => "virtual-processors",
            Choice::Engines => "engines",
            Choice::Lock => "lock",
            Choice::Order => "order",
            Choice::MaxThreads => "max-threads",
            Choice::Pin => "pin",
        }
    }
}
