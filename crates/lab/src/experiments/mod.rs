//! Experiments that are more than one load: transfers beside short-lived connections, a
//! socket that is flooded, everything at once over a bad link, connections at rest.

pub mod blocks;
pub mod hog;
pub mod http;
pub mod idle;
pub mod soak;
