//! The cases.

pub mod basic;
pub mod bulk;
pub mod closing;
pub mod life;
pub mod refusals;
pub mod udp;

use crate::Pattern;
use anabranch::TcpStream;
use std::io::{self, Read, Write};

/// Writes `len` bytes of the pattern of `seed`, in pieces of random lengths.
pub(crate) fn send(mut stream: &TcpStream, seed: u64, len: usize) {
    let (mut pattern, mut lengths) = (Pattern::new(seed), Pattern::new(!seed));
    let mut left = len;
    while left > 0 {
        let n = left.min(1 + lengths.below(60_000) as usize);
        stream.write_all(&pattern.take(n)).expect("write");
        left -= n;
    }
}

/// Reads `len` bytes, which must be those of [`send`], in pieces as they come.
pub(crate) fn receive(mut stream: &TcpStream, seed: u64, len: usize) {
    let (mut pattern, mut lengths) = (Pattern::new(seed), Pattern::new(seed ^ 77));
    let (mut at, mut bytes) = (0, vec![0; 60_000]);
    while at < len {
        let most = (len - at).min(1 + lengths.below(60_000) as usize);
        let n = stream.read(&mut bytes[..most]).expect("read");
        assert!(n > 0, "the end came after {at} of {len} bytes");
        pattern.check(&bytes[..n], at);
        at += n;
    }
}

/// Nothing may come but the end.
pub(crate) fn ended(mut stream: &TcpStream) {
    assert_eq!(stream.read(&mut [0; 16]).expect("the end"), 0);
}

/// The kind of error that `result` has to be.
pub(crate) fn kind<T>(result: io::Result<T>) -> io::ErrorKind {
    result.map(|_| ()).expect_err("an error").kind()
}
