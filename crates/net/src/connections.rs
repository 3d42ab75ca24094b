//! The seam: how a connection is reached. With an owned table the exclusive
//! reference to the table is the exclusion; a shared table locks. Protocol code
//! is written once, against [`Connections`].

mod armed;
mod closed_flows;
mod owned;
mod shared;
mod time_wait;

pub(crate) use armed::{Armed, MOST};
pub use closed_flows::ClosedFlow;
pub use owned::OwnedTable;
pub use shared::{SharedRef, SharedTable};

use crate::account::Counted;
use crate::departures::Hold;
use crate::way::Way;
use std::ops::Range;
use tcp::Tcb;
use tcp::time_wait::TimeWait;
use wire::{Endpoint, FlowKey, Instant};

/// Names a connection for as long as it lives, and never another one after.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ConnId {
    /// The unit whose table it is in.
    pub unit: u16,
    /// Its place there.
    pub slot: u32,
    /// How often the place was used before.
    pub generation: u32,
}

/// A connection: TCP's part, and what the other layers keep with it.
// The order is that of the memory, as in `Tcb`: what plain segments touch lies in the middle.
#[repr(C)]
pub struct Connection<U> {
    /// What it sends waits for what was sent before.
    pub(crate) hold: Hold,
    /// Its entries in the timer wheel.
    pub(crate) timers: Armed,
    /// Its name.
    pub id: ConnId,
    /// It stands in a ready list.
    pub scheduled: bool,
    /// It stands among those that wait for room at their interface.
    pub(crate) waits_for_room: bool,
    /// The port came from the allocator and has to go back there.
    pub port_allocated: bool,
    /// How its last frame left.
    pub(crate) way: Way,
    /// What it counts for.
    pub(crate) counted: Counted,
    /// Its two ends.
    pub flow: FlowKey,
    /// What the application keeps for it.
    pub user: U,
    /// TCP's part.
    pub tcb: Tcb,
}

impl<U> Connection<U> {
    /// The bytes of it that a plain segment touches.
    pub(crate) const HOT: Range<usize> = std::mem::offset_of!(Self, id) - size_of::<Instant>()
        ..std::mem::offset_of!(Self, tcb) + Tcb::HOT;
}

impl<U> std::fmt::Debug for Connection<U> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = self.tcb.state();
        f.debug_struct("Connection")
            .field("id", &self.id)
            .field("flow", &self.flow)
            .field("state", &state)
            .finish_non_exhaustive()
    }
}

/// Why a table does not take a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The table holds as many connections as it may.
    TableFull,
    /// There is one with this flow already.
    Exists,
}

/// How connections are reached; and what is left of those that have ended: flows in
/// TIME-WAIT, and the ports of active opens.
pub trait Connections<U> {
    /// Do several contexts reach them, each with a reference of its own?
    const SHARED: bool = false;

    /// Runs `f` on the connection with this flow, with exclusive access to it.
    fn with_flow<R>(
        &mut self,
        flow: &FlowKey,
        f: impl FnOnce(&mut Connection<U>) -> R,
    ) -> Option<R>;

    /// Runs `f` on the connection with this name, with exclusive access to it.
    fn with_id<R>(&mut self, id: ConnId, f: impl FnOnce(&mut Connection<U>) -> R) -> Option<R>;

    /// Asks the memory for the connections with these flows, which will be looked for soon.
    /// Nothing that could be seen changes.
    fn ask_for(&mut self, flows: &[FlowKey]);

    /// A frame is taken, so one more of the connections that were asked for is needed soon.
    fn go_on(&mut self);

    /// Asks the memory for connections that are served one after the other, once before each:
    /// `ahead` says who comes after so many others. Nothing that could be seen changes.
    fn look_along(&self, ahead: impl Fn(usize) -> Option<ConnId>);

    /// The same for connections of which only the timers are looked at, most likely.
    fn look_along_timers(&self, ahead: impl Fn(usize) -> Option<ConnId>);

    /// Adds a connection, with what `make` returns, after `begin`: both are called only if
    /// there is room, and what they make is moved as little as it can be. In a shared table,
    /// where another thread may add one with this flow meanwhile, they are called first.
    ///
    /// # Errors
    /// If there is one with this flow, or no room; `user` comes back.
    fn open_with(
        &mut self,
        flow: FlowKey,
        user: U,
        make: impl FnOnce() -> Tcb,
        begin: impl FnOnce(&mut Connection<U>),
    ) -> Result<ConnId, (OpenError, U)>;

    /// Adds a connection with this `tcb`.
    ///
    /// # Errors
    /// As [`Connections::open_with`].
    fn open(&mut self, flow: FlowKey, tcb: Tcb, user: U) -> Result<ConnId, (OpenError, U)> {
        self.open_with(flow, user, || tcb, |_| ())
    }

    /// Takes a connection out. If it waits in TIME-WAIT, its flow is known to
    /// [`Connections::with_time_wait`] from the same moment on; else a port that
    /// came from [`Connections::allocate_port`] is free again.
    fn close(&mut self, id: ConnId, now: Instant) -> Option<Box<Connection<U>>>;

    /// Runs `f` on what is left of the connection with this flow in TIME-WAIT.
    fn with_time_wait<R>(
        &mut self,
        flow: &FlowKey,
        f: impl FnOnce(&mut TimeWait) -> R,
    ) -> Option<R>;

    /// Ends TIME-WAIT of this flow.
    fn forget_time_wait(&mut self, flow: &FlowKey);

    /// Ends TIME-WAIT of the flows whose time is over, or that are too many.
    fn expire_time_wait(&mut self, now: Instant);

    /// When [`Connections::expire_time_wait`] has something to do.
    fn next_expiry(&self) -> Option<Instant>;

    /// How many flows are in TIME-WAIT.
    fn time_wait_len(&self) -> usize;

    /// A local port that is not in use towards `remote` and that `fits`; `None` if
    /// there is none.
    fn allocate_port(&mut self, remote: Endpoint, fits: impl FnMut(u16) -> bool) -> Option<u16>;

    /// Gives back a port that came from [`Connections::allocate_port`] but was not used.
    fn release_port(&mut self, remote: Endpoint, port: u16);

    /// The names of all: for shutting down, and for statistics.
    fn ids(&self) -> Vec<ConnId>;

    /// How many there are.
    fn len(&self) -> usize;

    /// Is there none?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests;
