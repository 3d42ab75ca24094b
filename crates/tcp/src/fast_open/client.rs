//! The client's end of Fast Open (RFC 7413 4.2).

use crate::recovery::Record;
use crate::tcb::LEAST_PEER_MSS;
use crate::{Outgoing, State, Tcb, TransmitOffload};
use wire::tcp::FastOpen;
use wire::{Instant, Seq};

/// Bytes of options that the segment with a SYN and data leaves room for, as Linux does: boxes
/// in the path may add some.
const OPTIONS: u16 = 40;

/// What a client knows of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// Nothing: it is asked for a cookie.
    Unknown,
    /// Its cookie, and how many bytes of payload and options it takes in a segment.
    Known(FastOpen, u16),
    /// SYNs with the option do not get there.
    Deaf,
}

impl Tcb {
    /// The user wants an active open to use Fast Open (TCP_FASTOPEN_CONNECT). Before
    /// the SYN goes, [`Tcb::begin_fast_open`] has to say what is known of the server.
    pub fn want_fast_open(&mut self) {
        if self.state == State::SynSent && self.snd.nxt == self.snd.iss {
            self.early().wanted = true;
        }
    }

    /// Was that said, and has the connection not begun?
    pub fn wants_fast_open(&self) -> bool {
        self.has_early().is_some_and(|early| early.wanted)
    }

    /// Begins an active open with what is known of the server. With a cookie the connection
    /// is open for the user, and the SYN waits for what is sent first.
    pub fn begin_fast_open(&mut self, server: Server) {
        // RFC 7413 4.2.1/2, 4.2.2/6
        let limit = self.snd.limit;
        let early = self.early();
        early.wanted = false;
        match server {
            Server::Deaf => {}
            Server::Unknown => early.option = Some(FastOpen::REQUEST),
            Server::Known(cookie, mss) => {
                early.option = Some(cookie);
                early.most = limit.min(mss.max(LEAST_PEER_MSS)).saturating_sub(OPTIONS).max(1);
                (early.open, early.waits) = (true, true);
                self.flags.syn_due = false;
            }
        }
    }

    /// Has our SYN the option, as long as it is not answered? Then whether it was sent once at
    /// most.
    pub fn asks_fast_open(&self) -> Option<bool> {
        if self.state != State::SynSent {
            return None;
        }
        self.has_early()?.option.map(|_| self.timeouts == 0)
    }

    /// Has the first SYN, which had the option, just been given up?
    pub fn has_lost_fast_open(&self) -> bool {
        self.state == State::SynSent && self.timeouts == 1 && self.asks_fast_open().is_some()
    }

    /// Both open at once: no more is special about it.
    pub(crate) fn forget_early(&mut self) {
        if self.has_early().is_some() {
            (self.early().open, self.early().waits) = (false, false);
        }
    }

    /// Is data queued that the SYN is to take along, or has?
    pub(crate) fn has_early_data(&self) -> bool {
        let open = self.state == State::SynSent && self.has_early().is_some_and(|e| e.open);
        open && self.send.end != self.snd.iss + 1
    }

    /// Has the SYN waited for data, which has come?
    pub(crate) fn held_syn_due(&self) -> bool {
        self.has_early_data() && self.has_early().is_some_and(|early| early.waits)
    }

    /// Nothing will be written: a SYN that has waited for data goes without, unless nobody wants the
    /// connection any more. Returns whether there is one.
    pub(crate) fn releases_held_syn(&mut self) -> bool {
        let waits = self.has_early().is_some_and(|early| early.waits) && !self.flags.released;
        if waits {
            self.early().waits = false;
            self.flags.syn_due = true;
        }
        waits
    }

    /// The SYN that has waited for data.
    pub(crate) fn held_syn(&mut self, now: Instant) -> Option<Outgoing> {
        self.held_syn_due().then(|| self.syn(now))
    }

    /// The SYN takes along what is queued, the first time that it is sent.
    pub(crate) fn add_syn_data(&mut self, segment: &mut Outgoing, now: Instant) {
        // RFC 7413 4.2.2/6
        if !self.held_syn_due() {
            return;
        }
        let seq = self.snd.nxt;
        let early = self.early();
        early.waits = false;
        let most = early.most.into();
        let len = (self.send.end.distance_from(seq)).min(most);
        let offload = TransmitOffload { segmentation: 0, want_sum: true };
        let cut = self.cut(seq, len, false, true, offload);
        let len = cut.len;
        let outgoing = cut.with(segment.header);
        (segment.payload, segment.sum) = (outgoing.payload, outgoing.sum);
        let then = self.rate.on_send(false, self.delivered, (1 + len, 0), now);
        self.board.push(Record::new(seq, len, false, len, (now, then)));
        self.snd.nxt = seq + len;
        self.early().len = len;
    }

    /// The SYN is acknowledged, and so is what went with it up to `ack`. The rest goes again at
    /// once, as if it never had.
    pub(crate) fn syn_data_acked(&mut self, ack: Seq) {
        // RFC 7413 4.2.2/7
        let Some(len) = self.has_early().map(|early| early.len).filter(|len| *len > 0) else {
            return;
        };
        let acked = ack.distance_from(self.snd.iss + 1).min(len);
        let una = self.snd.iss + 1 + acked;
        (self.snd.una, self.snd.nxt, self.snd.small_end) = (una, una, una);
        self.snd.usage_end = una;
        self.recovery.recover = una;
        self.board.clear(una);
        self.send.acked(una);
        self.send.rewind();
        self.delivered += u64::from(acked);
        let early = self.early();
        (early.len, early.data) = (0, acked > 0);
    }
}

#[cfg(test)]
mod tests;
