//! The cases. `kernel` is a socket of Linux, `us` one of ours.

mod closing;
mod datagrams;
mod streams;

pub use closing::{half_close_by_kernel, half_close_by_us, keepalive, refusals, resets};
pub use datagrams::{ping, udp_echo, udp_from_us};
pub use streams::{
    crowd_from_kernel_impaired, crowd_to_kernel_impaired, echo, from_kernel, from_kernel_offloaded,
    slow_kernel, slow_us, to_kernel, to_kernel_offloaded,
};

use anabranch_conformance::Pattern;
use std::io::{self, Read, Write};

/// Writes `len` bytes of the pattern of `seed`, in pieces of random lengths.
fn send(mut to: impl Write, seed: u64, len: usize) {
    let (mut pattern, mut lengths) = (Pattern::new(seed), Pattern::new(!seed));
    let mut left = len;
    while left > 0 {
        let n = left.min(1 + lengths.below(200_000) as usize);
        to.write_all(&pattern.take(n)).expect("write");
        left -= n;
    }
}

/// Reads the `len` bytes of [`send`].
fn receive(mut from: impl Read, seed: u64, len: usize) {
    let mut pattern = Pattern::new(seed);
    let (mut at, mut bytes) = (0, vec![0; 200_000]);
    while at < len {
        let most = (len - at).min(bytes.len());
        let n = from.read(&mut bytes[..most]).expect("read");
        assert!(n > 0, "the end came after {at} of {len} bytes");
        pattern.check(&bytes[..n], at);
        at += n;
    }
}

/// Nothing may come but the end.
fn ended(mut from: impl Read) {
    assert_eq!(from.read(&mut [0; 16]).expect("the end"), 0);
}

/// The kind of error that `result` has to be.
fn kind<T>(result: io::Result<T>) -> io::ErrorKind {
    result.map(|_| ()).expect_err("an error").kind()
}
