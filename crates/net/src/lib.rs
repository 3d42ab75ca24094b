//! The layers as plain functions: link, IP, transport. No thread, no clock: an
//! organization decides who calls them, and with which state. Nor is there a lock in
//! what one unit owns; what units share (connections, neighbours, reassembly) comes in
//! types of its own, with the locks in them.
//!
//! Each layer has `input` (up) and `output` (down). What one exclusive
//! reference must reach is a [`Domain`]; how its connections are reached is the
//! trait [`Connections`].
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

/// `Debug` of state that is too large to be shown: the type's name.
macro_rules! opaque_debug {
    ([$($generics:tt)*] $type:ty, $name:literal) => {
        impl<$($generics)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct($name).finish_non_exhaustive()
            }
        }
    };
}

pub mod account;
pub mod application;
mod arriving;
pub mod claims;
pub mod config;
pub mod connections;
pub mod counters;
pub mod departures;
pub mod discovery;
pub mod domain;
pub mod down;
pub mod egress;
mod express;
pub mod fast_open;
pub mod groups;
#[cfg(test)]
mod harness;
pub mod hash;
pub mod ip;
pub mod link;
mod maybe_shared;
pub mod neighbourhood;
pub mod observe;
pub mod paths;
pub mod ports;
pub mod published;
pub mod rate_limit;
pub mod raw;
mod share;
mod solicited;
pub mod timer_wheel;
pub mod transport;
pub mod way;

pub use account::Account;
pub use application::{Application, Call, Datagram};
pub use claims::Claims;
pub use config::{Config, InterfaceConfig, OwnedPrefix, Unit};
pub use connections::{
    ClosedFlow, ConnId, Connection, Connections, OwnedTable, SharedRef, SharedTable,
};
pub use counters::{Counters, DropReason};
pub use departures::Departures;
pub use discovery::Discovery;
pub use domain::{Domain, HostShared};
pub use egress::{BACKLOG, Backlog, Blocked, Egress, Interfaces};
pub use fast_open::FastOpen;
pub use groups::Groups;
pub use neighbourhood::Neighbourhood;
pub use observe::{Layer, Observer};
pub use paths::Paths;
pub use published::Published;
pub use raw::{RawDatagram, RawKinds, RawTaken};
