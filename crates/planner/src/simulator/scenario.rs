//! [`Scenario`]: a stack under an organization, and its load, to be simulated.

use super::Arrivals;
use super::costs::Costs;
use super::machine::MAX_PROCESSORS;
use crate::{Error, Work};
use catalog::{Options, Simulated};

/// A stack under one organization, and its load.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The organization's name in [`catalog`].
    pub organization: String,
    /// Processors, 1 to 64.
    pub processors: usize,
    /// Connections (or flows), 1 to 1,000,000.
    pub connections: usize,
    /// The choices that the organization leaves open.
    pub options: Options,
    /// Queues of the device; 0: as many as there are processors.
    pub queues: usize,
    /// The most packets that a thread processes before it yields a virtual processor
    /// (Yates 3.3), and the most in a batch of message-parallel threads and engines.
    pub burst: usize,
    /// What connections do.
    pub work: Work,
    /// Bytes of payload of an operation, for costs by byte.
    pub bytes: usize,
    /// When operations come.
    pub arrivals: Arrivals,
    /// Time from an answer until the peer's next operation arrives, in closed loads, ns.
    pub peer_ns: f64,
    /// How connections are assigned to queues of the device, and to units.
    pub steering: Steering,
    /// The lengths of queues.
    pub limits: Limits,
    /// The number of connections that open anew for each operation: short-lived ones
    /// (Bohra 5.2). Their packets are of [`Class::Wait`].
    ///
    /// [`Class::Wait`]: scheduler::Class::Wait
    pub short_lived: usize,
    /// What things cost.
    pub costs: Costs,
    /// The seed: the same seed gives the same figures, to the last bit.
    pub seed: u64,
    /// The operations that are simulated, including the warm-up.
    pub operations: u64,
    /// The share of operations that is the warm-up, 0 to 0.9.
    pub warm_up: f64,
}

/// How connections are assigned to queues of the device, and to units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Steering {
    /// By a hash: some queues get more than others.
    #[default]
    Hash,
    /// Evenly.
    Even,
}

/// The lengths of queues, packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// A queue of the device; 0: without bound.
    pub device: usize,
    /// A mailbox.
    pub mailbox: usize,
    /// The packet queue of `engines`.
    pub packet_queue: usize,
    /// A socket's receive queue.
    pub receive_queue: usize,
    /// The queue up between two layers.
    pub up: usize,
    /// The queue down between two layers.
    pub down: usize,
    /// The queue from transport to presentation.
    pub presentation: usize,
    /// Shards of the table of connections that threads share.
    pub shards: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            device: 0,
            mailbox: 1024,
            packet_queue: 4096,
            receive_queue: 1024,
            up: 128,
            down: 64,
            presentation: 16,
            shards: 64,
        }
    }
}

/// The most operations of a run.
const MAX_OPERATIONS: u64 = 1_000_000_000;
/// The most operations under way in closed loads.
const MAX_UNDER_WAY: usize = 4_000_000;

impl Scenario {
    /// The same where all costs are `factor` times as high, which is limited to 0.001 to 1000.
    #[must_use]
    pub fn slower(&self, factor: f64) -> Scenario {
        let mut slower = self.clone();
        slower.costs.scale(factor);
        slower
    }

    /// An organization with its default choices. Each connection has one operation
    /// under way, and its peer answers at once. A run has 200,000 operations, of which
    /// a fifth is the warm-up.
    pub fn new(
        organization: &str,
        processors: usize,
        connections: usize,
        work: Work,
        costs: Costs,
    ) -> Scenario {
        Scenario {
            organization: organization.to_owned(),
            processors,
            connections,
            options: Options::default(),
            queues: 0,
            burst: 32,
            work,
            bytes: 64,
            arrivals: Arrivals::Closed { window: 1, think_ns: 0.0 },
            peer_ns: 0.0,
            steering: Steering::Hash,
            limits: Limits::default(),
            short_lived: 0,
            costs,
            seed: 1,
            operations: 200_000,
            warm_up: 0.2,
        }
    }

    /// What it is simulated as: an organization that is not in the catalog, as one
    /// thread.
    pub(crate) fn program(&self) -> Simulated {
        catalog::find(&self.organization).map_or(Simulated::Owned, |entry| entry.simulated)
    }

    /// Queues of the device.
    pub(crate) fn queues(&self) -> usize {
        if self.queues == 0 { self.processors } else { self.queues }
    }

    /// Checks that the scenario can be simulated.
    ///
    /// # Errors
    /// An [`Error`] of one line, with values that are possible.
    pub fn check(&self) -> Result<(), Error> {
        self.check_asked()?;
        self.costs.check()
    }

    /// Checks all but the costs, which may have to be found first.
    ///
    /// # Errors
    /// As [`check`](Scenario::check).
    pub fn check_asked(&self) -> Result<(), Error> {
        let asked = |message: String| Err(Error::Asked(message));
        let Some(entry) = catalog::find(&self.organization) else {
            let names: Vec<_> = catalog::CATALOG.iter().map(|entry| entry.name).collect();
            let names = names.join(", ");
            let name = &self.organization;
            return asked(format!("there is no organization {name:?}; there are {names}"));
        };
        if !(1..=MAX_PROCESSORS).contains(&self.processors) {
            let processors = self.processors;
            return asked(format!("{processors} processors: give 1 to {MAX_PROCESSORS}"));
        }
        if entry.single && self.processors > 1 {
            let name = entry.name;
            return asked(format!("{name} runs on one processor: give --processors 1"));
        }
        if !(1..=1_000_000).contains(&self.connections) {
            return asked(format!("{} connections: give 1 to 1000000", self.connections));
        }
        if self.short_lived > self.connections {
            return asked("more short-lived connections than connections: give fewer".into());
        }
        if let Arrivals::Closed { window, .. } = self.arrivals
            && self.connections.saturating_mul(window) > MAX_UNDER_WAY
        {
            return asked(format!(
                "{} connections with {window} operations under way each: give a smaller window, {MAX_UNDER_WAY} in all at most",
                self.connections
            ));
        }
        let needed = match entry.simulated {
            // Any thread takes from any queue.
            Simulated::MessageParallel => 1,
            _ => entry.queues_on(self.processors),
        };
        if self.queues() < needed || self.queues() > 1024 {
            let (queues, most) = (self.queues(), 1024);
            return asked(format!("{queues} queues of the device: give {needed} to {most}"));
        }
        self.check_numbers()?;
        self.arrivals.check()
    }

    fn check_numbers(&self) -> Result<(), Error> {
        let asked = |message: String| Err(Error::Asked(message));
        let Limits { device, mailbox, packet_queue, receive_queue, .. } = self.limits;
        let Limits { up, down, presentation, shards, .. } = self.limits;
        let lengths = [mailbox, packet_queue, receive_queue, up, down, presentation, shards];
        if lengths.contains(&0) || lengths.iter().chain([&device]).any(|&n| n > 1 << 20) {
            return asked("queues' lengths: give 1 to 1048576 packets".into());
        }
        if !(1..=4096).contains(&self.burst) {
            return asked(format!("bursts of {} packets: give 1 to 4096", self.burst));
        }
        if self.bytes > 1_000_000 {
            return asked(format!("{} bytes an operation: give 1000000 at most", self.bytes));
        }
        if !(0.0..=1e12).contains(&self.peer_ns) {
            return asked(format!("a peer that takes {} ns: give 0 to 1e12", self.peer_ns));
        }
        if !(0.0..=0.9).contains(&self.warm_up) {
            return asked(format!("{} of the run to warm up: give 0 to 0.9", self.warm_up));
        }
        if !(1..=MAX_OPERATIONS).contains(&self.operations) {
            let most = MAX_OPERATIONS;
            return asked(format!("{} operations: give 1 to {most}", self.operations));
        }
        let options = &self.options;
        for (name, value) in
            [("groups", options.groups), ("virtual-processors", options.virtual_processors)]
        {
            if !(1..=4096).contains(&value) {
                return asked(format!("--{name} {value}: give 1 to 4096"));
            }
        }
        let (least, most) = self.engines();
        if least > most || most > self.processors {
            let processors = self.processors;
            return asked(format!(
                "--engines {least} to {most} on {processors} processors: give 1 to {processors}"
            ));
        }
        Ok(())
    }

    /// The least and the most engines.
    pub(crate) fn engines(&self) -> (usize, usize) {
        let (least, most) = self.options.engines;
        let (least, most) = (usize::from(least), usize::from(most));
        let most = if most == 0 { least.max(self.processors) } else { most };
        (least.max(1), most)
    }
}
