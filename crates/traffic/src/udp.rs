//! Simulated UDP peers.

use super::frame::{answer_neighbour, ip_len, udp_payload};
use super::{Buffers, Config, Peer, Template, Totals, payload, ports};
use device::Batch;
use wire::{Packet, protocol, udp};

/// Takes datagrams.
pub(super) struct Sink {
    config: Config,
    counts: Totals,
}

impl Sink {
    pub(super) fn new(config: &Config) -> Sink {
        Sink { config: config.clone(), counts: Totals::default() }
    }
}

/// Counts a datagram of the stack, or answers its question who somebody is.
fn take(packet: &Packet, config: &Config, counts: &mut Totals, out: &mut Batch) {
    if let Some(len) = udp_payload(packet, config.link.medium) {
        counts.packets_received += 1;
        counts.bytes_received += len as u64;
    } else if !answer_neighbour(packet, config, out) {
        counts.ignored += 1;
    }
}

impl Peer for Sink {
    fn input(&mut self, packet: Packet, out: &mut Batch) {
        take(&packet, &self.config, &mut self.counts, out);
    }
    fn output(&mut self, _: &mut Vec<Packet>, _: usize) {}
    fn ready(&self) -> bool {
        false
    }
    fn counts(&mut self) -> &mut Totals {
        &mut self.counts
    }
}

/// Sends datagrams without end.
pub(super) struct Source {
    config: Config,
    template: Template,
    buffers: Buffers,
    ports: Vec<u16>,
    next: usize,
    counts: Totals,
}

impl Source {
    pub(super) fn new(config: &Config, queue: usize) -> Source {
        let payload = payload(config, ip_len(config) + udp::LEN);
        Source {
            config: config.clone(),
            template: Template::new(config, protocol::UDP),
            buffers: Buffers::new(payload, config.buffers),
            ports: ports(config, queue),
            next: 0,
            counts: Totals::default(),
        }
    }
}

impl Peer for Source {
    fn input(&mut self, packet: Packet, out: &mut Batch) {
        take(&packet, &self.config, &mut self.counts, out);
    }

    fn output(&mut self, out: &mut Vec<Packet>, max: usize) {
        if self.ports.is_empty() {
            return;
        }
        for _ in 0..max {
            let port = self.ports[self.next];
            self.next = (self.next + 1) % self.ports.len();
            let payload = self.buffers.next(usize::MAX);
            self.counts.packets_sent += 1;
            self.counts.bytes_sent += payload.0.len() as u64;
            out.push(self.template.datagram(port, self.config.stack_port, payload));
        }
    }

    fn ready(&self) -> bool {
        !self.ports.is_empty()
    }

    fn counts(&mut self) -> &mut Totals {
        &mut self.counts
    }
}
