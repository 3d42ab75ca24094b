//! What each thread, lock and queue of a running stack does, and what it costs.
//!
//! Give [`Instruments`] to [`Builder::instruments`](crate::Builder::instruments), take
//! a [`Snapshot`] before and one after what is to be measured, and
//! [`Snapshot::since`] is the [`Report`].

pub use instrument::{
    Counted, Instruments, Layer, LayerTime, LockReport, Percentiles, QueueReport, Report, Snapshot,
    ThreadReport,
};
