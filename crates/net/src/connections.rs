//! The seam: how a connection is reached. With an owned table the exclusive
//! reference to the table is the exclusion; a shared table locks. Protocol code
//! is written once, against [`Connections`].

mod owned;

pub use owned::OwnedTable;

use tcp::Tcb;
use wire::{FlowKey, Instant};

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

/// A connection: TCP's part, and what those round it keep with it.
pub struct Connection<U> {
    /// Its name.
    pub id: ConnId,
    /// Its two ends.
    pub flow: FlowKey,
    /// TCP's part.
    pub tcb: Tcb,
    /// What the application keeps for it.
    pub user: U,
    /// It stands in a ready list.
    pub scheduled: bool,
    /// The port came from the allocator and has to go back there.
    pub port_allocated: bool,
    /// The entry of the timer wheel that counts: one that comes at any other
    /// time was left behind by an earlier deadline.
    pub timer: Option<Instant>,
}

/// The table holds as many connections as it may.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// No more connections fit.
    TableFull,
    /// There is one with this flow already.
    Exists,
}

/// How connections are reached, whoever has them.
pub trait Connections<U> {
    /// Runs `f` on the connection with this flow, with exclusive access to it.
    fn with_flow<R>(
        &mut self,
        flow: &FlowKey,
        f: impl FnOnce(&mut Connection<U>) -> R,
    ) -> Option<R>;

    /// Runs `f` on the connection with this name, with exclusive access to it.
    fn with_id<R>(&mut self, id: ConnId, f: impl FnOnce(&mut Connection<U>) -> R) -> Option<R>;

    /// Adds a connection.
    ///
    /// # Errors
    /// If there is one with this flow, or no room; `tcb` and `user` come back.
    fn open(&mut self, flow: FlowKey, tcb: Tcb, user: U) -> Result<ConnId, (OpenError, U)>;

    /// Takes a connection out.
    fn close(&mut self, id: ConnId) -> Option<Box<Connection<U>>>;

    /// The names of all: for shutting down, and for statistics.
    fn ids(&self) -> Vec<ConnId>;

    /// How many there are.
    fn len(&self) -> usize;

    /// Is there none?
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
