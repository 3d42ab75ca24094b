//! [`Error`]: what cannot be computed, and why.

/// What cannot be computed, and why: one line that names the cause and the mend.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// A file that makes no sense.
    #[error("{0}")]
    File(String),
    /// What is asked makes no sense.
    #[error("{0}")]
    Asked(String),
}
