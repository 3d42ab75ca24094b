//! What the simulated machine charges for ([`Costs`]), from what was measured.
//!
//! What a calibration has goes in as it is: layers, locks, rings, wake-ups,
//! switches, caches' lines. What it has not are assumptions (`assumed`): how many
//! lines states have, what small steps take. Then the whole is fitted, so that the
//! simulator reproduces measured cases of the organization that is asked for:
//! first what a round takes, from one connection against a full batch on one
//! processor; then one factor on all costs, from the measured case that is nearest.
//! A factor on all costs is a factor on all times, so one run finds it.

use super::{Case, Predictor, Steering};
use crate::calibration::{Calibration, Layers as Measured};
use crate::simulator::costs::{
    Caches, Extra, Frames, HandOff, Layers, LockCosts, Rounds, Steps, Threads,
};
use crate::simulator::{Arrivals, Costs, Scenario, run};
use crate::{Error, Work};
use catalog::Options;
use std::collections::BTreeMap;

/// What is assumed, as no calibration has it; times are ns of the fitted machine.
mod assumed {
    /// Bytes of a connection's state and buffers that a processor's cache must hold.
    pub const CONNECTION_BYTES: f64 = 2048.0;
    /// Lines of a connection's state that an operation writes.
    pub const CONNECTION_LINES: f64 = 6.0;
    /// Lines of a domain that a visit writes.
    pub const UNIT_LINES: f64 = 8.0;
    /// Lines of a packet that are read where it is handed to.
    pub const PACKET_LINES: f64 = 3.0;
    /// Lines of a thread's own.
    pub const THREAD_LINES: f64 = 16.0;
    /// Coefficient of variation of an operation's work.
    pub const VARIATION: f64 = 0.25;
    /// How long a lock that parks spins before it does, ns.
    pub const SPIN_NS: f64 = 2_000.0;
}

/// Costs of a simulated machine that does what a measured one did.
#[derive(Clone, Debug, PartialEq)]
pub struct Fitted {
    /// The costs.
    pub costs: Costs,
    /// By which factor all costs were changed to reproduce what was measured; 1:
    /// they were right.
    pub factor: f64,
    /// What to know of them; empty if there is nothing.
    pub notes: Vec<String>,
}

/// What a fit depends on: organization, work, processors, connections.
pub(super) type Key = (String, Work, usize, usize);

/// Operations of a run to fit by: enough for closed loads, which vary little.
const OPERATIONS: u64 = 12_000;
/// No more connections than these are simulated to fit by.
pub(super) const CONNECTIONS: usize = 2048;

impl Predictor {
    /// What a simulated machine charges for, fitted to the cases of `case`'s
    /// organization and work that were measured. The processors of `case` choose
    /// the case to fit to: the most that were measured and are not more.
    ///
    /// # Errors
    /// If the calibration knows nothing of the organization or of the work, or the
    /// organization cannot be simulated.
    pub fn costs(&self, case: &Case) -> Result<Fitted, Error> {
        let counts = self.processors(&case.organization, case.work);
        let mut fitted = self.nearest(case)?;
        if !counts.contains(&case.processors) {
            let grown = super::beyond::grown(self, case, &counts)?;
            scale(&mut fitted.costs, (grown / 2.0).exp());
        }
        Ok(fitted)
    }

    /// Fitted at the nearest number of processors; what was fitted once is kept.
    pub(super) fn nearest(&self, case: &Case) -> Result<Fitted, Error> {
        let entry = super::check(case)?;
        let counts = self.processors(entry.name, case.work);
        if counts.is_empty() {
            return Err(self.unknown(entry, case.work));
        }
        let near = super::beyond::near(&counts, case.processors);
        let connections = case.connections.min(CONNECTIONS);
        let key = (entry.name.to_owned(), case.work, near, connections);
        let known = |fitted: &BTreeMap<Key, Fitted>| fitted.get(&key).cloned();
        if let Some(fitted) = self.fitted.lock().ok().and_then(|fitted| known(&fitted)) {
            return Ok(fitted);
        }
        let fitted = self.fit(&key, counts.contains(&1))?;
        if let Ok(mut all) = self.fitted.lock() {
            all.insert(key, fitted.clone());
        }
        Ok(fitted)
    }

    fn fit(&self, key: &Key, has_one: bool) -> Result<Fitted, Error> {
        let (organization, work, near, connections) = key;
        let bytes = self.bytes(organization, *work).unwrap_or(64);
        let mut notes = Vec::new();
        let mut costs = unfitted(&self.calibration, *work, bytes, &mut notes);
        let like = |processors: usize, connections: usize| Case {
            organization: organization.clone(),
            work: *work,
            processors,
            connections,
            bytes,
            options: Options::default(),
            steering: Steering::Even,
        };
        if has_one {
            self.fit_round(&like, &mut costs)?;
        }
        let target = like(*near, *connections);
        let wanted = self.at_measured(&target, *near).value.ln.exp();
        let factor = closed(&target, &costs)? / wanted;
        scale(&mut costs, factor);
        if !(0.4..=2.5).contains(&factor) {
            notes.push(format!(
                "the simulator's costs for {organization} were off by a factor of {factor:.1} before they were fitted"
            ));
        }
        Ok(Fitted { costs, factor, notes })
    }

    /// What one connection pays for a round and a full batch does not.
    fn fit_round(
        &self,
        like: &impl Fn(usize, usize) -> Case,
        costs: &mut Costs,
    ) -> Result<(), Error> {
        let full = 32;
        let [alone, batch] = [1, full].map(|n| {
            let case = like(1, n);
            let measured_ns = 1e9 / self.at_measured(&case, 1).value.ln.exp();
            closed(&case, costs).map(|rate| (measured_ns, 1e9 / rate))
        });
        let ((alone, alone_now), (batch, batch_now)) = (alone?, batch?);
        // In the machine's own time, which the factor will make the measured one.
        let unit = batch_now / batch;
        let more = (alone - batch) * unit - (alone_now - batch_now);
        let round = more / (1.0 - 1.0 / full as f64);
        costs.extra.round_ns = round.clamp(0.0, 20.0 * alone_now);
        Ok(())
    }
}

/// Operations a second of a closed load, simulated.
///
/// # Errors
/// If it cannot be simulated.
pub(super) fn closed(case: &Case, costs: &Costs) -> Result<f64, Error> {
    let mut scenario = scenario(case, costs);
    let connections = case.connections;
    // A connection without an end to its data keeps a batch going by itself.
    let window = match case.work.is_transactions() {
        true => 1,
        false => (64 / connections).clamp(1, 32),
    };
    scenario.arrivals = Arrivals::Closed { window, think_ns: 0.0 };
    scenario.operations = OPERATIONS.max(4 * connections as u64);
    scenario.warm_up = 0.3;
    Ok(run(&scenario)?.operations_per_s.max(1e-3))
}

/// The scenario of a case, its arrivals still to be chosen.
pub(crate) fn scenario(case: &Case, costs: &Costs) -> Scenario {
    let mut scenario = Scenario::new(
        &case.organization,
        case.processors,
        case.connections,
        case.work,
        costs.clone(),
    );
    scenario.options = case.options.clone();
    scenario.bytes = case.bytes;
    scenario.steering = case.steering;
    scenario
}

/// Costs straight from a calibration, for payload of `bytes`.
fn unfitted(calibration: &Calibration, work: Work, bytes: usize, notes: &mut Vec<String>) -> Costs {
    let primitives = &calibration.primitives;
    let line = primitives.line_transfer_ns.value;
    let layers = calibration.layers.get(&work).copied().unwrap_or_else(|| {
        notes
            .push(format!("the calibration has no layers of {work}: shares of TCP rr are assumed"));
        stand_in(work)
    });
    let (fixed, per_byte) = by_layer(calibration, work, &layers, bytes);
    let locks = primitives.locks.iter().filter_map(|(name, lock)| {
        let name = if name == "rw" { "readers-writer" } else { name };
        sync::LockKind::ALL.iter().find(|kind| kind.name() == name)?;
        let parks = matches!(name, "adaptive" | "os");
        Some((
            name.to_owned(),
            LockCosts {
                alone_ns: lock.alone_ns.value,
                contended_ns: lock.contended_ns.value,
                per_waiter_ns: if matches!(name, "spin" | "ticket") { line } else { 0.0 },
                spin_ns: if parks { assumed::SPIN_NS } else { 0.0 },
            },
        ))
    });
    let device = primitives.devices.get("memory").copied().unwrap_or_default();
    let held = calibration.machine.l2_bytes as f64 / assumed::CONNECTION_BYTES;
    Costs {
        layers: fixed,
        layers_per_byte: per_byte,
        frames: Frames {
            per_operation_in: layers.packets_in,
            per_operation_out: layers.packets_out,
        },
        rounds: Rounds { empty_poll_ns: device.empty_ns.value, scan_ns: 2.0, ..Rounds::default() },
        locks: locks.collect(),
        steps: Steps {
            demultiplex_ns: 5.0,
            filter_ns: 25.0,
            lookup_ns: 25.0,
            ticket_ns: 10.0,
            schedule_ns: 40.0,
            open_ns: 0.0,
        },
        hand_off: HandOff {
            item_ns: primitives.ring_batched_item_ns.value,
            batch_ns: primitives.ring_item_ns.value,
            ..HandOff::default()
        },
        threads: Threads {
            wake_call_ns: primitives.wake_call_ns.value,
            wake_up_ns: primitives.wake_up_ns.value,
            context_switch_ns: primitives.context_switch_ns.value,
            ..Threads::default()
        },
        caches: Caches {
            line_transfer_ns: line,
            connection_lines: assumed::CONNECTION_LINES,
            unit_lines: assumed::UNIT_LINES,
            packet_lines: assumed::PACKET_LINES,
            thread_lines: assumed::THREAD_LINES,
            connections_held: held,
            miss_ns: 0.0,
        },
        extra: Extra::default(),
        variation: assumed::VARIATION,
    }
}

/// Layers of an operation where none were measured: their shares matter, the factor
/// does the rest.
fn stand_in(work: Work) -> Measured {
    let (packets_in, packets_out) = match work {
        Work::TcpRr | Work::UdpRr => (1.0, 1.0),
        Work::TcpSend => (0.5, 1.0),
        Work::TcpReceive => (1.0, 0.5),
        Work::UdpSend => (0.0, 1.0),
        Work::UdpReceive => (1.0, 0.0),
    };
    Measured {
        payload_bytes: 0.0,
        packets_in,
        packets_out,
        batch_in: 16.0,
        receive_ns: 40.0,
        link_ns: 40.0,
        ip_ns: 50.0,
        transport_ns: 200.0,
        application_ns: 60.0,
        transmit_ns: 40.0,
    }
}

/// Layers up and down, for an operation and for a byte of it.
fn by_layer(
    calibration: &Calibration,
    work: Work,
    layers: &Measured,
    bytes: usize,
) -> (Layers, Layers) {
    let [copy, sum, both] = super::payload::each_ns(calibration, bytes);
    let (out, into) = match work {
        Work::TcpSend | Work::UdpSend => (both, 0.0),
        Work::TcpReceive | Work::UdpReceive => (0.0, sum + copy),
        Work::TcpRr | Work::UdpRr => (both, sum + copy),
    };
    // What was measured has its payload's costs in it, but no layer is less than
    // half without them.
    let paid = layers.payload_bytes.min(bytes as f64);
    let less = |ns: f64, per_byte: f64| (ns - per_byte * paid).max(ns / 2.0);
    let packets = (layers.packets_in + layers.packets_out).max(1e-9);
    let up = layers.packets_in / packets;
    let transport_ns = less(layers.transport_ns, into / 2.0);
    let fixed = Layers {
        receive_ns: layers.receive_ns,
        link_in_ns: layers.link_ns * up,
        ip_in_ns: layers.ip_ns * up,
        transport_in_ns: transport_ns * up,
        application_ns: less(layers.application_ns, out + into / 2.0),
        transport_out_ns: transport_ns * (1.0 - up),
        ip_out_ns: layers.ip_ns * (1.0 - up),
        link_out_ns: layers.link_ns * (1.0 - up),
        transmit_ns: layers.transmit_ns.max(0.1),
        presentation_ns: 0.0,
    };
    let per_byte = Layers {
        transport_in_ns: into / 2.0,
        application_ns: out + into / 2.0,
        ..Layers::default()
    };
    (fixed, per_byte)
}

/// All times of `costs`, times `factor`.
fn scale(costs: &mut Costs, factor: f64) {
    let factor = if factor.is_finite() { factor.clamp(1e-3, 1e3) } else { 1.0 };
    for layers in [&mut costs.layers, &mut costs.layers_per_byte] {
        let Layers {
            receive_ns,
            link_in_ns,
            ip_in_ns,
            transport_in_ns,
            application_ns,
            transport_out_ns,
            ip_out_ns,
            link_out_ns,
            transmit_ns,
            presentation_ns,
        } = layers;
        for ns in [
            receive_ns,
            link_in_ns,
            ip_in_ns,
            transport_in_ns,
            application_ns,
            transport_out_ns,
            ip_out_ns,
            link_out_ns,
            transmit_ns,
            presentation_ns,
        ] {
            *ns *= factor;
        }
    }
    let Rounds { round_ns, empty_poll_ns, visit_ns, scan_ns, sleep_ns } = &mut costs.rounds;
    let Steps { demultiplex_ns, filter_ns, lookup_ns, ticket_ns, schedule_ns, open_ns } =
        &mut costs.steps;
    let HandOff { item_ns, batch_ns, sleep_lock_ns, layer_item_ns } = &mut costs.hand_off;
    let Threads { wake_call_ns, wake_up_ns, context_switch_ns, time_slice_ns, spin_yield_ns } =
        &mut costs.threads;
    let Extra { operation_ns, round_ns: extra_ns } = &mut costs.extra;
    let Caches { line_transfer_ns, miss_ns, .. } = &mut costs.caches;
    let rounds = [round_ns, empty_poll_ns, visit_ns, scan_ns, sleep_ns];
    let steps = [demultiplex_ns, filter_ns, lookup_ns, ticket_ns, schedule_ns, open_ns];
    let threads = [wake_call_ns, wake_up_ns, context_switch_ns, time_slice_ns, spin_yield_ns];
    let others = [
        item_ns,
        batch_ns,
        sleep_lock_ns,
        layer_item_ns,
        operation_ns,
        extra_ns,
        line_transfer_ns,
        miss_ns,
    ];
    for ns in rounds.into_iter().chain(steps).chain(threads).chain(others) {
        *ns *= factor;
    }
    for lock in costs.locks.values_mut() {
        let LockCosts { alone_ns, contended_ns, per_waiter_ns, spin_ns } = lock;
        [alone_ns, contended_ns, per_waiter_ns, spin_ns].into_iter().for_each(|ns| *ns *= factor);
    }
}

#[cfg(test)]
mod tests;
