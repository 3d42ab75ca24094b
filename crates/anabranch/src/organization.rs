//! [`Organization`]: how a stack is spread over processors, and what each leaves
//! open.
//!
//! | name | the unit of concurrency | where the exclusive access comes from |
//! |---|---|---|
//! | `uniprocessor` | the stack | one thread owns the domain |
//! | `global-lock` | the stack | one lock round the domain, any thread enters |
//! | `message-parallel` | the packet | a lock for each connection in a shared table |
//! | `group-locks` | a group of connections | a lock for each of 128 domains, any thread enters |
//! | `group-threads` | a group of connections | a thread owns each of 128 domains |
//! | `thread-per-connection` | the connection | a thread owns each connection |
//! | `virtual-processors` | the virtual processor | a semaphore for each of 16 domains |
//! | `processor-per-connection` | the processor | a pinned thread owns each domain, with a device queue of its own |
//! | `engines` | dedicated engines | a lock for each connection, behind one packet queue |
//! | `engines-early` | the socket | a receive queue for each socket, turns round robin |
//! | `engines-sched` | the socket | the same, turns by class and weight |
//! | `layer-parallel` | the layer | link, IP, transport and presentation in a thread each |
//!
//! `docs/organizations.md` in the repository describes each at length.

pub use organizations::{Choice, Options};
pub use sync::LockKind;
pub use sync::by_name::NoSuchLock;

use organizations::{CATALOG, Entry};
use std::fmt;
use std::str::FromStr;

/// A parallel organization. [`Builder::organization`](crate::Builder::organization)
/// takes it, or its name.
///
/// ```
/// use anabranch::organization::Organization;
///
/// // The name is looked at when this is compiled.
/// const OURS: Organization = Organization::named("group-locks");
/// assert_eq!(OURS, Organization::GROUP_LOCKS);
/// assert_eq!("group-locks".parse(), Ok(OURS));
/// for organization in Organization::all() {
///     println!("{organization}: {} ({})", organization.unit(), organization.source());
/// }
/// ```
#[derive(Clone, Copy)]
pub struct Organization(&'static Entry);

macro_rules! constants {
    ($($constant:ident $name:literal,)*) => {
        impl Organization {
            $(#[doc = concat!("`", $name, "`.")]
            pub const $constant: Organization = Organization::named($name);)*
        }
    };
}

constants! {
    UNIPROCESSOR "uniprocessor",
    GLOBAL_LOCK "global-lock",
    MESSAGE_PARALLEL "message-parallel",
    GROUP_LOCKS "group-locks",
    GROUP_THREADS "group-threads",
    THREAD_PER_CONNECTION "thread-per-connection",
    VIRTUAL_PROCESSORS "virtual-processors",
    PROCESSOR_PER_CONNECTION "processor-per-connection",
    ENGINES "engines",
    ENGINES_EARLY "engines-early",
    ENGINES_SCHED "engines-sched",
    LAYER_PARALLEL "layer-parallel",
}

impl Organization {
    /// The organization of this name. In a constant, a name that there is not is an
    /// error of the compiler.
    ///
    /// # Panics
    /// If there is none; [`Organization::from_str`] returns an error.
    pub const fn named(name: &str) -> Organization {
        let mut i = 0;
        while i < CATALOG.len() {
            if equal(CATALOG[i].name.as_bytes(), name.as_bytes()) {
                return Organization(&CATALOG[i]);
            }
            i += 1;
        }
        panic!("there is no organization of this name");
    }

    /// All of them, in the order of the catalog.
    pub fn all() -> impl ExactSizeIterator<Item = Organization> + Clone {
        CATALOG.iter().map(Organization)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// The paper that it comes from.
    pub const fn source(self) -> &'static str {
        self.0.source
    }

    /// Its unit of concurrency.
    pub const fn unit(self) -> &'static str {
        self.0.unit
    }

    /// The queues that each device needs on so many processors, as far as it runs on them.
    pub(crate) fn queues_on(self, processors: usize) -> usize {
        self.0.queues_on(processors.clamp(1, self.0.most_processors()))
    }

    /// Does it run on one processor only?
    pub const fn is_single(self) -> bool {
        self.0.single
    }

    /// The options that mean something to it; it ignores the others.
    pub const fn choices(self) -> &'static [Choice] {
        self.0.choices
    }
}

const fn equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

impl Default for Organization {
    /// `uniprocessor`.
    fn default() -> Organization {
        Organization::UNIPROCESSOR
    }
}

impl PartialEq for Organization {
    fn eq(&self, other: &Organization) -> bool {
        self.name() == other.name()
    }
}
impl Eq for Organization {}

impl std::hash::Hash for Organization {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.name().hash(state);
    }
}

impl fmt::Display for Organization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Organization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Organization({})", self.name())
    }
}

/// There is no organization of that name.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no organization {0:?}: choose one of {names}", names = names())]
pub struct NoSuchOrganization(pub String);

crate::sentence::debug_is_display!(NoSuchOrganization);

fn names() -> String {
    Organization::all().map(Organization::name).collect::<Vec<_>>().join(", ")
}

impl FromStr for Organization {
    type Err = NoSuchOrganization;
    fn from_str(name: &str) -> Result<Organization, NoSuchOrganization> {
        let found = Organization::all().find(|o| o.name() == name);
        found.ok_or_else(|| NoSuchOrganization(name.into()))
    }
}

macro_rules! from_text {
    ($($text:ty),*) => {
        $(impl TryFrom<$text> for Organization {
            type Error = NoSuchOrganization;
            fn try_from(name: $text) -> Result<Organization, NoSuchOrganization> {
                name.parse()
            }
        })*
    };
}
from_text! { &str, &String, String }

#[cfg(test)]
mod tests;
