//! A segment for a port that is listened on, and no connection of its own
//! (RFC 9293 3.10.7.2).

use super::closed;
use wire::tcp::Header;

/// What to do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Nothing.
    Ignore,
    /// Answer with this RST.
    Reset(Header),
    /// Open a connection with [`Tcb::accept`](crate::Tcb::accept).
    Open,
}

/// Decides on a segment with this header and `payload_len` bytes of payload.
pub fn input(header: &Header, payload_len: usize) -> Listen {
    // RFC 9293 3.10.7.2: first RST, second ACK, third SYN
    if header.flags.rst() {
        return Listen::Ignore;
    }
    if header.flags.ack() {
        return closed::reply(header, payload_len).map_or(Listen::Ignore, Listen::Reset);
    }
    // No one means SYN with FIN.
    if header.flags.syn() && !header.flags.fin() {
        return Listen::Open;
    }
    Listen::Ignore
}

#[cfg(test)]
mod tests;
