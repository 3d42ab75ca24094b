//! The keyed hash of the tables, and the keys that come from a host's secret.

mod sip;

use crate::config::Config;
pub use sip::SipWords;
use siphasher::sip::SipHasher24;
use std::hash::{BuildHasher, Hash, Hasher};

/// What a key is for. Each purpose has a key of its own, and none tells anything
/// about another: all are outputs of SipHash-2-4 under the host's secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Tables keyed by flows and addresses.
    Tables,
    /// Initial sequence numbers and timestamp offsets (RFC 6528).
    SequenceNumbers,
    /// The order of ephemeral ports (RFC 6056).
    Ports,
    /// Identifications of IP datagrams (RFC 7739).
    Identifications,
    /// Limits of answers by source.
    Limits,
    /// SYN cookies.
    Cookies,
    /// Flow labels of IPv6 (RFC 6437).
    FlowLabels,
    /// Chance in what is asked of a link, and in temporary addresses.
    Discovery,
    /// Cookies of Fast Open (RFC 7413).
    FastOpen,
}

impl Config {
    /// The key for `purpose`.
    pub fn key(&self, purpose: Purpose) -> [u64; 2] {
        [0, 1].map(|half| {
            let mut hasher = SipHasher24::new_with_keys(self.secret[0], self.secret[1]);
            hasher.write(b"anabranch key");
            hasher.write_u8(purpose as u8);
            hasher.write_u8(half);
            hasher.finish()
        })
    }
}

/// A builder of SipHash-1-3 hashers with this key.
#[derive(Clone, Copy)]
pub struct Keyed(pub [u64; 2]);

impl Keyed {
    /// A builder with the key of `config` for `purpose`.
    pub fn new(config: &Config, purpose: Purpose) -> Keyed {
        Keyed(config.key(purpose))
    }
}

impl std::fmt::Debug for Keyed {
    /// Without the key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Keyed").finish_non_exhaustive()
    }
}

impl BuildHasher for Keyed {
    type Hasher = SipWords;
    #[inline]
    fn build_hasher(&self) -> SipWords {
        SipWords::new(self.0)
    }
    /// Inlined wherever it is called: it is on the way of every segment.
    #[inline(always)]
    #[expect(clippy::manual_hash_one, reason = "this is it")]
    fn hash_one<T: Hash>(&self, value: T) -> u64 {
        let mut hasher = self.build_hasher();
        value.hash(&mut hasher);
        hasher.finish()
    }
}

#[cfg(test)]
mod tests;
