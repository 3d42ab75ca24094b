//! Bytes of a stream that both ends can tell from its name.

/// The bytes of one direction of one connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pattern(u64);

impl Pattern {
    /// The stream of connection `id`, up (to the server) or down.
    pub(crate) fn new(id: u64, up: bool) -> Pattern {
        Pattern(mix(id.wrapping_mul(2).wrapping_add(u64::from(up))))
    }

    /// The eight bytes from `8 * index` on.
    fn word(self, index: u64) -> [u8; 8] {
        mix(self.0.wrapping_add(index.wrapping_mul(0x9e37_79b9_7f4a_7c15))).to_le_bytes()
    }

    /// Writes the bytes from `at` on.
    pub(crate) fn fill(self, at: u64, bytes: &mut [u8]) {
        let (mut at, mut bytes) = (at, bytes);
        while !bytes.is_empty() {
            let word = self.word(at / 8);
            let from = &word[(at % 8) as usize..];
            let n = from.len().min(bytes.len());
            bytes[..n].copy_from_slice(&from[..n]);
            (at, bytes) = (at + n as u64, &mut bytes[n..]);
        }
    }

    /// Are these the bytes from `at` on?
    pub(crate) fn is(self, at: u64, bytes: &[u8]) -> bool {
        let (mut at, mut bytes) = (at, bytes);
        while !bytes.is_empty() {
            let word = self.word(at / 8);
            let from = &word[(at % 8) as usize..];
            let n = from.len().min(bytes.len());
            if bytes[..n] != from[..n] {
                return false;
            }
            (at, bytes) = (at + n as u64, &bytes[n..]);
        }
        true
    }
}

/// The mixing step of SplitMix64 (Steele, Lea and Flood 2014).
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
