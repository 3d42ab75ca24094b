//! The express way: plain segments of established connections, in and out, past the
//! layers.
//!
//! Nearly all frames differ from others to or from the same host in the same few
//! fields. On the way in, [`Plain::read`] looks at the headers of all layers at once: it
//! compares what has to be as usual, verifies both sums, and leaves the flow and the
//! segment's header. On the way out, the headers below TCP are those of the last frame
//! to the same host but for a length and a sum; TCP's are written and summed in one go.
//! What is not as usual takes the way through the layers, which remain the reference:
//! the same frames bring a host to the same state by either way, with the same answers
//! and counters ([`Config::express`](crate::Config::express) turns this way off).

mod addresses;
mod departure;
mod ethernet;
mod fields;
mod input;
mod look;
mod output;
mod syn;

pub(crate) use departure::Frame;
pub(crate) use input::Plain;
pub(crate) use look::Look;
pub(crate) use output::{Departures, Pattern, is_plain};

/// The big-endian word at `at`.
#[inline(always)]
fn word<const N: usize>(bytes: &[u8; N], at: usize) -> u32 {
    let bytes = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
    u32::from_be_bytes(bytes)
}

/// Bytes of a TCP header without options.
const TCP: usize = 20;
/// Bytes of one with timestamps.
const TCP_TIMESTAMPS: usize = 32;
/// The first word of the timestamps option as all write it (RFC 7323 appendix A).
const TIMESTAMPS: u32 = 0x0101_080a;

#[cfg(test)]
mod tests;
