//! The client for IPv4 (RFC 2131, RFC 2132).

mod lease;
mod machine;
mod message;

pub use lease::Lease;
pub use machine::{Client, Config, Event, Lost, State, Transmit};
pub use message::{Kind, Message, Options, Route};

/// The client's port.
pub const CLIENT_PORT: u16 = 68;
/// The server's port.
pub const SERVER_PORT: u16 = 67;
