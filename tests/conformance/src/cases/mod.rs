//! The cases.

pub mod basic;
pub mod bulk;
pub mod closing;
pub mod life;
pub mod loopback;
pub mod refusals;
pub mod udp;

pub(crate) use crate::transfer::{ended, kind};
use crate::transfer::{receive_in_pieces, send_in_pieces};
use anabranch::TcpStream;

/// The largest piece that a case writes or reads at once, bytes.
const PIECE: u64 = 60_000;

/// Writes `len` bytes of the pattern of `seed`, in pieces of random lengths.
pub(crate) fn send(stream: &TcpStream, seed: u64, len: usize) {
    send_in_pieces(stream, seed, len, PIECE);
}

/// Reads the `len` bytes of [`send`], in pieces of random lengths.
pub(crate) fn receive(stream: &TcpStream, seed: u64, len: usize) {
    receive_in_pieces(stream, seed, len, PIECE);
}
