//! [`Costs`]: what the simulated machine charges for. A file of it is TOML, so a
//! paper's machine is data; from a calibration it is made by the predictor.
//!
//! All times are nanoseconds of one processor.

use crate::Error;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use sync::LockKind;

/// No cost may be larger, ns: a second.
const MOST_NS: f64 = 1e9;
/// No count may be larger.
const MOST: f64 = 1e9;

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

impl Layers {
    fn all(&self) -> [f64; 10] {
        [
            self.receive_ns,
            self.link_in_ns,
            self.ip_in_ns,
            self.transport_in_ns,
            self.application_ns,
            self.transport_out_ns,
            self.ip_out_ns,
            self.link_out_ns,
            self.transmit_ns,
            self.presentation_ns,
        ]
    }
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

    /// Are all figures finite, not negative, and not absurd?
    ///
    /// # Errors
    /// [`Error::File`] with the name of the first that is not.
    pub fn check(&self) -> Result<(), Error> {
        for (name, value, most) in self.figures() {
            if !(0.0..=most).contains(&value) {
                return Err(Error::File(format!(
                    "costs: {name} is {value}; give a number from 0 to {most:e}"
                )));
            }
        }
        for name in self.locks.keys() {
            if !LockKind::ALL.iter().any(|kind| kind.name() == name) {
                let names = LockKind::ALL.map(LockKind::name).join(", ");
                return Err(Error::File(format!(
                    "costs: there is no lock called {name:?}; the kinds are {names}"
                )));
            }
        }
        if self.threads.time_slice_ns < 1.0 {
            return Err(Error::File("costs: threads.time_slice_ns must be 1 at least".into()));
        }
        let work: f64 = self.layers.all().iter().chain(&self.layers_per_byte.all()).sum();
        if work < 0.01 {
            return Err(Error::File(
                "costs: no layer takes any time; give [layers] in ns an operation".into(),
            ));
        }
        Ok(())
    }

    fn figures(&self) -> Vec<(String, f64, f64)> {
        const LAYERS: [&str; 10] = [
            "receive_ns",
            "link_in_ns",
            "ip_in_ns",
            "transport_in_ns",
            "application_ns",
            "transport_out_ns",
            "ip_out_ns",
            "link_out_ns",
            "transmit_ns",
            "presentation_ns",
        ];
        let mut all = Vec::new();
        let mut add = |table: &str, names: &[&str], values: &[f64], most: f64| {
            for (name, value) in names.iter().zip(values) {
                all.push((format!("{table}{name}"), *value, most));
            }
        };
        add("layers.", &LAYERS, &self.layers.all(), MOST_NS);
        add("layers_per_byte.", &LAYERS, &self.layers_per_byte.all(), 1e3);
        let Frames { per_operation_in, per_operation_out } = self.frames;
        let names = ["per_operation_in", "per_operation_out"];
        add("frames.", &names, &[per_operation_in, per_operation_out], 1e4);
        let Rounds { round_ns, empty_poll_ns, visit_ns, scan_ns, sleep_ns } = self.rounds;
        let names = ["round_ns", "empty_poll_ns", "visit_ns", "scan_ns", "sleep_ns"];
        add("rounds.", &names, &[round_ns, empty_poll_ns, visit_ns, scan_ns, sleep_ns], MOST_NS);
        for (name, lock) in &self.locks {
            let LockCosts { alone_ns, contended_ns, per_waiter_ns, spin_ns } = *lock;
            let names = ["alone_ns", "contended_ns", "per_waiter_ns", "spin_ns"];
            let values = [alone_ns, contended_ns, per_waiter_ns, spin_ns];
            add(&format!("locks.{name}."), &names, &values, MOST_NS);
        }
        let Steps { demultiplex_ns, filter_ns, lookup_ns, ticket_ns, schedule_ns, open_ns } =
            self.steps;
        let names =
            ["demultiplex_ns", "filter_ns", "lookup_ns", "ticket_ns", "schedule_ns", "open_ns"];
        let values = [demultiplex_ns, filter_ns, lookup_ns, ticket_ns, schedule_ns, open_ns];
        add("steps.", &names, &values, MOST_NS);
        let HandOff { item_ns, batch_ns, sleep_lock_ns, layer_item_ns } = self.hand_off;
        let names = ["item_ns", "batch_ns", "sleep_lock_ns", "layer_item_ns"];
        add("hand_off.", &names, &[item_ns, batch_ns, sleep_lock_ns, layer_item_ns], MOST_NS);
        self.machine_figures(&mut add);
        let Extra { operation_ns, round_ns } = self.extra;
        add("extra.", &["operation_ns", "round_ns"], &[operation_ns, round_ns], MOST_NS);
        add("", &["variation"], &[self.variation], 1.0);
        all
    }

    /// Those of threads and caches, for [`Costs::figures`].
    fn machine_figures(&self, add: &mut impl FnMut(&str, &[&str], &[f64], f64)) {
        let threads = &self.threads;
        let names =
            ["wake_call_ns", "wake_up_ns", "context_switch_ns", "time_slice_ns", "spin_yield_ns"];
        let values = [
            threads.wake_call_ns,
            threads.wake_up_ns,
            threads.context_switch_ns,
            threads.time_slice_ns,
            threads.spin_yield_ns,
        ];
        add("threads.", &names, &values, MOST_NS);
        let caches = &self.caches;
        add(
            "caches.",
            &["line_transfer_ns", "miss_ns"],
            &[caches.line_transfer_ns, caches.miss_ns],
            MOST_NS,
        );
        let names =
            ["connection_lines", "unit_lines", "packet_lines", "thread_lines", "connections_held"];
        let values = [
            caches.connection_lines,
            caches.unit_lines,
            caches.packet_lines,
            caches.thread_lines,
            caches.connections_held,
        ];
        add("caches.", &names, &values, MOST);
    }
}

#[cfg(test)]
mod tests;
