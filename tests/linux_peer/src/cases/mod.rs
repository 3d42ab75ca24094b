//! The cases. `kernel` is a socket of Linux, `us` one of ours.

mod closing;
mod datagrams;
mod marks;
mod streams;
mod v6;

pub use closing::{half_close_by_kernel, half_close_by_us, keepalive, refusals, resets};
pub use datagrams::{ping, udp_echo, udp_from_us};
pub use marks::accurate_ecn;
pub use streams::{
    crowd_from_kernel_impaired, crowd_to_kernel_impaired, crowd_uring, crowd_xdp, echo,
    from_kernel, from_kernel_offloaded, from_kernel_uring, from_kernel_xdp, slow_kernel, slow_us,
    to_kernel, to_kernel_offloaded, to_kernel_uring, to_kernel_xdp,
};
pub use v6::{ping_v6, streams_v6, udp_echo_v6};

use anabranch_conformance::transfer::{ended, kind, receive_in_pieces, send_in_pieces};
use std::io::{Read, Write};

/// The largest piece that a case writes or reads at once, bytes.
const PIECE: u64 = 200_000;

/// Writes `len` bytes of the pattern of `seed`, in pieces of random lengths.
fn send(to: impl Write, seed: u64, len: usize) {
    send_in_pieces(to, seed, len, PIECE);
}

/// Reads the `len` bytes of [`send`], in pieces of random lengths.
fn receive(from: impl Read, seed: u64, len: usize) {
    receive_in_pieces(from, seed, len, PIECE);
}
