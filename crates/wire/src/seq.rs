//! TCP sequence numbers (RFC 9293 3.4): 32 bits, compared modulo 2^32.

use std::ops::{Add, AddAssign, Sub};

/// A sequence number. There is no `<`: order is a question with two answers
/// half the circle apart, so it is asked by [`Seq::before`] and its kin.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Seq(pub u32);

impl Seq {
    /// Is `self` before `other`, at most 2^31 away? (At just 2^31, each of two
    /// is before the other.)
    #[inline]
    pub const fn before(self, other: Seq) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }
    /// Is `self` `other`, or before it?
    #[inline]
    pub const fn before_or_at(self, other: Seq) -> bool {
        (self.0.wrapping_sub(other.0) as i32) <= 0
    }
    /// Is `self` after `other`?
    #[inline]
    pub const fn after(self, other: Seq) -> bool {
        other.before(self)
    }
    /// Is `self` `other`, or after it?
    #[inline]
    pub const fn after_or_at(self, other: Seq) -> bool {
        other.before_or_at(self)
    }
    /// How far `self` is after `earlier`, modulo 2^32.
    #[inline]
    pub const fn distance_from(self, earlier: Seq) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
    /// Is `start <= self < start + len`?
    #[inline]
    pub const fn within(self, start: Seq, len: u32) -> bool {
        self.distance_from(start) < len
    }
    /// The later of two that are less than 2^31 apart.
    #[inline]
    pub const fn latest(self, other: Seq) -> Seq {
        if self.before(other) { other } else { self }
    }
    /// The earlier of two that are less than 2^31 apart.
    #[inline]
    pub const fn earliest(self, other: Seq) -> Seq {
        if self.before(other) { self } else { other }
    }
}

impl Add<u32> for Seq {
    type Output = Seq;
    #[inline]
    fn add(self, n: u32) -> Seq {
        Seq(self.0.wrapping_add(n))
    }
}
impl AddAssign<u32> for Seq {
    #[inline]
    fn add_assign(&mut self, n: u32) {
        *self = *self + n;
    }
}
impl Sub<u32> for Seq {
    type Output = Seq;
    #[inline]
    fn sub(self, n: u32) -> Seq {
        Seq(self.0.wrapping_sub(n))
    }
}
impl std::fmt::Debug for Seq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(test)]
mod tests;
