//! [`Costs`]: what the simulated machine charges for. The file format is TOML, so a
//! paper's machine is data. The predictor derives costs from a calibration.
//!
//! All times are nanoseconds of one processor.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use sync::LockKind;

mod figures;

/// What the simulated machine charges for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Costs {
    /// The layers, for an operation.
    pub layers: Layers,
    /// The layers, for a byte of an operation's payload.
    pub layers_per_byte: Layers,
    /// Frames of an operation.
    pub frames: Frames,
    /// The loop of a thread.
    pub rounds: Rounds,
    /// Locks by [`LockKind::name`]. For a kind that is missing, `adaptive` is used.
    pub locks: BTreeMap<String, LockCosts>,
    /// Steps of protocols that only some organizations take.
    pub steps: Steps,
    /// The hand-off of packets between threads.
    pub hand_off: HandOff,
    /// The scheduler of threads.
    pub threads: Threads,
    /// Caches.
    pub caches: Caches,
    /// Additions that a fit to measurements makes.
    pub extra: Extra,
    /// Coefficient of variation of an operation's work, from 0 (constant) to 1
    /// (exponential).
    pub variation: f64,
}

/// Time of an operation in each layer on one processor that has all data in its
/// cache, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Layers {
    /// To take its frames from the device.
    pub receive_ns: f64,
    /// Link layer, up.
    pub link_in_ns: f64,
    /// IP, up.
    pub ip_in_ns: f64,
    /// TCP or UDP, up.
    pub transport_in_ns: f64,
    /// The application in its connection's turn.
    pub application_ns: f64,
    /// TCP or UDP, down.
    pub transport_out_ns: f64,
    /// IP, down.
    pub ip_out_ns: f64,
    /// Link layer, down.
    pub link_out_ns: f64,
    /// To give its frames to the device.
    pub transmit_ns: f64,
    /// The presentation layer: outside of what is exclusive.
    pub presentation_ns: f64,
}

/// Frames for an operation, on average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Frames {
    /// From the device; 0 if the stack sends of its own accord.
    pub per_operation_in: f64,
    /// To the device.
    pub per_operation_out: f64,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames { per_operation_in: 1.0, per_operation_out: 1.0 }
    }
}

/// The loop of a thread, without the work on packets, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rounds {
    /// A round that found packets.
    pub round_ns: f64,
    /// A poll of an empty queue of the device.
    pub empty_poll_ns: f64,
    /// A visit of a domain (clock, timers, ready list), without its lock.
    pub visit_ns: f64,
    /// A check whether a group has work.
    pub scan_ns: f64,
    /// To announce sleep and to fall asleep.
    pub sleep_ns: f64,
}

/// The costs of a lock, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LockCosts {
    /// To take and release it without contention.
    pub alone_ns: f64,
    /// The transfer from one thread to the next, on another processor, under
    /// contention.
    pub contended_ns: f64,
    /// The addition to that for each further waiting thread.
    pub per_waiter_ns: f64,
    /// How long a thread spins before it parks, for kinds of locks that park.
    pub spin_ns: f64,
}

/// Steps that only some organizations take, ns a packet or as named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Steps {
    /// To find a packet's unit by its steering hash.
    pub demultiplex_ns: f64,
    /// To find a packet's connection by its five-tuple.
    pub filter_ns: f64,
    /// To look a flow up in a shard of the shared table, under the shard's lock.
    pub lookup_ns: f64,
    /// To draw a ticket for a packet.
    pub ticket_ns: f64,
    /// To choose a socket or to put it back, under the scheduler's lock.
    pub schedule_ns: f64,
    /// To open and close a connection: the addition to an operation of a short-lived
    /// connection.
    pub open_ns: f64,
}

/// Handing packets from one thread to another, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HandOff {
    /// To put a packet in and take it out.
    pub item_ns: f64,
    /// To put a batch in, and again to take it out.
    pub batch_ns: f64,
    /// The cost of a wait on a sleep lock to the thread that waited, without the
    /// context switch (Schmidt 4.1: Condition objects).
    pub sleep_lock_ns: f64,
    /// The addition for each message between two layers, for the thread that puts it
    /// into the queue and again for the one that takes it out (Schmidt 4.1).
    pub layer_item_ns: f64,
}

/// The scheduler of threads, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Threads {
    /// To wake a sleeping thread: time of the waking thread.
    pub wake_call_ns: f64,
    /// The time from that call until the woken thread can run.
    pub wake_up_ns: f64,
    /// A processor's change from one thread to another.
    pub context_switch_ns: f64,
    /// How long a thread runs while others wait for its processor.
    pub time_slice_ns: f64,
    /// How long a thread spins before it lets others run on its processor.
    pub spin_yield_ns: f64,
}

impl Default for Threads {
    fn default() -> Threads {
        Threads {
            wake_call_ns: 0.0,
            wake_up_ns: 0.0,
            context_switch_ns: 0.0,
            time_slice_ns: 3e6,
            spin_yield_ns: 2e3,
        }
    }
}

/// Caches. A state moves when it is used on another processor than before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Caches {
    /// To get a line that another processor has written, ns.
    pub line_transfer_ns: f64,
    /// Lines of a connection's state that an operation writes.
    pub connection_lines: f64,
    /// Lines of a domain (lists, timers, pool) that a visit writes.
    pub unit_lines: f64,
    /// Lines of a packet that are read by the thread that it is handed to.
    pub packet_lines: f64,
    /// Lines of a thread's own data that are cold on another processor.
    pub thread_lines: f64,
    /// Connections whose state fits into a processor's cache; 0: all.
    pub connections_held: f64,
    /// The addition to an operation on a connection whose state does not fit, ns.
    pub miss_ns: f64,
}

/// Additions that a fit to measurements makes, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Extra {
    /// To each operation, where its connection is processed.
    pub operation_ns: f64,
    /// To each round with packets.
    pub round_ns: f64,
}

impl Costs {
    /// Reads a file's text.
    ///
    /// # Errors
    /// [`Error::File`], in one line.
    pub fn parse(text: &str) -> Result<Costs, Error> {
        let costs: Costs = toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            let message = error.message().replace('\n', " ");
            Error::File(format!("costs, line {line}: {message}"))
        })?;
        costs.check()?;
        Ok(costs)
    }

    /// The costs of a lock of this kind.
    pub fn lock(&self, kind: LockKind) -> LockCosts {
        let by = |kind: LockKind| self.locks.get(kind.name()).copied();
        by(kind).or_else(|| by(LockKind::Adaptive)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
