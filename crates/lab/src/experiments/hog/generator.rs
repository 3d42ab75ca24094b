//! The generator: a thread of its own that drives the device directly, paced by
//! the clock.

use super::paced::Clients;
use super::sent::Sent;
use device::{Batch, Device, Receive, Transmit};
use net::{Call, Config, Domain, Egress, Unit};
use organizations::Clock;
use organizations::runtime::worker::BATCH;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use wire::{
    Address, Endpoint, EthernetAddress, Instant, Packet, Slice, ethernet, ipv4, protocol, udp,
};

/// Packets put before the device at a time, at most.
const BURST: u64 = 64;
/// A generator that had no processor for so long does not make up for it.
const LATE: Duration = Duration::from_millis(2);

/// A sender that is paced.
struct Pace {
    /// Nanoseconds between two packets.
    every: f64,
    /// When the next one is due, ns.
    due: f64,
}

impl Pace {
    fn new(rate: f64, first: f64) -> Pace {
        Pace { every: 1e9 / rate, due: first }
    }

    /// How many are due at `now`, `most` at most.
    fn take(&mut self, now: Instant, most: u64) -> u64 {
        let now = now.as_nanos() as f64;
        if self.due > now {
            return 0;
        }
        // What a generator without a processor has missed is not made up for.
        self.due = self.due.max(now - LATE.as_nanos() as f64);
        let count = (((now - self.due) / self.every) as u64 + 1).min(most);
        self.due += count as f64 * self.every;
        count
    }
}

/// Datagrams from one port to one port, made once.
struct Template {
    head: Packet,
    bytes: usize,
}

impl Template {
    /// Of payloads of `bytes` bytes; without a checksum, which UDP leaves open.
    fn new(
        addresses: [EthernetAddress; 2],
        from: Endpoint,
        to: Endpoint,
        bytes: usize,
    ) -> Template {
        let length = (udp::LEN + bytes) as u16;
        let (source_port, destination_port) = (from.port, to.port);
        let mut head = Packet::new();
        udp::Header { source_port, destination_port, length, checksum: 0 }
            .emit(head.push(udp::LEN));
        let v4 = |address: Address| address.v4().unwrap_or(std::net::Ipv4Addr::LOCALHOST);
        let header = ipv4::Header {
            header_len: ipv4::LEN as u8,
            tos: 0,
            total_len: ipv4::LEN as u16 + length,
            identification: 0,
            dont_fragment: true,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: protocol::UDP,
            source: v4(from.address),
            destination: v4(to.address),
        };
        header.emit(head.push(ipv4::LEN));
        let [source, destination] = addresses;
        let ethertype = ethernet::ethertype::IPV4;
        let link = ethernet::Header { destination, source, vlan: None, ethertype };
        link.emit(head.push(ethernet::LEN));
        Template { head, bytes }
    }

    /// A datagram that says when it was sent.
    fn stamped(&self, now: Instant) -> Packet {
        let mut payload = Slice::with_capacity(self.bytes);
        payload.append(&now.as_nanos().to_be_bytes());
        payload.append(&[0; 2048][..(self.bytes - 8).min(2048)]);
        Packet::like(&self.head, payload)
    }
}

/// The well-behaved senders.
enum Good {
    Udp(Vec<Template>),
    Tcp(Box<Domain<Clients>>, Egress),
}

/// The hog: a datagram again and again.
struct Flood {
    template: Template,
    payload: Slice,
    pace: Pace,
    /// May it?
    on: Arc<AtomicBool>,
}

/// See the module.
pub(super) struct Generator {
    clock: Clock,
    receivers: Vec<Box<dyn Receive>>,
    transmit: Box<dyn Transmit>,
    received: Vec<Packet>,
    good: Good,
    paces: Vec<Pace>,
    flood: Flood,
    counts: Arc<Sent>,
    stop: Arc<AtomicBool>,
}

/// What a generator is made of.
pub(super) struct Parts {
    pub(super) clock: Clock,
    pub(super) device: Device,
    /// The stack's address on the link.
    pub(super) target: EthernetAddress,
    /// Datagrams a second of each well-behaved sender, and of the hog.
    pub(super) rates: [f64; 2],
    /// From where to where the hog sends, and the well-behaved.
    pub(super) hog: (Endpoint, Endpoint),
    pub(super) good: Vec<(Endpoint, Endpoint)>,
    /// They are clients over TCP, of a host with this configuration.
    pub(super) clients: Option<(Arc<Config>, Clients)>,
    /// Bytes of a datagram's payload, from 8.
    pub(super) bytes: usize,
    pub(super) hog_on: Arc<AtomicBool>,
    pub(super) stop: Arc<AtomicBool>,
    pub(super) counts: Arc<Sent>,
}

impl Generator {
    /// `None` if the device has no queue.
    pub(super) fn new(parts: Parts) -> Option<Generator> {
        let Parts { clock, device, target, rates: [rate, flood], bytes, .. } = parts;
        let addresses = [device.ethernet, target];
        let mut receivers = Vec::new();
        let mut transmit = None;
        for queue in device.queues {
            receivers.push(queue.receive);
            transmit.get_or_insert(queue.transmit);
        }
        let template = |(from, to)| Template::new(addresses, from, to, bytes);
        // Spread over the time between two, so that they do not come in bursts.
        let now = clock.now().as_nanos() as f64;
        let count = parts.good.len() as f64;
        let first = |index: usize| now + 1e9 / rate * index as f64 / count;
        let paces = (0..parts.good.len()).map(|n| Pace::new(rate, first(n))).collect();
        let good = match parts.clients {
            None => Good::Udp(parts.good.iter().copied().map(template).collect()),
            Some((config, clients)) => {
                let mut domain = Domain::new(config, Unit::ONLY, clients);
                let mut egress = Egress::new(1);
                for (connection, (_, remote)) in parts.good.iter().copied().enumerate() {
                    let call = Call::Connect { remote, local: None, connection };
                    domain.call(call, clock.now(), &mut egress);
                }
                Good::Tcp(Box::new(domain), egress)
            }
        };
        Some(Generator {
            clock,
            receivers,
            transmit: transmit?,
            received: Vec::new(),
            good,
            paces,
            flood: Flood {
                template: template(parts.hog),
                payload: Slice::copy_of(&vec![0; bytes]),
                pace: Pace::new(flood, now),
                on: parts.hog_on,
            },
            counts: parts.counts,
            stop: parts.stop,
        })
    }

    /// Sends until it is told to stop.
    pub(super) fn run(mut self) {
        let mut batch = Batch::new();
        while !self.stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            for receiver in &mut self.receivers {
                receiver.receive(&mut self.received, BATCH);
            }
            let came = !self.received.is_empty();
            let sent = self.good(now, &mut batch) | self.flood(now, &mut batch);
            if !came && !sent {
                std::thread::yield_now();
            }
        }
    }

    /// Lets the well-behaved send what is due.
    fn good(&mut self, now: Instant, batch: &mut Batch) -> bool {
        let mut due = 0;
        let counts = &self.counts;
        let Good::Tcp(domain, egress) = &mut self.good else {
            let Good::Udp(templates) = &self.good else { return false };
            self.received.clear();
            for (pace, template) in self.paces.iter_mut().zip(templates) {
                let count = pace.take(now, BURST);
                batch.extend((0..count).map(|_| template.stamped(now)));
                due += count;
            }
            counts.good.fetch_add(due, Ordering::Relaxed);
            send(&mut *self.transmit, batch, &counts.good_lost);
            return due > 0;
        };
        for frame in self.received.drain(..) {
            domain.input(frame, now, egress);
        }
        for (index, pace) in self.paces.iter_mut().enumerate() {
            for _ in 0..pace.take(now, BURST) {
                due += 1;
                if let Some(id) = domain.app.tick(index) {
                    domain.call(Call::Notify(id), now, egress);
                }
            }
        }
        if domain.next_timeout().is_some_and(|at| at <= now) {
            domain.on_timeout(now, egress);
        }
        domain.serve(now, egress, BURST as usize);
        // What the ring has no room for waits here, as in any host.
        self.transmit.transmit(egress.batch(0));
        due > 0
    }

    /// Lets the hog send what is due.
    fn flood(&mut self, now: Instant, batch: &mut Batch) -> bool {
        let Flood { template, payload, pace, on } = &mut self.flood;
        let count = pace.take(now, BURST);
        if count == 0 || !on.load(Ordering::Relaxed) {
            return false;
        }
        batch.extend((0..count).map(|_| Packet::like(&template.head, payload.clone())));
        self.counts.hog.fetch_add(count, Ordering::Relaxed);
        send(&mut *self.transmit, batch, &self.counts.hog_lost);
        true
    }
}

/// Puts a batch before the device; what it has no room for is lost.
fn send(transmit: &mut dyn Transmit, batch: &mut Batch, lost: &AtomicU64) {
    if batch.is_empty() {
        return;
    }
    transmit.transmit(batch);
    if !batch.is_empty() {
        lost.fetch_add(batch.len() as u64, Ordering::Relaxed);
        batch.clear();
    }
}
