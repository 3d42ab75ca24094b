//! Bytes are decoded into frames, calls and the passing of time, which drive a domain.
//! For every input, the domain must not panic or spin. It must account for every packet,
//! keep to its limits, and send only well-formed frames.
//!
//! [`run`] and, for a link of IPv6, [`run_link`] are what the fuzz targets and the property
//! tests call.
#![forbid(unsafe_code)]

mod app;
mod bytes;
mod check;
mod flows;
pub mod frames;
mod link;
mod world;

pub use bytes::Bytes;
pub use link::run_link;
pub use world::{World, run};
