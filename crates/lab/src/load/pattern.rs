//! The bytes that loads send: what stands where in a stream is known, so that
//! the other end can look.

use std::sync::Arc;

/// The pattern repeats after this many bytes: a prime, so that a stream that
/// has lost or doubled whole segments does not fit.
pub(crate) const PERIOD: usize = 32749;

/// The bytes of a stream from any place of the period on, as many as the longest
/// write.
#[derive(Clone)]
pub(crate) struct Pattern(Arc<[u8]>);

impl Pattern {
    /// For writes of at most `longest` bytes.
    pub(crate) fn new(longest: usize) -> Pattern {
        let byte = |n: usize| (n % PERIOD).wrapping_mul(2_654_435_761) >> 11;
        Pattern((0..PERIOD + longest).map(|n| byte(n) as u8).collect())
    }

    /// The bytes from place `at` of the period on.
    #[inline]
    pub(crate) fn from(&self, at: u32, len: usize) -> &[u8] {
        let at = at as usize;
        &self.0[at..at + len]
    }

    /// Does what came from place `at` on begin as it must? Looks at the first
    /// bytes, to cost nothing.
    #[inline]
    pub(crate) fn fits(&self, at: u32, came: &[u8]) -> bool {
        match (came.first_chunk::<8>(), self.from(at, came.len().min(8)).first_chunk()) {
            (Some(came), Some(right)) => came == right,
            _ => came == self.from(at, came.len()),
        }
    }
}

/// The place `n` bytes after `at`.
#[inline]
pub(crate) fn after(at: u32, n: usize) -> u32 {
    let place = at as usize + n;
    if place < PERIOD { place as u32 } else { (place % PERIOD) as u32 }
}
