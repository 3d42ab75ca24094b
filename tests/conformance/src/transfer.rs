//! Data over any stream, of a stack or of the kernel, that the receiver can check.

use crate::Pattern;
use std::io::{self, Read, Write};

/// Writes `len` bytes of the pattern of `seed`, in pieces of random lengths, of `most`
/// bytes at most.
///
/// # Panics
/// If a write fails.
pub fn send_in_pieces(mut to: impl Write, seed: u64, len: usize, most: u64) {
    let (mut pattern, mut lengths) = (Pattern::new(seed), Pattern::new(!seed));
    let mut left = len;
    while left > 0 {
        let n = left.min(1 + lengths.below(most) as usize);
        to.write_all(&pattern.take(n)).expect("write");
        left -= n;
    }
}

/// Reads the `len` bytes of [`send_in_pieces`], in pieces of random lengths, of `most`
/// bytes at most.
///
/// # Panics
/// If a read fails, the stream ends early, or a byte is wrong.
pub fn receive_in_pieces(mut from: impl Read, seed: u64, len: usize, most: u64) {
    let (mut pattern, mut lengths) = (Pattern::new(seed), Pattern::new(seed ^ 77));
    let (mut at, mut bytes) = (0, vec![0; most as usize]);
    while at < len {
        let piece = (len - at).min(1 + lengths.below(most) as usize);
        let n = from.read(&mut bytes[..piece]).expect("read");
        assert!(n > 0, "the end came after {at} of {len} bytes");
        pattern.check(&bytes[..n], at);
        at += n;
    }
}

/// Checks that the stream has ended.
///
/// # Panics
/// If data comes, or an error.
pub fn ended(mut from: impl Read) {
    assert_eq!(from.read(&mut [0; 16]).expect("the end"), 0);
}

/// The kind of the error that `result` must be.
///
/// # Panics
/// If it is `Ok`.
pub fn kind<T>(result: io::Result<T>) -> io::ErrorKind {
    result.map(|_| ()).expect_err("an error").kind()
}
