//! Experiments: loads on the stack under each organization, measured against
//! what one core can do at all with the same payload.
//!
//! A [`BenchPlan`] says what to measure; [`run()`] measures and gives a [`Row`] for
//! each organization. Nothing is printed here.
//!
//! Two hosts stand back to back in memory. The *stack under test* opens the
//! connections; which of the two sends is the plan's [`Direction`]. Loads
//! ([`load`]) live inside the domains, where the connections are, and touch the
//! payload as an application would: they write from a buffer of their own,
//! which copies into packets, and read into one of their own, which copies out.
//!
//! | room | what one does there |
//! |---|---|
//! | `setup` | says what is measured, and prepares both hosts |
//! | [`load`] | gives the connections something to do |
//! | `measure` | takes samples: [`run`], [`case`], [`bound`] |
//! | `experiments` | [`blocks`], [`hog`], [`http`], [`soak`], [`idle`] |
//! | [`calibrate`] | measures what the planner computes with |
//! | [`notebook`] | reads experiment files, runs them, keeps results, judges claims |
//! | [`validate`] | compares what the planner says with the stack |
#![forbid(unsafe_code)]

pub mod calibrate;
mod experiments;
pub mod load;
mod measure;
pub mod notebook;
mod random;
mod setup;
mod statistics;
pub mod validate;

pub use experiments::{blocks, hog, http, idle, soak};
pub use measure::counted::counted;
pub use measure::detail::{Detail, SampleDetail};
pub use measure::row::Row;
pub use measure::run::{Progress, quick, run};
pub use measure::{bound, busy, cacheline_latency, case, speed, usage};
pub use setup::bench_plan::{BenchPlan, Direction, Family, Peer};
pub use setup::bench_plan::{Presentation, ReceiveBuffers, Workload};
pub use setup::{affinity, machine};
pub use statistics::{Spread, median};

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
