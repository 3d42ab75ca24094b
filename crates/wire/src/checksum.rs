//! The Internet checksum (RFC 1071) over headers, pseudo-headers and packets.

use crate::address::Address;
pub use buffer::sum::{add, add_words, combine, copy_sum, sum, sum_words};

/// The sum of the pseudo-header of TCP and UDP: RFC 9293 3.1 for IPv4, RFC 8200
/// 8.1 for IPv6. `length` is that of the transport header and payload, bytes.
#[inline]
// RFC 8200 8.1/1
pub fn pseudo_header(source: Address, destination: Address, protocol: u8, length: u32) -> u16 {
    let mut acc = u64::from(protocol) + u64::from(length);
    match (source.v4(), destination.v4()) {
        (Some(s), Some(d)) => acc += u64::from(s.to_bits()) + u64::from(d.to_bits()),
        _ => {
            for word in source.words().into_iter().chain(destination.words()) {
                acc += (word >> 32) + (word & 0xffff_ffff);
            }
        }
    }
    fold(acc)
}

/// The 16-bit ones' complement sum of the big-endian 16-bit words in `acc`.
#[inline]
pub fn fold(acc: u64) -> u16 {
    buffer::sum::fold(acc)
}

/// Does data whose sum, checksum field included, is `sum` carry a right one?
#[inline]
pub fn is_right(sum: u16) -> bool {
    sum == 0xffff
}

#[cfg(test)]
mod tests;
