//! What stands before a measurement: the plan, the two hosts, the processors that threads
//! may run on, and the machine.

pub mod affinity;
pub mod bench_plan;
pub(crate) mod host;
pub mod machine;
