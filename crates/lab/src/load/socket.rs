//! [`Socket`]: the name of a flow of UDP.

use wire::Endpoint;

/// Names a flow at one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Socket {
    /// Its index.
    pub flow: u32,
    /// What it is bound to.
    pub local: Endpoint,
}
