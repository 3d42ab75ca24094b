//! Simulated UDP clients: a datagram and its echo, one outstanding on each flow.

use super::frame::{Echo, Template, answer_neighbour, ip_len};
use super::{BUSY, Buffers, Config, Peer, REPEAT, Totals, payload, ports};
use device::Batch;
use platform::Instant;
use std::collections::VecDeque;
use std::time::Duration;
use wire::{Packet, protocol, udp};

/// How often a flow that nothing has come back of yet repeats its datagram: the
/// stack may not be ready.
const UNREADY: Duration = Duration::from_millis(2);
/// Kinds of payload, told apart by their first byte, so that the echo of a
/// datagram that was repeated is not taken for that of the next.
const MARKS: u8 = 16;

/// One flow.
#[derive(Clone, Copy, Default)]
struct Flow {
    /// The mark of the datagram that is outstanding, or next.
    mark: u8,
    /// It is on its way.
    waits: bool,
    /// It was on its way at the last look.
    waited: bool,
    /// Something has come back.
    established: bool,
}

/// The peer of one queue.
pub(super) struct Echoed {
    config: Config,
    template: Template,
    payloads: Buffers,
    /// Bytes of a datagram's payload.
    message: usize,
    flows: Vec<Flow>,
    ports: Vec<u16>,
    /// The flow of each port; [`NONE`]: of another peer.
    by_port: Vec<u16>,
    /// Flows that may send, in turn.
    turn: VecDeque<u16>,
    /// Flows that nothing has come back of.
    unready: usize,
    look_at: Option<Instant>,
    /// When all of those that wait are next looked at; before, only the unready.
    repeat_at: Option<Instant>,
    busy: u32,
    counts: Totals,
}

const NONE: u16 = u16::MAX;

impl Echoed {
    pub(super) fn new(config: &Config, queue: usize) -> Echoed {
        let message = payload(config, ip_len(config) + udp::LEN).min(config.message.max(1));
        let ports = ports(config, queue);
        let mut by_port = vec![NONE; 1 << 16];
        for (flow, &port) in ports.iter().enumerate() {
            by_port[usize::from(port)] = flow as u16;
        }
        Echoed {
            config: config.clone(),
            template: Template::new(config, protocol::UDP),
            payloads: Buffers::marked(message, MARKS),
            message,
            flows: vec![Flow::default(); ports.len()],
            turn: (0..ports.len() as u16).collect(),
            unready: ports.len(),
            ports,
            by_port,
            look_at: None,
            repeat_at: None,
            busy: 0,
            counts: Totals::default(),
        }
    }

    /// A datagram of the stack.
    fn came(&mut self, echo: Echo) {
        self.counts.packets_received += 1;
        self.counts.bytes_received += echo.len as u64;
        let index = self.by_port[usize::from(echo.peer_port)];
        let Some(flow) = self.flows.get_mut(usize::from(index)) else { return };
        // What is not whole, or the echo of an earlier one, is none.
        if echo.len != self.message || echo.first != flow.mark {
            return;
        }
        // If it does not wait, it has its turn already, to repeat what now has come.
        let waits = std::mem::take(&mut flow.waits);
        flow.mark = (flow.mark + 1) % MARKS;
        if !std::mem::replace(&mut flow.established, true) {
            self.unready -= 1;
            self.counts.established += 1;
        }
        self.counts.transactions += 1;
        if waits {
            self.turn.push_back(index);
        }
    }

    /// Has those send again that have waited since the last look.
    fn look(&mut self) {
        let now = Instant::now();
        self.start_timers(now);
        if self.look_at.is_none_or(|at| now < at) {
            return;
        }
        let all = self.repeat_at.is_none_or(|at| now >= at);
        if all {
            self.repeat_at = Some(now + REPEAT);
        }
        for (index, flow) in self.flows.iter_mut().enumerate() {
            if flow.established && !all {
                continue;
            }
            if flow.waits && flow.waited {
                (flow.waits, flow.waited) = (false, false);
                self.turn.push_back(index as u16);
            } else {
                flow.waited = flow.waits;
            }
        }
        self.look_at = Some(if self.unready > 0 { now + UNREADY } else { now + REPEAT });
    }

    fn start_timers(&mut self, now: Instant) {
        if !self.flows.is_empty() {
            self.repeat_at.get_or_insert(now + REPEAT);
            self.look_at.get_or_insert(now + UNREADY);
        }
    }
}

impl Peer for Echoed {
    fn input(&mut self, packet: Packet, out: &mut Batch) {
        match Echo::of(&packet, self.config.link.medium) {
            Some(echo) => self.came(echo),
            None if answer_neighbour(&packet, &self.config, out) => {}
            None => self.counts.ignored += 1,
        }
    }

    fn control(&mut self, _: &mut Batch) {
        self.busy += 1;
        if self.busy >= BUSY || self.turn.is_empty() {
            self.busy = 0;
            self.look();
        }
    }

    fn output(&mut self, out: &mut Vec<Packet>, max: usize) {
        for _ in 0..max {
            let Some(index) = self.turn.pop_front() else { return };
            let flow = &mut self.flows[usize::from(index)];
            flow.waits = true;
            flow.waited = false;
            let payload = self.payloads.at(usize::from(flow.mark));
            self.counts.packets_sent += 1;
            self.counts.bytes_sent += self.message as u64;
            let port = self.ports[usize::from(index)];
            out.push(self.template.datagram(port, self.config.stack_port, payload));
        }
    }

    fn ready(&self) -> bool {
        !self.turn.is_empty()
    }

    fn deadline(&self) -> Option<Instant> {
        self.look_at
    }

    fn idle(&mut self) {
        self.start_timers(Instant::now());
    }

    fn counts(&mut self) -> &mut Totals {
        &mut self.counts
    }
}
