//! Experiments: loads on the stack under each organization, measured against
//! what one core can do at all with the same payload.
//!
//! A [`Plan`] says what to measure; [`run()`] measures and gives a [`Row`] for
//! each organization. Nothing is printed here.
//!
//! Two hosts stand back to back in memory. The *stack under test* opens the
//! connections; which of the two sends is the plan's [`Direction`]. Loads
//! ([`load`]) live inside the domains, where the connections are, and touch the
//! payload as an application would: they write from a buffer of their own,
//! which copies into packets, and read into one of their own, which copies out.
#![forbid(unsafe_code)]

pub mod apart;
pub mod blocks;
pub mod bound;
pub mod calibrate;
pub mod case;
pub mod confine;
mod detail;
pub mod hog;
mod host;
pub mod idle;
pub mod load;
pub mod plan;
mod row;
mod run;
mod single;
pub mod soak;
pub mod speed;
mod threads;
pub mod usage;
pub mod validate;

pub use detail::{Detail, SampleDetail, Spread};
pub use plan::{Direction, Peer, Plan, Presentation, ReceiveBuffers, Workload};
pub use row::Row;
pub use run::{Progress, quick, run};

/// Why an experiment gave no figures.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The plan makes no sense.
    #[error("{0}")]
    Plan(String),
    /// An organization could not be started.
    #[error(transparent)]
    Start(#[from] organizations::StartError),
    /// A connection failed, or ended before its time, or data came out wrong.
    #[error("{organization}, {workload}: {what}")]
    Load {
        /// The organization under test.
        organization: String,
        /// The workload.
        workload: &'static str,
        /// What happened.
        what: String,
    },
    /// The system gives no more of something.
    #[error("{0}")]
    System(#[from] std::io::Error),
}
