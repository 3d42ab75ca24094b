//! What organizations can be told, beside the number of processors.

use std::time::Duration;
use sync::LockKind;

/// The choices that an organization leaves open. Each takes those that its entry
/// in the catalog lists ([`crate::Entry::choices`]); the others are ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    /// For how long a thread that owns its connections (`uniprocessor`, `processor-per-connection`) looks on before it
    /// sleeps. What comes meanwhile does not wait for a processor to wake.
    pub busy_poll: Duration,
    /// If it is told no such time: it looks on for at most 100 microseconds, as long as that pays (its last pauses were nearly
    /// all shorter) and there is a processor more than such threads.
    pub short_poll: bool,
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
            busy_poll: Duration::ZERO,
            short_poll: false,
        }
    }
}

/// `with_…` for each option.
macro_rules! setters {
    ($($with:ident $field:ident: $of:ty,)*) => {
        impl Options {
            $(#[doc = concat!("With another [`Options::", stringify!($field), "`].")]
            #[must_use]
            pub fn $with(mut self, $field: $of) -> Options {
                self.$field = $field;
                self
            })*
        }
    };
}

setters! {
    with_groups groups: u16,
    with_virtual_processors virtual_processors: u16,
    with_engines engines: (u16, u16),
    with_lock lock: LockKind,
    with_order order: bool,
    with_max_threads max_threads: usize,
    with_pin pin: bool,
    with_busy_poll busy_poll: Duration,
    with_short_poll short_poll: bool,
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
    /// [`Options::busy_poll`].
    BusyPoll,
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
            Choice::BusyPoll => "busy-poll",
        }
    }
}
