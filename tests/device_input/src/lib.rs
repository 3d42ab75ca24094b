//! Bytes are decoded into frames, calls and the passing of time, which drive a domain.
//! For every input, the domain must not panic or spin. It must account for every packet,
//! keep to its limits, and send only well-formed frames.
//!
//! [`run()`] is what both the fuzz target and the property tests call; so are [`run_link`], for a link of
//! IPv6, [`leases::run`], for the clients of DHCP, and [`groups::run`], for joins and what routers say
//! of groups.
#![forbid(unsafe_code)]

mod app;
mod bytes;
mod check;
mod flows;
pub mod frames;
pub mod groups;
pub mod leases;
mod link;
mod run;
mod setup;
mod topic;
mod world;

pub use bytes::Bytes;
pub use link::run_link;
pub use run::{run_both_ways, run_topic};
pub use topic::Topic;
pub use world::{World, run};
