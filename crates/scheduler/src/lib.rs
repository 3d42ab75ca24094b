//! Which receive queue an engine serves next (Bohra and Iftode 2007, 3.3): plain
//! values without lock, thread or clock, so that engines and simulations run the
//! same code.
//!
//! | file | |
//! |---|---|
//! | [`weights`] | how urgent a socket is: equations 1 to 3 |
//! | [`group_ratio`] | proportional shares by these weights: equation 4, figure 3 |
//! | [`classes`] | the four classes of packets in strict priority |
//! | [`precedence`] | established sockets before new connections |
//! | [`round_robin`] | every socket in turn, for `engines-early` |
//! | [`lists`] | the lists that sockets are in |
//!
//! Sockets are known by an index, [`Key`]; tables are as long as the largest.
#![forbid(unsafe_code)]

pub mod classes;
pub mod group_ratio;
pub mod lists;
pub mod precedence;
pub mod round_robin;
pub mod weights;

pub use classes::Classes;
pub use group_ratio::GroupRatio;
pub use precedence::Precedence;
pub use round_robin::RoundRobin;

/// The index of a socket (of its receive queue). Small numbers: tables have an
/// entry for each up to the largest.
pub type Key = u32;

/// The classes of receive queues, in descending priority (3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Packets to forward.
    Forwarding,
    /// Control protocols, and connections that end: what they hold is soon free.
    Control,
    /// Established sockets with packets pending.
    Ready,
    /// All the rest: new connections, below established ones.
    Wait,
}

impl Class {
    /// All of them, in descending priority.
    pub const ALL: [Class; 4] = [Class::Forwarding, Class::Control, Class::Ready, Class::Wait];
}

/// Which classes an engine serves. Of several engines one serves all and the
/// others the ready class only (3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serves {
    /// All four.
    All,
    /// All but [`Class::Wait`]: what comes before it has not had its turn yet.
    Pressing,
    /// Only [`Class::Wait`], where classes are told apart: what comes before it
    /// has had its turns for long enough.
    New,
    /// Only [`Class::Ready`].
    ReadyOnly,
}

/// What puts the sockets that have packets into an order.
///
/// A socket is absent, waiting or running. [`enqueue`](Discipline::enqueue)
/// makes it wait; [`choose`](Discipline::choose) makes it run, and while it runs
/// nobody else gets it; then [`requeue`](Discipline::requeue) or
/// [`leave`](Discipline::leave) says whether it has packets left. It is waiting
/// or running at most once, whatever is called when; calls that do not fit a
/// socket's state do nothing.
pub trait Discipline: Send {
    /// Do weights count?
    const WEIGHS: bool;

    /// A packet has come for a socket: it waits, in this class and with this
    /// weight (0 counts as 1). If it waits already, it changes class and weight.
    /// If it runs, it changes them when it has run, and then does not leave:
    /// [`leave`](Discipline::leave) may not have known of the packet.
    fn enqueue(&mut self, key: Key, class: Class, weight: u32);

    /// Changes the weight of a socket that waits or runs, where weights count.
    fn reweigh(&mut self, key: Key, weight: u32);

    /// Chooses the socket to serve next, for about a packet, and its class: it
    /// runs from now on.
    fn choose(&mut self, serves: Serves) -> Option<(Key, Class)>;

    /// A socket has run, and has packets left: it waits again.
    fn requeue(&mut self, key: Key);

    /// A socket has run, and has no packets left: it is absent, unless it was
    /// enqueued while it ran.
    fn leave(&mut self, key: Key);

    /// A socket is gone, in whatever state it was. If it runs, its index must
    /// not be used for another until it has run.
    fn remove(&mut self, key: Key);

    /// How many sockets wait.
    fn len(&self) -> usize;

    /// Does none wait?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The entry of `key`, in a table that grows to hold it.
fn entry<T: Clone + Default>(table: &mut Vec<T>, key: Key) -> &mut T {
    let index = key as usize;
    if index >= table.len() {
        table.resize(index + 1, T::default());
    }
    &mut table[index]
}

#[cfg(test)]
mod tests;
