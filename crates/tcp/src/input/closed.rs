//! A segment for a connection that does not exist (RFC 9293 3.10.7.1).

use wire::Seq;
use wire::tcp::{Flags, Header, Options};

/// The answer to a segment with this header and `payload_len` bytes of payload
/// for which there is no connection: a RST with the ports turned round, or
/// nothing if it is a RST itself.
pub fn reply(header: &Header, payload_len: usize) -> Option<Header> {
    if header.flags.rst() {
        return None;
    }
    //= RFC 9293 3.10.7.1: "<SEQ=SEG.ACK><CTL=RST>"
    //= RFC 9293 3.10.7.1: "<SEQ=0><ACK=SEG.SEQ+SEG.LEN><CTL=RST,ACK>"
    // The first is for segments with an ACK, the second for those without.
    let (seq, ack, flags) = if header.flags.ack() {
        (header.ack, Seq(0), Flags::RST)
    } else {
        let len = segment_len(header, payload_len as u32);
        (Seq(0), header.seq + len, Flags::RST.with(Flags::ACK))
    };
    Some(Header {
        source_port: header.destination_port,
        destination_port: header.source_port,
        seq,
        ack,
        flags,
        window: 0,
        urgent: 0,
        options: Options::NONE,
    })
}

/// SEG.LEN: payload bytes, and one each for SYN and FIN.
#[inline]
pub(crate) fn segment_len(header: &Header, payload_len: u32) -> u32 {
    payload_len
        .wrapping_add(u32::from(header.flags.syn()))
        .wrapping_add(u32::from(header.flags.fin()))
}

#[cfg(test)]
mod tests;
