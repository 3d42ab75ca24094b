//! [`Costs`]: what the simulated machine charges for. A file of it is TOML, so a
//! paper's machine is data; from a calibration it is made by the predictor.
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
    /// Layers, for an operation.
    pub layers: Layers,
    /// Layers, for a byte of an operation's payload.
    pub layers_per_byte: Layers,
    /// Frames of an operation.
    pub frames: Frames,
    /// What a thread's loop costs.
    pub rounds: Rounds,
    /// Locks by [`LockKind::name`]; where a kind is missing, `adaptive` counts.
    pub locks: BTreeMap<String, LockCosts>,
    /// Steps of protocols that only some organizations take.
    pub steps: Steps,
    /// Handing packets from one thread to another.
    pub hand_off: HandOff,
    /// The scheduler of threads.
    pub threads: Threads,
    /// Caches.
    pub caches: Caches,
    /// What measurement adds to the rest.
    pub extra: Extra,
    /// Coefficient of variation of an operation's work, 0 (all the same) to 1
    /// (exponential).
    pub variation: f64,
}

/// Time of an operation in each layer on one processor with all in its cache, ns.
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
    /// From the device; 0: the stack speaks by itself.
    pub per_operation_in: f64,
    /// To the device.
    pub per_operation_out: f64,
}

impl Default for Frames {
    fn default() -> Frames {
        Frames { per_operation_in: 1.0, per_operation_out: 1.0 }
    }
}

/// What a thread's loop costs beside its packets, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Rounds {
    /// A round that found packets.
    pub round_ns: f64,
    /// A look at a queue of the device that is empty.
    pub empty_poll_ns: f64,
    /// To visit a domain (clock, timers, ready list), without its lock.
    pub visit_ns: f64,
    /// To look whether a group has something to do.
    pub scan_ns: f64,
    /// To announce sleep and to go to sleep.
    pub sleep_ns: f64,
}

/// What a lock costs, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LockCosts {
    /// To take and release it with nobody else there.
    pub alone_ns: f64,
    /// From one thread's turn to that of the next, on another processor, when
    /// several want it.
    pub contended_ns: f64,
    /// What each further thread that waits adds to that.
    pub per_waiter_ns: f64,
    /// How long a thread spins before it parks; for the kinds that park.
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
    /// To look a flow up in a shard of the shared table: the lock's hold.
    pub lookup_ns: f64,
    /// To draw a ticket for a packet.
    pub ticket_ns: f64,
    /// To choose a socket, and to put it back: the scheduler's lock's hold.
    pub schedule_ns: f64,
    /// To open and close a connection: what an operation of a short-lived one takes
    /// more.
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
    /// What a *wait* on a sleep lock costs the thread that waited, beside the
    /// context switch (Schmidt 4.1: Condition objects).
    pub sleep_lock_ns: f64,
    /// What each message that passes the queue between two layers takes more, of
    /// the one who puts it in and of the one who takes it out (Schmidt 4.1).
    pub layer_item_ns: f64,
}

/// The scheduler of threads, ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Threads {
    /// To wake a thread that sleeps: time of the one who wakes.
    pub wake_call_ns: f64,
    /// From then until it can run.
    pub wake_up_ns: f64,
    /// A processor's change from one thread to another.
    pub context_switch_ns: f64,
    /// How long a thread runs while others wait for its processor.
    pub time_slice_ns: f64,
    /// How long a thread spins until it lets others run on its processor.
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

/// Caches. A state moves when it is used on another processor than last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Caches {
    /// To get a line that another processor has written, ns.
    pub line_transfer_ns: f64,
    /// Lines of a connection's state that an operation writes.
    pub connection_lines: f64,
    /// Lines of a domain (lists, timers, pool) that a visit writes.
    pub unit_lines: f64,
    /// Lines of a packet that are read where it is handed to.
    pub packet_lines: f64,
    /// Lines of a thread's own that it finds cold on another processor.
    pub thread_lines: f64,
    /// Connections whose state a processor's cache holds; 0: all.
    pub connections_held: f64,
    /// What an operation on a connection that it does not hold takes more, ns.
    pub miss_ns: f64,
}

/// What measurement adds, ns.
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

    /// What a lock of this kind costs.
    pub fn lock(&self, kind: LockKind) -> LockCosts {
        let by = |kind: LockKind| self.locks.get(kind.name()).copied();
        by(kind).or_else(|| by(LockKind::Adaptive)).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
