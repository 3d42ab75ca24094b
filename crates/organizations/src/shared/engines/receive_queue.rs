//! Receive queues (Bohra and Iftode 2007, 3.1): fixed in size, one for each
//! socket, with one producer (the event handler of the engine that has the
//! flow's queue of the device) and one consumer (the engine whose turn the
//! socket has). Each half is behind a test-and-set of its own, which is free
//! unless the halves go from one engine to another just then.

use instrument::TraceStamp;
use net::ConnId;
use platform::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use scheduler::Class;
use scheduler::weights::{self, Largest};
use sync::Locked;
use sync::spin::Spin;
use sync::spsc::{self, Consumer, Producer};
use wire::{FlowKey, Packet};

/// Packets that a receive queue holds: `MaxRQSize`.
pub(crate) const CAPACITY: usize = 1024;

/// The largest sizes, for equation 2: those of the socket with the default
/// buffers, and of every receive queue.
pub(crate) const LARGEST: Largest =
    Largest { send_bytes: 1 << 20, receive_bytes: 1 << 20, packets: CAPACITY as u64 };

/// The connection whose packets are in a queue.
pub(crate) type Held = Option<(FlowKey, ConnId)>;

#[derive(Default)]
struct Input {
    /// Made for the first packet.
    producer: Option<Producer<Packet>>,
    /// Packets put in so far.
    count: u64,
}

#[derive(Default)]
struct Output {
    consumer: Option<Consumer<Packet>>,
    /// Packets taken so far.
    count: u64,
    held: Held,
}

/// A receive queue, and what the event handler has to know of its socket.
pub(crate) struct ReceiveQueue {
    input: Locked<Spin, Input>,
    output: Locked<Spin, Output>,
    /// The weight of the socket's buffers, as of its last turn.
    buffers: AtomicU64,
    /// Its class, as of its last turn.
    class: AtomicU8,
    /// A segment that ends the connection has raised its class once.
    raised: AtomicBool,
    /// The generation of the connection whose packets come now.
    generation: AtomicU32,
    /// A packet that is followed: which one, and its stamp.
    followed: Locked<Spin, Option<(u64, TraceStamp)>>,
    follows: AtomicBool,
    /// Its packets come by the devices of the engine that serves all classes.
    by_first: AtomicBool,
}

impl ReceiveQueue {
    pub(crate) fn new() -> ReceiveQueue {
        ReceiveQueue {
            input: Locked::default(),
            output: Locked::default(),
            buffers: AtomicU64::new(0),
            class: AtomicU8::new(Class::Wait as u8),
            raised: AtomicBool::new(false),
            generation: AtomicU32::new(u32::MAX),
            followed: Locked::new(None),
            follows: AtomicBool::new(false),
            by_first: AtomicBool::new(false),
        }
    }

    /// The class of the socket of connection `held`. `ends`: the segment ends the
    /// connection, which raises the class once.
    #[inline]
    pub(crate) fn class(&self, held: (FlowKey, ConnId), ends: bool) -> Class {
        let generation = held.1.generation;
        if self.generation.load(Ordering::Relaxed) != generation {
            self.reset(held);
        }
        if ends && !self.raised.swap(true, Ordering::Relaxed) {
            return Class::Control;
        }
        match self.class.load(Ordering::Relaxed) {
            c if c == Class::Control as u8 => Class::Control,
            c if c == Class::Ready as u8 => Class::Ready,
            _ => Class::Wait,
        }
    }

    /// The slot is another connection's from now on.
    #[cold]
    fn reset(&self, held: (FlowKey, ConnId)) {
        self.class.store(Class::Wait as u8, Ordering::Relaxed);
        self.raised.store(false, Ordering::Relaxed);
        self.buffers.store(0, Ordering::Relaxed);
        self.output.with(|output| output.held = Some(held));
        self.generation.store(held.1.generation, Ordering::Relaxed);
    }

    /// Its packets come by the devices of this engine.
    #[inline]
    pub(crate) fn came_by(&self, engine: usize) {
        self.by_first.store(engine == 0, Ordering::Relaxed);
    }

    /// Do its packets come by the devices of the first engine?
    #[inline]
    pub(crate) fn comes_by_first(&self) -> bool {
        self.by_first.load(Ordering::Relaxed)
    }

    /// Puts a packet in; a stamp follows it. `Err` if there is no room.
    #[inline]
    pub(crate) fn put(&self, packet: Packet, stamp: TraceStamp) -> Result<(), Packet> {
        self.input.with(|input| {
            input.producer.get_or_insert_with(|| self.make()).push(packet)?;
            input.count += 1;
            if stamp.is_some() && !self.follows.swap(true, Ordering::Relaxed) {
                self.followed.with(|followed| *followed = Some((input.count, stamp)));
            }
            Ok(())
        })
    }

    /// Makes the ring.
    #[cold]
    fn make(&self) -> Producer<Packet> {
        let (producer, consumer) = spsc::ring(CAPACITY);
        self.output.with(|output| output.consumer = Some(consumer));
        producer
    }

    /// Takes up to `most` packets. Returns whose they are, if they are of a
    /// connection, the stamp of the one that was followed, and how many are left.
    #[inline]
    pub(crate) fn take(&self, most: usize, into: &mut Vec<Packet>) -> (Held, TraceStamp, usize) {
        self.output.with(|output| {
            let before = into.len();
            let consumer = &mut output.consumer;
            into.extend(std::iter::from_fn(|| consumer.as_mut()?.pop()).take(most));
            output.count += (into.len() - before) as u64;
            let mut stamp = TraceStamp::NONE;
            if self.follows.load(Ordering::Relaxed) {
                self.followed.with(|followed| {
                    if let Some((_, came)) = followed.take_if(|(at, _)| *at <= output.count) {
                        stamp = came;
                        self.follows.store(false, Ordering::Relaxed);
                    }
                });
            }
            (output.held, stamp, output.len())
        })
    }

    /// The connection is gone: gives the ring back if nothing is left in it, so
    /// that memory follows the connections that are and not all that were.
    #[cold]
    pub(crate) fn retire(&self) {
        self.input.with(|input| {
            self.output.with(|output| {
                if output.consumer.as_ref().is_some_and(Consumer::is_empty) {
                    (input.producer, output.consumer) = (None, None);
                }
            });
        });
    }

    /// Packets in it.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.output.with(|output| output.len())
    }

    /// What a turn has left: the class of the socket, and the weight of its
    /// buffers ([`Pending::buffers`](scheduler::weights::Pending::buffers)).
    #[inline]
    pub(crate) fn turned(&self, class: Class, buffers: u64) {
        self.class.store(class as u8, Ordering::Relaxed);
        self.buffers.store(buffers, Ordering::Relaxed);
    }

    /// The weight of the socket with `packets` packets in its queue. All queues are of
    /// the same size, so each packet counts as one.
    #[inline]
    pub(crate) fn weight(&self, packets: usize) -> u32 {
        weights::weight(self.buffers.load(Ordering::Relaxed), packets as u64)
    }
}

impl Output {
    fn len(&self) -> usize {
        self.consumer.as_ref().map_or(0, Consumer::len)
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
