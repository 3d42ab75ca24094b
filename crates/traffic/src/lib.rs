//! The in-memory drivers of the papers: a device whose far side is a simulated
//! peer that runs in the thread which calls the device (Yates 1996 3.2; Schmidt
//! and Suda 1996 4). The network between them loses nothing and takes no time.
//!
//! [`sink`] is Yates's simulated TCP receiver: it takes all data and
//! acknowledges every other packet of each connection. [`source`] is the
//! simulated TCP sender: it sends in order, from templates, as fast as it is
//! asked and the window allows. [`echoed`] and [`udp_echoed`] send messages and
//! wait for their echoes. All open connections and accept them, answer
//! ARP and neighbour discovery, and close when the stack does. There is one peer for each queue, with
//! only flows that are steered to that queue, so that processors share nothing.
#![forbid(unsafe_code)]

mod config;
mod counts;
mod frame;
mod tcp;
mod udp;
mod udp_echo;

pub use config::Config;
pub use counts::{PeerCounts, Totals};

use buffer::Slice;
use counts::{GOING, HELD, OPENING};
use device::memory::{Config as Link, queue_of};
use device::{Batch, Counts, Device, Medium, Queue, Receive, Transmit};
use frame::Template;
use platform::Event;
use platform::Instant;
use platform::Mutex;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;
use wire::{Endpoint, FlowKey, Packet, checksum, ethernet};

/// How often a peer with nothing else to do looks for what was lost.
const REPEAT: Duration = Duration::from_millis(200);
/// Of how many looks that find something to send one is at the clock, too: what
/// was lost on one connection must not wait for all others to pause.
const BUSY: u32 = 64;

/// How often peers that are held look whether they still are.
const LOOK: Duration = Duration::from_millis(1);

/// A device to simulated TCP receivers, which discard what they get.
pub fn sink(config: &Config) -> (Device, Arc<PeerCounts>) {
    device("sink", config, |queue| tcp::Peer::new(config, queue, tcp::Kind::Sink))
}

/// A device to simulated TCP senders.
pub fn source(config: &Config) -> (Device, Arc<PeerCounts>) {
    device("source", config, |queue| tcp::Peer::new(config, queue, tcp::Kind::Source))
}

/// A device to simulated clients of a server that sends blocks (Bohra 2007, 5):
/// they discard what they get and send a message at the end of each block. Beside
/// those connections they open short-lived ones, which they close at once.
pub fn clients(config: &Config) -> (Device, Arc<PeerCounts>) {
    device("clients", config, |queue| tcp::Peer::new(config, queue, tcp::Kind::Clients))
}

/// A device to simulated UDP receivers, which count and discard.
pub fn udp_sink(config: &Config) -> (Device, Arc<PeerCounts>) {
    device("udp-sink", config, |_| udp::Sink::new(config))
}

/// A device to simulated UDP senders: each flow in turn, as fast as the stack
/// receives.
pub fn udp_source(config: &Config) -> (Device, Arc<PeerCounts>) {
    device("udp-source", config, |queue| udp::Source::new(config, queue))
}

/// A device to simulated TCP clients: each connection keeps one message
/// outstanding, which the stack sends back.
pub fn echoed(config: &Config) -> (Device, Arc<PeerCounts>) {
    device("echoed", config, |queue| tcp::Peer::new(config, queue, tcp::Kind::Echoed))
}

/// A device to simulated UDP clients: each flow keeps one datagram outstanding,
/// which the stack sends back, and repeats one that seems lost. A flow counts as
/// established when its first datagram has come back.
pub fn udp_echoed(config: &Config) -> (Device, Arc<PeerCounts>) {
    device("udp-echoed", config, |queue| udp_echo::Echoed::new(config, queue))
}

/// A simulated peer.
trait Peer: Send + 'static {
    /// Takes a packet from the stack. Answers go to `out`.
    fn input(&mut self, packet: Packet, out: &mut Batch);
    /// All connections are open: may be called many times.
    fn go(&mut self, _out: &mut Batch) {}
    /// Puts what is due without having been asked for into `out`: openings, late
    /// acknowledgments, repetitions. Called before each look where nothing waits, and
    /// before some of the others.
    fn control(&mut self, _out: &mut Batch) {}
    /// Puts what has to be begun by now into `out`, whatever waits there.
    fn tick(&mut self, _out: &mut Batch) {}
    /// Sends up to `max` packets of its data.
    fn output(&mut self, out: &mut Vec<Packet>, max: usize);
    /// Would it send something now?
    fn ready(&self) -> bool;
    /// When time alone gives it something to do.
    fn deadline(&self) -> Option<Instant> {
        None
    }
    /// Called before the stack waits, so that there is a deadline.
    fn idle(&mut self) {}
    /// What it did and did not report yet.
    fn counts(&mut self) -> &mut Totals;
}

/// One queue's peer, and what is between it and the stack: on cache lines of its
/// own, for another processor has the next one.
#[repr(align(128))]
struct Station<P> {
    state: Mutex<State<P>>,
    event: Option<Event>,
}

struct State<P> {
    peer: P,
    out: Batch,
    /// Looks of the stack's receiver.
    looks: u32,
    /// The phase that the last look found. A phase that begins between a look and a
    /// sleep must not be slept through.
    phase: u8,
    /// The stack's receiver waits.
    armed: bool,
}

struct Far<P> {
    stations: Box<[Station<P>]>,
    link: Link,
    counts: Arc<PeerCounts>,
}

fn device<P: Peer>(
    name: &str,
    config: &Config,
    peer: impl Fn(usize) -> P,
) -> (Device, Arc<PeerCounts>) {
    let queues = config.link.queues.max(1);
    let counts = Arc::new(PeerCounts::new(queues, config.held));
    let station = |queue| Station {
        state: Mutex::new(State {
            peer: peer(queue),
            out: Batch::new(),
            looks: 0,
            phase: HELD,
            armed: false,
        }),
        event: Event::new().ok(),
    };
    let far = Arc::new(Far {
        stations: (0..queues).map(station).collect(),
        link: config.link.clone(),
        counts: counts.clone(),
    });
    let queue = |queue| Queue {
        receive: Box::new(PeerReceive { far: far.clone(), queue }),
        transmit: Box::new(PeerTransmit { far: far.clone(), queue }),
    };
    let device = Device {
        name: name.into(),
        capabilities: config.link.capabilities(),
        ethernet: config.link.ethernet[0],
        queues: (0..queues).map(queue).collect(),
        queues_detach: false,
        steering: Some(config.link.steering),
        counts: Arc::new(Counts::default()),
        reports: Vec::new(),
    };
    (device, counts)
}

struct PeerReceive<P> {
    far: Arc<Far<P>>,
    queue: usize,
}

impl<P> PeerReceive<P> {
    fn station(&self) -> &Station<P> {
        &self.far.stations[self.queue]
    }
}

impl<P: Peer> Receive for PeerReceive<P> {
    fn receive(&mut self, into: &mut Vec<Packet>, max: usize) -> usize {
        let before = into.len();
        let state = &mut *self.station().state.lock();
        state.phase = self.far.counts.phase();
        match state.phase {
            HELD => {
                let answers = state.out.len().min(max);
                into.extend(state.out.drain(..answers));
                return answers;
            }
            OPENING => {}
            _ => state.peer.go(&mut state.out),
        }
        // A peer whose answers always wait has its turn, too.
        state.looks = state.looks.wrapping_add(1);
        if state.out.is_empty() || state.looks.is_multiple_of(BUSY) {
            state.peer.control(&mut state.out);
        }
        state.peer.tick(&mut state.out);
        let answers = state.out.len().min(max);
        into.extend(state.out.drain(..answers));
        state.peer.output(into, max - answers);
        self.far.counts.add(self.queue, state.peer.counts());
        into.len() - before
    }

    fn wait_fd(&self) -> Option<BorrowedFd<'_>> {
        self.station().event.as_ref().map(AsFd::as_fd)
    }

    fn arm(&mut self) -> bool {
        let station = self.station();
        let state = &mut *station.state.lock();
        state.peer.idle();
        let ready = state.peer.ready() && state.phase != HELD;
        state.armed = station.event.is_some() && state.out.is_empty() && !ready;
        state.armed
    }

    fn disarm(&mut self) {
        let station = self.station();
        station.state.lock().armed = false;
        if let Some(event) = &station.event {
            event.clear();
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let state = self.station().state.lock();
        if state.phase != GOING {
            return Some(Instant::now() + LOOK);
        }
        state.peer.deadline()
    }
}

struct PeerTransmit<P> {
    far: Arc<Far<P>>,
    queue: usize,
}

impl<P: Peer> PeerTransmit<P> {
    /// The queue whose peer a frame of the stack is for: the one that answers
    /// will be steered to.
    fn queue_for(&self, front: &[u8]) -> usize {
        let queues = self.far.stations.len();
        if queues == 1 {
            return 0;
        }
        let Link { steering, medium, .. } = &self.far.link;
        let datagram = match medium {
            Medium::Ethernet => {
                ethernet::Header::parse(front).map_or(&[][..], |(_, at)| &front[at..])
            }
            Medium::Ip => front,
        };
        match steering.answers(datagram) {
            Some(hash) => hash as usize % queues,
            None => queue_of(steering, *medium, front, queues),
        }
    }
}

impl<P: Peer> Transmit for PeerTransmit<P> {
    fn transmit(&mut self, batch: &mut Batch) {
        let limit = self.far.link.ring.max(1);
        let next = |batch: &Batch| batch.front().map(|packet| self.queue_for(packet.front()));
        let mut of_next = next(batch);
        while let Some(queue) = of_next {
            let station = &self.far.stations[queue];
            let mut state = station.state.lock();
            if state.out.len() >= limit {
                return;
            }
            // As many as are for this peer, under one lock.
            while state.out.len() < limit
                && of_next == Some(queue)
                && let Some(packet) = batch.pop_front()
            {
                let State { peer, out, .. } = &mut *state;
                peer.input(packet, out);
                of_next = next(batch);
            }
            self.far.counts.add(queue, state.peer.counts());
            let something = !state.out.is_empty() || state.peer.ready();
            let wake = something && std::mem::take(&mut state.armed);
            drop(state);
            if wake && let Some(event) = &station.event {
                event.signal();
            }
        }
    }

    fn room(&self) -> usize {
        let waiting = self.far.stations[self.queue].state.lock().out.len();
        self.far.link.ring.max(1).saturating_sub(waiting)
    }
}

/// The ports of this queue's share of the flows that peers open: those whose
/// frames are steered to it.
fn ports(config: &Config, queue: usize) -> Vec<u16> {
    let queues = config.link.queues.max(1);
    let share = config.connections / queues + usize::from(queue < config.connections % queues);
    steered(config, queue, config.stack_port, share)
}

/// Up to `count` ports of peers whose flows with `stack_port` are steered to
/// `queue`.
fn steered(config: &Config, queue: usize, stack_port: u16, count: usize) -> Vec<u16> {
    let queues = config.link.queues.max(1);
    let local = Endpoint { address: config.stack.into(), port: stack_port };
    let here = |&port: &u16| {
        let remote = Endpoint { address: config.peer.into(), port };
        let hash = config.link.steering.flow(&FlowKey { local, remote });
        hash as usize % queues == queue
    };
    (1024..=u16::MAX).filter(here).take(count).collect()
}

/// The circular list of payload, with the sum of each.
struct Buffers {
    list: Vec<(Slice, u16)>,
    next: usize,
}

impl Buffers {
    /// Buffers of `payload` bytes, `total` bytes in all, at least one.
    fn new(payload: usize, total: usize) -> Buffers {
        let bytes: Vec<u8> = (0..payload).map(|i| b'a' + (i % 26) as u8).collect();
        let buffer = |_| {
            let slice = Slice::copy_of(&bytes);
            let sum = checksum::sum(&slice);
            (slice, sum)
        };
        let count = (total / payload.max(1)).max(1);
        Buffers { list: (0..count).map(buffer).collect(), next: 0 }
    }

    /// One buffer for each mark, which is its first byte.
    fn marked(payload: usize, marks: u8) -> Buffers {
        let buffer = |mark| {
            let mut bytes = vec![b'm'; payload];
            bytes[..1].fill(mark);
            let slice = Slice::copy_of(&bytes);
            let sum = checksum::sum(&slice);
            (slice, sum)
        };
        Buffers { list: (0..marks).map(buffer).collect(), next: 0 }
    }

    /// The buffer of this number, and its sum.
    fn at(&self, number: usize) -> (Slice, u16) {
        let (slice, sum) = &self.list[number % self.list.len()];
        (slice.clone(), *sum)
    }

    /// The next buffer's first `len` bytes, and their sum.
    fn next(&mut self, len: usize) -> (Slice, u16) {
        let (slice, sum) = &self.list[self.next];
        self.next = (self.next + 1) % self.list.len();
        if len >= slice.len() {
            return (slice.clone(), *sum);
        }
        let part = slice.range(0, len);
        let sum = checksum::sum(&part);
        (part, sum)
    }
}

/// Bytes of payload in a packet of a source whose headers take `headers`.
fn payload(config: &Config, headers: usize) -> usize {
    let largest = config.link.mtu.min(usize::from(u16::MAX)).saturating_sub(headers);
    config.payload.clamp(1, largest.max(1))
}

#[cfg(test)]
mod tests;
