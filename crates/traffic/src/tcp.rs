//! The simulated TCP peer of one queue: a receiver, and if it `sends`, a sender.
//!
//! It is no TCP: no congestion control, no reassembly, no round-trip times. It
//! does what the papers' drivers do on a network without errors, and repeats
//! what seems lost, so that a stack which drops packets does not stall.

mod connection;
mod ports;
mod short;
mod timers;

use super::frame::{self, Fields, Segment, Template, answer_neighbour};
use super::{BUSY, Buffers, Config, Peer as Simulated, REPEAT, Totals, payload};
use connection::{Connection, Next, Phase, Sending};
use device::Batch;
use platform::Instant;
use ports::{ByPorts, key};
use short::Shorts;
use std::collections::VecDeque;
use std::time::Duration;
use wire::tcp::{Flags, Options};
use wire::{Packet, Seq, protocol, tcp};

/// How long a peer waits before it tries again to open connections that were
/// refused: nobody may listen yet.
const REFUSED: Duration = Duration::from_millis(1);
/// How many connections are being opened at once, so that a backlog of listeners
/// is not overrun.
const OPENING: usize = 64;
/// The same where the stack is to be ready soon: what is lost is repeated late.
const GENTLY: usize = 16;

/// What a peer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It takes all data.
    Sink,
    /// It sends.
    Source,
    /// It takes blocks, and opens short-lived connections.
    Clients,
    /// It sends messages, each when the one before has come back.
    Echoed,
}

/// The peer of one queue.
pub(super) struct Peer {
    config: Config,
    plan: Sending,
    /// Short-lived connections, if it opens any.
    shorts: Option<Shorts>,
    template: Template,
    buffers: Buffers,
    /// Bytes of payload in a full segment.
    payload: u32,
    /// Our window scale.
    scale: u8,
    connections: Vec<Connection>,
    by_ports: ByPorts,
    free: Vec<u32>,
    /// Connections that may send, in turn.
    turn: VecDeque<u32>,
    /// Connections with a packet that is not acknowledged yet.
    pending: Vec<u32>,
    /// When they began to wait; set when there is nothing else to do.
    pending_since: Option<Instant>,
    /// Ports to open connections from.
    to_open: VecDeque<u16>,
    /// Not to open any before.
    open_at: Option<Instant>,
    opening: usize,
    /// Connections are being opened: nobody sends yet.
    quiet: bool,
    /// A connection was established.
    found: bool,
    /// Bytes of a message that is echoed; 0: there are none.
    message: u64,
    repeat_at: Option<Instant>,
    /// Looks in a row that found something to send.
    busy: u32,
    /// Of the next connection. Each gets a range of its own, so that an old
    /// connection between the same ports is over.
    iss: Seq,
    counts: Totals,
}

impl Peer {
    pub(super) fn new(config: &Config, queue: usize, kind: Kind) -> Peer {
        let sends = kind == Kind::Source;
        let message = if kind == Kind::Echoed { config.message.max(1) } else { 0 };
        let limit = if sends { config.limit } else { message as u64 };
        let plan = Sending { limit, closes: sends && limit != u64::MAX };
        let buffers = match kind {
            Kind::Source => config.buffers,
            // A single one, of which answers are the start.
            Kind::Sink | Kind::Clients | Kind::Echoed => 0,
        };
        let largest = if message > 0 { message } else { usize::MAX };
        let payload = payload(config, frame::ip_len(config) + tcp::LEN).min(largest);
        let scale = (0..14).find(|&s| config.window >> s <= 0xffff).unwrap_or(14);
        Peer {
            config: config.clone(),
            plan,
            shorts: (kind == Kind::Clients).then(|| Shorts::new(config, queue)).flatten(),
            template: Template::new(config, protocol::TCP),
            buffers: Buffers::new(payload, buffers),
            payload: payload as u32,
            scale,
            connections: Vec::new(),
            by_ports: ByPorts::default(),
            free: Vec::new(),
            turn: VecDeque::new(),
            pending: Vec::new(),
            pending_since: None,
            to_open: super::ports(config, queue).into(),
            open_at: None,
            opening: 0,
            quiet: config.held,
            found: false,
            message: message as u64,
            repeat_at: None,
            busy: 0,
            iss: Seq(1 << 20),
            counts: Totals::default(),
        }
    }

    /// A new connection; its index.
    fn insert(&mut self, stack_port: u16, peer_port: u16, phase: Phase) -> u32 {
        self.iss += 1 << 20;
        let connection =
            Connection::new(stack_port, peer_port, phase, self.iss, self.payload, self.plan);
        let index = match self.free.pop() {
            Some(index) => {
                self.connections[index as usize] = connection;
                index
            }
            None => {
                self.connections.push(connection);
                self.connections.len() as u32 - 1
            }
        };
        self.by_ports.insert(key(stack_port, peer_port), index);
        index
    }

    /// Ends a connection. Its place is free once no list names it.
    fn remove(&mut self, index: u32) {
        let connection = &mut self.connections[index as usize];
        connection.phase = Phase::Closed;
        if connection.short
            && let Some(shorts) = &mut self.shorts
        {
            shorts.ended(connection.peer_port);
        }
        self.by_ports.remove(&key(connection.stack_port, connection.peer_port));
        self.release(index);
    }

    fn release(&mut self, index: u32) {
        let connection = &self.connections[index as usize];
        if connection.phase == Phase::Closed && !connection.in_turn && !connection.in_pending {
            self.free.push(index);
        }
    }

    /// What the stack may send, bytes.
    fn window(&self) -> u32 {
        if self.quiet { 0 } else { self.config.window }
    }

    fn fields(&self, c: &Connection, seq: Seq, flags: Flags) -> Fields {
        let scale = if c.scaled { self.scale } else { 0 };
        let window = (self.window() >> scale).min(0xffff) as u16;
        let (stack_port, peer_port) = (c.stack_port, c.peer_port);
        Fields { stack_port, peer_port, seq, ack: c.rcv_nxt, flags, window }
    }

    fn ack(&mut self, index: u32) -> Packet {
        let c = &mut self.connections[index as usize];
        c.unacked = 0;
        self.counts.acks_sent += 1;
        let c = &self.connections[index as usize];
        self.template.segment(&self.fields(c, c.snd_max(), Flags::ACK), None)
    }

    /// Our SYN, or SYN and ACK.
    fn syn(&self, index: u32) -> Packet {
        let c = &self.connections[index as usize];
        let flags = match c.phase {
            Phase::SynSent => Flags::SYN,
            _ => Flags::SYN.with(Flags::ACK),
        };
        // The window of a SYN is never scaled (RFC 7323 2.2).
        let window = self.window().min(0xffff) as u16;
        let fields = Fields { window, ..self.fields(c, c.iss, flags) };
        let headers = frame::ip_len(&self.config) + tcp::LEN;
        let mss = self.config.link.mtu.saturating_sub(headers).min(self.config.mss);
        let options = Options {
            mss: Some(mss.min(0xffff) as u16),
            window_scale: c.scaled.then_some(self.scale),
            ..Options::NONE
        };
        self.template.syn(&fields, options)
    }

    /// Answers a segment that belongs to nothing (RFC 9293 3.5.2).
    fn refuse(&self, s: &Segment) -> Packet {
        let (seq, ack, flags) = if s.flags.ack() {
            (s.ack, Seq(0), Flags::RST)
        } else {
            let occupied = s.len + u32::from(s.flags.syn()) + u32::from(s.flags.fin());
            (Seq(0), s.seq + occupied, Flags::RST.with(Flags::ACK))
        };
        let (stack_port, peer_port) = (s.stack_port, s.peer_port);
        self.template.segment(&Fields { stack_port, peer_port, seq, ack, flags, window: 0 }, None)
    }

    fn segment(&mut self, s: &Segment, out: &mut Batch) {
        let key = key(s.stack_port, s.peer_port);
        let opens = s.flags.syn() && !s.flags.ack() && !s.flags.rst();
        let mut found = self.by_ports.get(&key).copied();
        if opens && let Some(index) = found {
            let old = &self.connections[index as usize];
            let repeated = old.phase == Phase::SynReceived && old.rcv_nxt == s.seq + 1;
            if !repeated && old.phase != Phase::SynSent {
                // The stack has forgotten the old one and begins anew.
                self.remove(index);
                found = None;
            }
        }
        match found {
            Some(index) => self.known(index, s, out),
            None if opens => {
                let index = self.insert(s.stack_port, s.peer_port, Phase::SynReceived);
                self.connections[index as usize].synchronize(s);
                out.push_back(self.syn(index));
            }
            None if !s.flags.rst() => out.push_back(self.refuse(s)),
            None => {}
        }
    }

    fn known(&mut self, index: u32, s: &Segment, out: &mut Batch) {
        let c = &mut self.connections[index as usize];
        if s.flags.rst() {
            // There is no TIME-WAIT here: a stack that loses the last acknowledgment of
            // its FIN is told so by a reset.
            let over = c.is_closing();
            let (short, phase, port) = (c.short, c.phase, c.peer_port);
            self.closed(over, short);
            match (phase, short) {
                // If nobody listens yet, it is tried again, later.
                (Phase::SynSent, true) => {}
                (Phase::SynSent, false) => {
                    self.opening -= 1;
                    self.to_open.push_back(port);
                    self.open_at = Some(Instant::now() + REFUSED);
                    self.remove(index);
                }
                _ => self.remove(index),
            }
            return;
        }
        match c.phase {
            Phase::SynSent if s.flags.has(Flags::SYN.with(Flags::ACK)) => {
                if s.ack != c.iss + 1 {
                    return out.push_back(self.refuse(s));
                }
                c.synchronize(s);
                self.opening -= usize::from(!c.short);
                self.establish(index, s);
                out.push_back(self.ack(index));
            }
            Phase::SynSent | Phase::Closed => {}
            Phase::SynReceived if s.flags.syn() => out.push_back(self.syn(index)),
            Phase::SynReceived => {
                if s.flags.ack() && s.ack == c.iss + 1 {
                    self.establish(index, s);
                    self.established(index, s, out);
                }
            }
            Phase::Open => self.established(index, s, out),
        }
    }

    fn establish(&mut self, index: u32, s: &Segment) {
        self.connections[index as usize].establish(s);
        self.counts.established += 1;
        self.found = true;
        self.may_send(index);
    }

    fn established(&mut self, index: u32, s: &Segment, out: &mut Batch) {
        let c = &mut self.connections[index as usize];
        if s.flags.ack() {
            self.counts.bytes_acked += c.acknowledge(s);
        }
        // A packet in order may wait for a second one. Anything else that
        // occupies sequence space is answered at once.
        let before = c.received;
        let taken = c.take(s);
        self.counts.bytes_received += u64::from(taken);
        if taken > 0 {
            self.counts.packets_received += u64::from(s.count);
            c.unacked += s.count;
            if let Some(echoed) = c.received.checked_div(self.message) {
                self.counts.transactions += echoed - before / self.message;
                c.plan.limit = (echoed + 1) * self.message;
            }
            if let Some(blocks) = c.received.checked_div(self.config.block) {
                c.plan.limit = blocks * self.config.answer;
            }
        }
        let strange = s.flags.syn() || (s.len > 0 && taken == 0);
        if s.flags.fin() && c.rcv_nxt == s.seq + s.len {
            c.rcv_nxt += 1;
            c.fin_received = true;
        }
        // FIN: now, or again.
        if c.unacked >= 2 || strange || s.flags.fin() {
            out.push_back(self.ack(index));
        } else if c.unacked > 0 && !c.in_pending && (self.message == 0 || c.next().is_none()) {
            c.in_pending = true;
            self.pending.push(index);
        }
        let c = &self.connections[index as usize];
        if c.is_over() {
            self.closed(true, c.short);
            return self.remove(index);
        }
        self.may_send(index);
    }

    /// Counts the end of a connection: in order, or by a reset.
    fn closed(&mut self, in_order: bool, short: bool) {
        match (in_order, short) {
            (true, true) => self.counts.short_closed += 1,
            (true, false) => self.counts.closed += 1,
            (false, false) => self.counts.reset += 1,
            (false, true) => {}
        }
    }

    /// Gives a connection its turn if it has something to send.
    fn may_send(&mut self, index: u32) {
        let c = &mut self.connections[index as usize];
        if !c.in_turn && c.next().is_some() {
            c.in_turn = true;
            self.turn.push_back(index);
        }
    }

    fn send(&mut self, index: u32, next: Next) -> Packet {
        let c = &mut self.connections[index as usize];
        let seq = c.advance(next);
        c.unacked = 0;
        let (flags, payload) = match next {
            Next::Fin => (Flags::FIN.with(Flags::ACK), None),
            Next::Data(len) => {
                self.counts.packets_sent += 1;
                self.counts.bytes_sent += u64::from(len);
                (Flags::ACK.with(Flags::PSH), Some(self.buffers.next(len as usize)))
            }
        };
        let c = &self.connections[index as usize];
        self.template.segment(&self.fields(c, seq, flags), payload)
    }

    /// A packet of the connection whose turn it is to send.
    fn next_in_turn(&mut self) -> Option<Packet> {
        while !self.quiet
            && let Some(index) = self.turn.pop_front()
        {
            let next = self.connections[index as usize].next();
            let packet = next.map(|next| self.send(index, next));
            let c = &mut self.connections[index as usize];
            if c.next().is_some() {
                self.turn.push_back(index);
            } else {
                c.in_turn = false;
                self.release(index);
            }
            if packet.is_some() {
                return packet;
            }
        }
        None
    }

    /// How many connections may be being opened: one, until the stack has found
    /// us, since it does not keep many packets meanwhile.
    fn opens_at_once(&self) -> usize {
        match (self.config.held, self.found) {
            (true, false) => 1,
            (true, true) => GENTLY,
            (false, _) => OPENING,
        }
    }

    fn open(&mut self, out: &mut Batch) {
        if self.open_at.is_some_and(|at| Instant::now() < at) {
            return;
        }
        self.open_at = None;
        while self.opening < self.opens_at_once()
            && let Some(port) = self.to_open.pop_front()
        {
            let index = self.insert(self.config.stack_port, port, Phase::SynSent);
            self.opening += 1;
            out.push_back(self.syn(index));
        }
    }
}

impl Simulated for Peer {
    fn input(&mut self, packet: Packet, out: &mut Batch) {
        match frame::segment(&packet, self.config.link.medium) {
            Some(segment) => self.segment(&segment, out),
            None if answer_neighbour(&packet, &self.config, out) => {}
            None => self.counts.ignored += 1,
        }
    }

    fn go(&mut self, out: &mut Batch) {
        if !std::mem::take(&mut self.quiet) {
            return;
        }
        // The window is open now.
        for index in 0..self.connections.len() as u32 {
            if self.connections[index as usize].phase == Phase::Open {
                out.push_back(self.ack(index));
            }
        }
    }

    fn control(&mut self, out: &mut Batch) {
        self.open(out);
        self.busy += 1;
        if self.busy >= BUSY || (out.is_empty() && (self.quiet || self.turn.is_empty())) {
            self.busy = 0;
            self.pause(out);
        }
    }

    fn tick(&mut self, out: &mut Batch) {
        if !self.to_open.is_empty() {
            self.open(out);
        }
        if self.shorts.is_some() {
            // Transfers and short-lived connections are different machines': what
            // they send comes in one line, as by one link.
            while out.len() < self.config.link.ring
                && let Some(packet) = self.next_in_turn()
            {
                out.push_back(packet);
            }
            self.open_shorts(out);
        }
    }

    fn output(&mut self, out: &mut Vec<Packet>, max: usize) {
        let before = out.len();
        while out.len() - before < max
            && let Some(packet) = self.next_in_turn()
        {
            out.push(packet);
        }
    }

    fn ready(&self) -> bool {
        let opens = self.open_at.is_none()
            && self.opening < self.opens_at_once()
            && !self.to_open.is_empty();
        opens || (!self.quiet && !self.turn.is_empty())
    }

    fn deadline(&self) -> Option<Instant> {
        let pending = self.pending_since.map(|since| since + self.config.ack_delay);
        let short = self.shorts.as_ref().and_then(Shorts::next);
        [pending, self.repeat_at, self.open_at, short].into_iter().flatten().min()
    }

    fn idle(&mut self) {
        if !self.pending.is_empty() || !self.by_ports.is_empty() {
            self.start_timers(Instant::now());
        }
    }

    fn counts(&mut self) -> &mut Totals {
        &mut self.counts
    }
}
