//! The conformance suite: it checks what every parallel organization has to do, by the
//! public sockets of two stacks that are connected in memory.
//!
//! A case is a function of a [`Rig`]; [`suite!`] makes a test of each case for
//! each organization, on one and on two processors. Both hosts have addresses of both
//! families; a test program is of one of them ([`family`]). No case depends on the speed of
//! the machine. Cases wait for events, and a watchdog ([`within`]) turns a hang into a
//! failure.
#![forbid(unsafe_code)]

pub mod cases;
pub mod family;
mod macros;
mod pattern;
mod rig;
pub mod transfer;
mod watchdog;

pub use family::{CLIENT, SERVER, client, neighbour, server};
pub use pattern::Pattern;
pub use rig::{Link, Pair, Rig, buffers, conserved, express};
pub use watchdog::{until, until_probed, within};
