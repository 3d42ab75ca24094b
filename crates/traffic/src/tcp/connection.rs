//! [`Connection`]: what a simulated peer knows of one connection.

use super::super::frame::Segment;
use wire::Seq;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Closed,
    SynSent,
    SynReceived,
    /// ESTABLISHED and what follows it; FINs are noted apart.
    Open,
}

/// What is next to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// So many bytes of payload.
    Data(u32),
    Fin,
}

/// What the peer sends on a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sending {
    /// Bytes, so far.
    pub(super) limit: u64,
    /// Does it close behind them?
    pub(super) closes: bool,
}

/// Positions in the stream to the stack are counted in bytes from its start, as
/// 64 bits; the FIN is the position behind the last byte.
pub(super) struct Connection {
    pub(super) plan: Sending,
    /// It is closed as soon as it is established.
    pub(super) short: bool,
    /// Bytes of payload received in order.
    pub(super) received: u64,
    pub(super) stack_port: u16,
    pub(super) peer_port: u16,
    pub(super) phase: Phase,
    pub(super) iss: Seq,
    pub(super) rcv_nxt: Seq,
    /// Segments received since the last acknowledgment.
    pub(super) unacked: u32,
    /// The first position that is not acknowledged.
    una: u64,
    /// The next position to send.
    nxt: u64,
    /// Behind the last that was ever sent.
    max: u64,
    /// The first position that the stack's window does not let us send.
    edge: u64,
    /// Where the FIN is, once it was sent.
    fin: Option<u64>,
    /// SND.WND scale.
    shift: u8,
    /// Both sides scale windows. Of a connection that we open: we offer it.
    pub(super) scaled: bool,
    /// Bytes of payload that a segment may hold.
    mss: u32,
    /// Duplicate acknowledgments in a row.
    duplicates: u8,
    /// Not to go back for duplicates before this is acknowledged.
    recover: u64,
    /// `una` when it was last looked at.
    seen: u64,
    pub(super) fin_received: bool,
    pub(super) in_turn: bool,
    pub(super) in_pending: bool,
}

impl Connection {
    pub(super) fn new(
        stack_port: u16,
        peer_port: u16,
        phase: Phase,
        iss: Seq,
        mss: u32,
        plan: Sending,
    ) -> Connection {
        Connection {
            plan,
            short: false,
            received: 0,
            stack_port,
            peer_port,
            phase,
            iss,
            rcv_nxt: Seq(0),
            unacked: 0,
            una: 0,
            nxt: 0,
            max: 0,
            edge: 0,
            fin: None,
            shift: 0,
            scaled: true,
            mss,
            duplicates: 0,
            recover: 0,
            seen: 0,
            fin_received: false,
            in_turn: false,
            in_pending: false,
        }
    }

    /// Takes over what the stack's SYN says.
    pub(super) fn synchronize(&mut self, s: &Segment) {
        self.rcv_nxt = s.seq + 1;
        self.scaled = s.options.window_scale.is_some();
        // RFC 7323 2.3: a shift above 14 counts as 14.
        self.shift = s.options.window_scale.map_or(0, |shift| shift.min(14));
        // RFC 9293 MUST-15: 536 where there is no option.
        let mss = u32::from(s.options.mss.unwrap_or(536)).max(1);
        self.mss = self.mss.min(mss);
    }

    /// Our SYN is acknowledged by `s`.
    pub(super) fn establish(&mut self, s: &Segment) {
        self.phase = Phase::Open;
        self.edge = self.window(s);
    }

    fn window(&self, s: &Segment) -> u64 {
        // The window of a SYN is never scaled (RFC 7323 2.2).
        let shift = if s.flags.syn() { 0 } else { self.shift };
        u64::from(s.window) << shift
    }

    fn seq(&self, position: u64) -> Seq {
        self.iss + 1 + position as u32
    }

    /// The sequence number of segments that carry nothing.
    pub(super) fn snd_max(&self) -> Seq {
        self.seq(self.max)
    }

    /// Looks at the acknowledgment and the window of `s`. Returns how many bytes
    /// of payload are newly acknowledged.
    pub(super) fn acknowledge(&mut self, s: &Segment) -> u64 {
        let new = u64::from(s.ack.distance_from(self.seq(self.una)));
        if new > self.max - self.una {
            return 0;
        }
        let edge = self.una + new + self.window(s);
        if new == 0 {
            let outstanding = self.nxt != self.una;
            if outstanding && s.len == 0 && edge == self.edge && !s.flags.fin() {
                self.duplicate();
            }
            self.edge = edge;
            return 0;
        }
        self.edge = edge;
        self.duplicates = 0;
        let before = self.una;
        self.una += new;
        self.nxt = self.nxt.max(self.una);
        let end = self.fin.unwrap_or(u64::MAX);
        self.una.min(end) - before.min(end)
    }

    fn duplicate(&mut self) {
        self.duplicates = self.duplicates.saturating_add(1);
        if self.duplicates == 3 && self.una >= self.recover {
            self.recover = self.max;
            self.go_back();
        }
    }

    /// All that is not acknowledged is to be sent again.
    pub(super) fn go_back(&mut self) {
        self.nxt = self.una;
        self.duplicates = 0;
    }

    /// Did nothing come of what was sent since the last look?
    pub(super) fn is_stuck(&mut self) -> bool {
        let stuck = self.nxt != self.una && self.seen == self.una;
        self.seen = self.una;
        stuck
    }

    /// Takes the payload of `s` that is next, and returns its length.
    pub(super) fn take(&mut self, s: &Segment) -> u32 {
        let old = self.rcv_nxt.distance_from(s.seq);
        if s.seq.after(self.rcv_nxt) || old >= s.len || self.fin_received {
            return 0;
        }
        self.rcv_nxt += s.len - old;
        self.received += u64::from(s.len - old);
        s.len - old
    }

    /// Where the payload ends, and whether a FIN follows.
    fn end(&self) -> (u64, bool) {
        match self.fin {
            Some(end) => (end, true),
            // The stack has closed: what was begun still has to arrive.
            None if self.fin_received => (self.max, true),
            None => (self.plan.limit, self.plan.closes),
        }
    }

    /// What can be sent now.
    pub(super) fn next(&self) -> Option<Next> {
        if self.phase != Phase::Open {
            return None;
        }
        let (end, fin) = self.end();
        if self.nxt >= end {
            return (fin && self.nxt == end).then_some(Next::Fin);
        }
        let wanted = (end - self.nxt).min(u64::from(self.mss));
        let allowed = self.edge.saturating_sub(self.nxt).min(wanted);
        // Nothing small while something is on its way (RFC 9293 3.8.6.2.1).
        let now = allowed == wanted || (allowed > 0 && self.nxt == self.una);
        now.then_some(Next::Data(allowed as u32))
    }

    /// Sends `next`; its sequence number.
    pub(super) fn advance(&mut self, next: Next) -> Seq {
        let seq = self.seq(self.nxt);
        match next {
            Next::Data(len) => self.nxt += u64::from(len),
            Next::Fin => {
                self.fin = Some(self.nxt);
                self.nxt += 1;
            }
        }
        self.max = self.max.max(self.nxt);
        seq
    }

    /// Is a window that stays shut to be probed (RFC 9293 3.8.6.1)?
    pub(super) fn wants_probe(&self) -> bool {
        let waits = self.nxt == self.una && self.edge <= self.nxt;
        waits && self.nxt < self.end().0
    }

    /// Have both sides closed?
    pub(super) fn is_closing(&self) -> bool {
        self.fin_received && self.fin.is_some()
    }

    /// Have both sides closed, and is all acknowledged?
    pub(super) fn is_over(&self) -> bool {
        self.fin_received && self.fin.is_some_and(|end| self.una > end)
    }
}
