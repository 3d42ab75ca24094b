//! [`Entry`]: what is known of an organization.

use crate::Choice;

/// What the catalog says of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where it comes from.
    pub source: &'static str,
    /// Its unit of concurrency.
    pub unit: &'static str,
    /// How its connections are reached, and who holds them.
    pub family: Family,
    /// Does it run on one processor only? Others run on 1 to [`Entry::MOST`].
    pub single: bool,
    /// The queues that each of its devices needs.
    pub queues: Queues,
    /// The choices that it leaves open.
    pub choices: &'static [Choice],
    /// Do packets of a flow come to their connection in the order in which they
    /// arrived, on several processors, too, and without [`Choice::Order`]?
    pub keeps_order: bool,
    /// Is each connection bound to a processor, so that each is a queue of its own?
    pub bound: bool,
    /// What the planner simulates it as.
    pub simulated: Simulated,
    /// The locks that its threads wait for, in words; empty if there are none.
    pub locks: &'static str,
}

impl Entry {
    /// The most processors of a stack.
    pub const MOST: usize = 1024;

    /// The most processors that it runs on.
    pub const fn most_processors(&self) -> usize {
        if self.single { 1 } else { Entry::MOST }
    }

    /// The queues that each device needs on so many processors.
    pub const fn queues_on(&self, processors: usize) -> usize {
        match self.queues {
            Queues::Processor => processors,
            Queues::Pipeline => pipelines(processors),
        }
    }
}

/// How connections are reached, and who holds them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Threads own domains and the devices' queues.
    Owned,
    /// Locks stand round domains, and any thread enters.
    Locked,
    /// Threads own domains, and get their packets by mailbox.
    Mailbox,
    /// Connections stand in a shared table: any thread reaches them, and segments of
    /// one may leave in another order than they were made in.
    Shared,
    /// Threads own layers.
    Layered,
}

/// The queues that devices need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queues {
    /// One for each processor.
    Processor,
    /// One for each pipeline of layers' threads.
    Pipeline,
}

/// Layers of a pipeline, and so its threads.
const LAYERS: usize = 4;

/// How many pipelines of layers' threads there are on so many processors: one for
/// every four (Schmidt and Suda 1996, 4.3.2), and never less than one.
pub const fn pipelines(processors: usize) -> usize {
    if processors < LAYERS { 1 } else { processors / LAYERS }
}

/// The programs of the planner's simulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulated {
    /// Threads own domains.
    Owned,
    /// One lock.
    GlobalLock,
    /// A lock for each group.
    GroupLocks,
    /// A semaphore for each virtual processor.
    VirtualProcessors,
    /// A thread for each group.
    GroupThreads,
    /// A thread for each connection.
    ThreadPerConnection,
    /// Any thread takes any packet.
    MessageParallel,
    /// Engines with one packet queue.
    Engines,
    /// Engines with a receive queue for each socket, in turn.
    EnginesEarly,
    /// The same, by class and weight.
    EnginesSched,
    /// A thread for each layer.
    LayerParallel,
}
