//! [`Way`]: the name of how frames go to one host.

/// The way that a flow took last: a name that no other way ever has, on any host.
#[derive(Clone, Copy, Debug, Default)]
pub struct Way(pub(crate) u64);
