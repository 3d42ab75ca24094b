//! The parallel organizations: what they are called, what is known of each, and what
//! can be chosen.
//!
//! Each is one row of [`for_each_organization!`]. All that treats every organization
//! alike is made from these rows: the table of what starts them, the conformance
//! suites, the schedules of whole stacks, the planner's programs. This crate knows
//! neither devices nor protocols, so that the planner does not, either.
#![forbid(unsafe_code)]

mod entry;
mod options;
mod rows;

pub use entry::{Entry, Family, Queues, Simulated, pipelines};
pub use options::{Choice, Options};

macro_rules! entries {
    ($($name:ident [$($module:tt)*] { $($test:ident $processors:literal)* } { $($fact:tt)* })*) => {
        /// All organizations, the simple ones first.
        pub const CATALOG: &[Entry] = &[$(Entry { $($fact)* }),*];
    };
}
for_each_organization!(entries);

/// The entry called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    CATALOG.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod tests;
