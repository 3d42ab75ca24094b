//! [`Flow`]: the peer's end of a connection, as far as it is needed to make a plausible
//! next segment.

use wire::tcp::{Flags, Header};
use wire::{Endpoint, FlowKey, Seq};

/// What the peer knows of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// As the stack sees it.
    pub key: FlowKey,
    /// The next sequence number that the stack expects.
    pub seq: Seq,
    /// Behind the last byte that the stack has sent.
    pub ack: Seq,
    /// The last timestamp that the stack has sent.
    pub timestamp: u32,
}

impl Flow {
    /// A flow of which only the ends are known.
    pub fn new(local: Endpoint, remote: Endpoint) -> Flow {
        let key = FlowKey { local, remote };
        Flow { key, seq: Seq(0x1000), ack: Seq(0), timestamp: 0 }
    }

    /// The stack has sent this segment with `len` bytes of payload.
    pub fn heard(&mut self, header: &Header, len: u32) {
        let flags = header.flags;
        if flags.ack() {
            self.seq = header.ack;
        }
        let end = header.seq + len + u32::from(flags.syn()) + u32::from(flags.fin());
        if flags.syn() || end.after(self.ack) {
            self.ack = end;
        }
        if let Some((value, _)) = header.options.timestamps {
            self.timestamp = value;
        }
    }

    /// A SYN that starts it anew.
    pub fn syn(&mut self, seq: Seq) -> Header {
        self.seq = seq;
        Header { flags: Flags::SYN, seq, ack: Seq(0), ..self.header() }
    }

    /// A bare acknowledgment.
    pub fn header(&self) -> Header {
        Header {
            source_port: self.key.remote.port,
            destination_port: self.key.local.port,
            seq: self.seq,
            ack: self.ack,
            flags: Flags::ACK,
            window: 0xffff,
            urgent: 0,
            options: wire::tcp::Options::NONE,
        }
    }
}
