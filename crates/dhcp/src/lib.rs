//! DHCP clients, sans-IO: one for IPv4 ([`v4::Client`], RFC 2131 and 2132), and one that asks
//! for names of IPv6 without an address ([`v6::Client`], RFC 8415 18.2.6).
//!
//! They know no socket and no clock. Whoever drives one gives it the payloads that come to its
//! port, tells it when the time that it named has come, sends what it has to send, and does
//! with its events what has to be done with addresses. All chance comes from a seed.
#![forbid(unsafe_code)]
#![warn(missing_debug_implementations)]

pub mod v4;
pub mod v6;

/// Why a payload was passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Ignored {
    /// It is cut short, or its fields make no sense.
    #[error("malformed")]
    Malformed,
    /// It belongs to another exchange, or to another client.
    #[error("of another exchange")]
    Foreign,
    /// It says something that does not fit what is going on.
    #[error("not expected now")]
    Unexpected,
    /// What it offers cannot be used.
    #[error("an offer that cannot be used")]
    Unusable,
}
