//! Dedicated packet processing engines (Bohra and Iftode 2007, "TCPServers"):
//! threads that do nothing but take packets from devices and process them, apart
//! from those of the application. Connections stand in a shared table; an
//! application's thread is borrowed for its own calls, in a context of its own.
//!
//! | organization | between the event handler and protocol processing |
//! |---|---|
//! | [`engines`](start) | one packet queue, and the table, each under one lock |
//! | [`engines-early`](engines_early) | a receive queue for each socket, served in turn |
//! | [`engines-sched`](engines_sched) | the same, served by class and by weight |
//!
//! With early demultiplexing, the packet filter finds the connection's *name*. The
//! slot's number is the receive queue's, so that a packet that came for an earlier
//! connection in the slot is merely processed in the wrong turn. A socket's turn holds
//! the name (`SharedRef::hold`), and protocol code reaches the connection without
//! asking the table. Sockets that a slot drains take nothing from anyone, and have
//! their turns together, in one visit of the context: worth a factor of 2.5 in `bench
//! blocks`. New connections come after established ones; those include packets that
//! are still in the devices (an engine looks again before it serves new ones) and
//! packets that turns of other engines bring (those are counted). What new connections
//! have nevertheless is a share of *time* (`scheduler::Precedence`).
//!
//! An engine polls as long as packets come, and sleeps until the next one when
//! none do (2). How many engines there are follows the load ([`autoscaler`]): a
//! queue of a device is always one engine's, and when their number changes it
//! goes, with the packets in it, from one to the next.

pub mod autoscaler;
pub(crate) mod demultiplexer;
pub(crate) mod early;
pub(crate) mod engine;
pub mod engines_early;
pub mod engines_sched;
mod packet_queue;
pub(crate) mod queue_pool;
pub(crate) mod receive_queue;

pub use packet_queue::start;
