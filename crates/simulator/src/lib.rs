//! Many hosts that run the stack itself, and the links between them, in virtual time.
//!
//! A [`Network`] has hosts, each a [`net::Domain`] with an application, and [links](Link)
//! with a rate, a queue, a delay, and what else goes wrong on the way. Nothing in it reads a
//! clock or asks the system for chance: all follows from one seed, and a run is the same
//! each time, frame by frame ([`Network::trace`]).
//!
//! [`Transfers`] is an application that sends known bytes, and looks at each that comes.
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

mod link;
mod network;
mod pattern;
mod transfers;

pub use link::{Counts, Link, LinkConfig};
pub use network::{HostId, LinkId, Network};
pub use transfers::{Connection, Job, Outcome, Transfers};

/// Jain's index of fairness: 1 if all shares are alike, 1/n if one has all (Jain, Chiu and
/// Hawe 1984). 1 for no shares.
pub fn jain(shares: &[f64]) -> f64 {
    let (sum, squares) =
        shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    if squares == 0.0 { 1.0 } else { sum * sum / (shares.len() as f64 * squares) }
}

#[cfg(test)]
mod tests;
