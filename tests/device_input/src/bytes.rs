//! [`Bytes`]: choices taken from bytes.

/// The rest of the input; zeros when it is used up.
#[derive(Clone, Copy, Debug)]
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    /// All of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Bytes<'a> {
        Bytes(bytes)
    }

    /// True if the input is used up.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A number of 8 bits.
    pub fn u8(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// A number of 16 bits.
    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes([self.u8(), self.u8()])
    }

    /// A number of 32 bits.
    pub fn u32(&mut self) -> u32 {
        u32::from(self.u16()) << 16 | u32::from(self.u16())
    }

    /// A number below `n`.
    pub fn below(&mut self, n: u8) -> u8 {
        self.u8() % n
    }

    /// The next `n` bytes, or fewer if the input ends.
    pub fn take(&mut self, n: usize) -> &'a [u8] {
        let (front, rest) = self.0.split_at(n.min(self.0.len()));
        self.0 = rest;
        front
    }

    /// A deviation from the expected value: mostly 0, else small, else any.
    pub fn near(&mut self) -> u32 {
        match self.u8() {
            0..=127 => 0,
            128..=159 => 1,
            160..=191 => u32::MAX,
            192..=223 => self.u16().into(),
            224..=239 => u32::from(self.u16()).wrapping_neg(),
            _ => self.u32(),
        }
    }
}
