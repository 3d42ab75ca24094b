//! What the simulated machine charges for ([`Costs`]), straight from a calibration.
//!
//! Layers, locks, rings, wake-ups, context switches and cache lines are taken as
//! they were measured. What no calibration has is assumed (`assumed`): how many
//! cache lines a state has, and what small steps take.

use crate::Work;
use crate::calibration::{Calibration, Layers as Measured, Primitives};
use crate::simulator::Costs;
use crate::simulator::costs::{
    Caches, Extra, Frames, HandOff, Layers, LockCosts, Rounds, Steps, Threads,
};
use std::collections::BTreeMap;
use sync::LockKind;
use sync::by_name::Waiting;

/// Assumptions about what no calibration has. Times are ns of the fitted machine.
mod assumed {
    /// Bytes of a connection's state and buffers that a processor's cache must hold.
    pub const CONNECTION_BYTES: f64 = 2048.0;
    /// Lines of a connection's state that an operation writes.
    pub const CONNECTION_LINES: f64 = 6.0;
    /// Lines of a domain that a visit writes.
    pub const UNIT_LINES: f64 = 8.0;
    /// Lines of a packet that are read by the thread that it is handed to.
    pub const PACKET_LINES: f64 = 3.0;
    /// Lines of a thread's own data.
    pub const THREAD_LINES: f64 = 16.0;
    /// Coefficient of variation of an operation's work.
    pub const VARIATION: f64 = 0.25;
    /// How long a thread spins for a lock before it parks, ns.
    pub const SPIN_NS: f64 = 2_000.0;
}

/// Costs straight from a calibration, for payload of `bytes`.
pub(super) fn unfitted(
    calibration: &Calibration,
    work: Work,
    bytes: usize,
    notes: &mut Vec<String>,
) -> Costs {
    let primitives = &calibration.primitives;
    let layers = calibration.layers.get(&work).copied().unwrap_or_else(|| {
        notes
            .push(format!("the calibration has no layers of {work}: shares of TCP rr are assumed"));
        stand_in(work)
    });
    let (fixed, per_byte) = by_layer(calibration, work, &layers, bytes);
    let device = primitives.devices.get("memory").copied().unwrap_or_default();
    Costs {
        layers: fixed,
        layers_per_byte: per_byte,
        frames: Frames {
            per_operation_in: layers.packets_in,
            per_operation_out: layers.packets_out,
        },
        rounds: Rounds { empty_poll_ns: device.empty_ns.value, scan_ns: 2.0, ..Rounds::default() },
        locks: locks(primitives),
        steps: Steps {
            demultiplex_ns: 5.0,
            filter_ns: 25.0,
            lookup_ns: 25.0,
            ticket_ns: 10.0,
            schedule_ns: 40.0,
            open_ns: 0.0,
        },
        hand_off: hand_off(primitives),
        threads: threads(primitives),
        caches: caches(calibration),
        extra: Extra::default(),
        variation: assumed::VARIATION,
    }
}

/// The locks of every kind that the calibration has measured, by the kind's name.
fn locks(primitives: &Primitives) -> BTreeMap<String, LockCosts> {
    let line = primitives.line_transfer_ns.value;
    let locks = primitives.locks.iter().filter_map(|(name, lock)| {
        let name = if name == "rw" { "readers-writer" } else { name };
        let waiting = name.parse::<LockKind>().ok()?.waiting();
        let costs = LockCosts {
            alone_ns: lock.alone_ns.value,
            contended_ns: lock.contended_ns.value,
            per_waiter_ns: if waiting == Waiting::Spin { line } else { 0.0 },
            spin_ns: if waiting == Waiting::Park { assumed::SPIN_NS } else { 0.0 },
        };
        Some((name.to_owned(), costs))
    });
    locks.collect()
}

fn hand_off(primitives: &Primitives) -> HandOff {
    HandOff {
        item_ns: primitives.ring_batched_item_ns.value,
        batch_ns: primitives.ring_item_ns.value,
        ..HandOff::default()
    }
}

fn threads(primitives: &Primitives) -> Threads {
    Threads {
        wake_call_ns: primitives.wake_call_ns.value,
        wake_up_ns: primitives.wake_up_ns.value,
        context_switch_ns: primitives.context_switch_ns.value,
        ..Threads::default()
    }
}

fn caches(calibration: &Calibration) -> Caches {
    Caches {
        line_transfer_ns: calibration.primitives.line_transfer_ns.value,
        connection_lines: assumed::CONNECTION_LINES,
        unit_lines: assumed::UNIT_LINES,
        packet_lines: assumed::PACKET_LINES,
        thread_lines: assumed::THREAD_LINES,
        connections_held: calibration.machine.l2_bytes as f64 / assumed::CONNECTION_BYTES,
        miss_ns: 0.0,
    }
}

/// Layers of an operation where none were measured. Only their shares matter, as the
/// fit sets the sum.
fn stand_in(work: Work) -> Measured {
    let (packets_in, packets_out) = match work {
        Work::TcpRr | Work::UdpRr => (1.0, 1.0),
        Work::TcpSend => (0.5, 1.0),
        Work::TcpReceive => (1.0, 0.5),
        Work::UdpSend => (0.0, 1.0),
        Work::UdpReceive => (1.0, 0.0),
        // SYN, ACK with the message, FIN and ACK, each way.
        Work::TcpCrr => (4.0, 4.0),
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

/// The costs of layers up and down, for an operation and for a byte of it.
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
        Work::TcpRr | Work::UdpRr | Work::TcpCrr => (both, sum + copy),
    };
    // The measured times include the payload's costs. These are subtracted, but at most
    // half of a layer's time.
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
