//! Identifications of datagrams (RFC 791 3.1), in a sequence for each destination,
//! so that none sees how many go to another (RFC 7739 5.3), nor guesses those of
//! fragments to it.

use crate::config::{Config, Unit};
use crate::hash::{Keyed, Purpose};
use platform::atomic::{AtomicU64, Ordering};
use std::hash::BuildHasher;
use std::sync::OnceLock;
use wire::Address;

/// Sequences. Destinations that share one take turns, and begin anew at each.
const SEQUENCES: usize = 1024;

/// The sequences of a host, or of one of its units.
///
/// A sequence of IPv4 is a word: the destination that used it last in the upper half, then
/// where that one's numbers begin, then how many the sequence has given. One of IPv6, whose
/// numbers have 32 bits, is how many it has given: where they begin is computed for each, since
/// only fragments have any.
pub(crate) struct Identifications {
    hasher: Keyed,
    multiplier: u64,
    /// Units take numbers that are their index modulo how many they are, so that
    /// two never use the same (RFC 6864 4.1).
    index: u16,
    step: u16,
    is_shared: bool,
    /// Of IPv4. Made at the first use.
    sequences: Sequences,
    /// Of IPv6.
    sequences_v6: Sequences,
}

type Sequences = OnceLock<Box<[AtomicU64]>>;

impl Identifications {
    /// Those of one unit.
    pub(crate) fn new(config: &Config, unit: Unit) -> Identifications {
        let hasher = Keyed::new(config, Purpose::Identifications);
        Identifications {
            hasher,
            multiplier: hasher.hash_one(0u64) | 1,
            index: unit.index,
            step: unit.count,
            is_shared: false,
            sequences: OnceLock::new(),
            sequences_v6: OnceLock::new(),
        }
    }

    /// Those of all units of a host.
    pub(crate) fn shared(config: &Config) -> Identifications {
        Identifications { is_shared: true, ..Identifications::new(config, Unit::ONLY) }
    }

    /// The sequence of what goes to `destination`.
    #[inline]
    fn sequence<'a>(&self, sequences: &'a Sequences, destination: Address) -> &'a AtomicU64 {
        let sequences =
            sequences.get_or_init(|| (0..SEQUENCES).map(|_| AtomicU64::new(0)).collect());
        let [high, low] = destination.words();
        let mixed = (low ^ high.rotate_left(29)).wrapping_mul(self.multiplier);
        &sequences[(mixed >> 32) as usize % SEQUENCES]
    }

    /// The next identification of fragments of IPv6 to `destination`.
    pub(crate) fn next_v6(&self, destination: Address) -> u32 {
        // RFC 8200 4.5/7
        let given = self.advance(self.sequence(&self.sequences_v6, destination));
        let [high, low] = destination.words();
        let nth = (self.hasher.hash_one((high, low)) as u32).wrapping_add(given as u32);
        u32::from(self.index).wrapping_add(u32::from(self.step).wrapping_mul(nth))
    }

    /// The next identification of a datagram of IPv4 to `destination`.
    #[inline]
    pub(crate) fn next(&self, destination: Address) -> u16 {
        let sequence = self.sequence(&self.sequences, destination);
        let name = destination.words()[1] as u32;
        let word = self.advance(sequence);
        let word = match (word >> 32) as u32 == name {
            true => word as u32,
            false => self.take_over(sequence, name, destination),
        };
        let nth = ((word >> 16) as u16).wrapping_add(word as u16);
        self.index.wrapping_add(self.step.wrapping_mul(nth))
    }

    /// Counts one, and returns the sequence as it was before.
    #[inline]
    fn advance(&self, sequence: &AtomicU64) -> u64 {
        if self.is_shared {
            return sequence.fetch_add(1, Ordering::Relaxed);
        }
        let word = sequence.load(Ordering::Relaxed);
        sequence.store(word.wrapping_add(1), Ordering::Relaxed);
        word
    }

    /// The sequence goes on for another destination, from where its numbers begin.
    #[cold]
    fn take_over(&self, sequence: &AtomicU64, name: u32, destination: Address) -> u32 {
        let [high, low] = destination.words();
        let begin = self.hasher.hash_one((high, low)) as u16;
        let mut taken = 0;
        let next = |word: u64| {
            // Another thread may have been faster.
            taken = match (word >> 32) as u32 == name {
                true => word as u32,
                false => u32::from(begin) << 16 | u32::from(word as u16),
            };
            Some(u64::from(name) << 32 | u64::from(taken.wrapping_add(1)))
        };
        let _ = sequence.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        taken
    }
}

#[cfg(test)]
mod tests;
