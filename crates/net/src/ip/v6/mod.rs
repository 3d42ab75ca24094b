//! IPv6 (RFC 8200): the fixed header and the extension headers up, the fixed header and
//! fragments down, and its ICMP.

pub(super) mod icmp;
mod input;
mod output;

pub(super) use input::input;
pub(super) use output::output;

#[cfg(test)]
mod tests;
