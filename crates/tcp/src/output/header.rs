//! The headers of segments.

use super::Outgoing;
use crate::Tcb;
use wire::tcp::{Flags, Header, Options};
use wire::{Instant, Parts, Seq};

impl Tcb {
    /// A header with nothing but a timestamp.
    #[inline]
    pub(crate) fn plain_header(&self, seq: Seq, flags: Flags, now: Instant) -> Header {
        let mut header = plain(seq, flags);
        if self.flags.timestamps {
            let echo = if flags.ack() { self.ts.recent } else { 0 };
            header.options.timestamps = Some((self.timestamp(now), echo));
        }
        header
    }

    /// A header with all that every segment carries. With `seq` at SND.NXT, what
    /// it acknowledges needs no acknowledgment any more.
    #[inline]
    pub(crate) fn header(&mut self, seq: Seq, flags: Flags, now: Instant) -> Header {
        // RFC 7323 3.2/2, 3.2/4
        let mut header = self.plain_header(seq, flags, now);
        if flags.ack() {
            header.ack = self.rcv.nxt;
            header.window = self.announce();
            if !flags.syn() {
                header.flags = flags.with(self.echo_flags());
            }
        }
        // What is sent again may be old to the peer, and then it does not look
        // at the acknowledgment in it (RFC 9293 3.10.7.4, first): if both ends
        // relied on that, neither would ever hear of the other's progress.
        if flags.ack() && seq == self.snd.nxt {
            self.acknowledged();
        }
        header
    }

    /// A RST with this sequence number, and nothing else.
    pub(crate) fn reset_at(&self, seq: Seq) -> Outgoing {
        self.bare(plain(seq, Flags::RST))
    }

    /// A segment without payload.
    pub(crate) fn bare(&self, header: Header) -> Outgoing {
        // RFC 3168 6.1.1/4, 6.1.4/1
        let ect = !header.flags.syn() && self.may_all_be_marked();
        Outgoing { header, payload: Parts::new(), sum: Some(0), gso_size: 0, ect }
    }
}

/// A header without options.
#[inline]
fn plain(seq: Seq, flags: Flags) -> Header {
    Header {
        source_port: 0,
        destination_port: 0,
        seq,
        ack: Seq(0),
        flags,
        window: 0,
        urgent: 0,
        options: Options::NONE,
    }
}
