//! Patterns of bytes that a receiver can check.

/// A sequence of pseudo-random bytes (xorshift), the same for the same seed.
#[derive(Clone, Debug)]
pub struct Pattern {
    state: u64,
    word: [u8; 8],
    left: usize,
}

impl Pattern {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Pattern {
        Pattern { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, word: [0; 8], left: 0 }
    }

    fn word(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }

    fn byte(&mut self) -> u8 {
        if self.left == 0 {
            self.word = self.word().to_le_bytes();
            self.left = 8;
        }
        self.left -= 1;
        self.word[self.left]
    }

    /// Writes the next bytes.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        bytes.iter_mut().for_each(|b| *b = self.byte());
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = vec![0; len];
        self.fill(&mut bytes);
        bytes
    }

    /// A number below `n`, from the next bytes.
    pub fn below(&mut self, n: u64) -> u64 {
        self.word() % n
    }

    /// Checks that these are the next bytes.
    ///
    /// # Panics
    /// If they are not. The message gives the place; `at` is that of the first byte.
    pub fn check(&mut self, bytes: &[u8], at: usize) {
        for (i, b) in bytes.iter().enumerate() {
            let right = self.byte();
            assert!(*b == right, "byte {} is {b:#x}, not {right:#x}", at + i);
        }
    }
}
