//! [`Trouble`]: why the laboratory cannot do what it is asked for.

/// Why, in one line that names the cause and the mend.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// What is asked for makes no sense; nothing has begun.
    #[error("{0}")]
    Refused(String),
    /// A folder of results cannot be read or written.
    #[error("{0}")]
    Folder(String),
}
