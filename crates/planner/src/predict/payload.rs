//! Payload of another size than was measured: the difference is copied and summed.

use super::{Basis, Case, Figure, Predictor};
use crate::Work;
use crate::calibration::{ByLevel, Calibration};

/// Packets whose payload is the working set: two batches from the application, and two
/// to it.
const PACKETS: usize = 128;

/// Relative uncertainty of the cost of the difference.
const DOUBT: f64 = 0.3;

/// Adjusts `figure` to the payload of the case.
pub(super) fn adjust(predictor: &Predictor, case: &Case, figure: Figure) -> Figure {
    let measured = predictor.bytes(&case.organization, case.work).unwrap_or(case.bytes);
    if measured == case.bytes {
        return figure;
    }
    let longer_ns = (case.bytes as f64 - measured as f64) * ns_per_byte(predictor, case);
    // The time between operations, and the number of operations in parallel.
    let between_ns = 1e9 / figure.value.ln.exp();
    let alone = predictor.of(&case.organization, case.work, 1);
    let alone = alone.map(|one| one.throughput.at(case.connections).ln);
    let at_a_time = alone.map_or(1.0, |one| (figure.value.ln - one).exp());
    let at_a_time = at_a_time.clamp(1.0, case.processors as f64);
    let changed_ns = (between_ns + longer_ns / at_a_time).max(between_ns * 0.2);
    let change = (changed_ns / between_ns).ln();
    let mut figure = figure;
    figure.value.ln -= change;
    figure.value.error = figure.value.error.hypot(DOUBT * change);
    figure.basis = match figure.basis {
        Basis::Modelled => Basis::Modelled,
        _ => Basis::Extrapolated,
    };
    figure
}

/// The time of a byte of payload in an operation, ns of a processor: one copy with its
/// sum on the way out, one sum and one copy on the way in.
fn ns_per_byte(predictor: &Predictor, case: &Case) -> f64 {
    let [copy, sum, both] = each_ns(&predictor.calibration, case.bytes);
    match case.work {
        Work::TcpSend | Work::UdpSend => both,
        Work::TcpReceive | Work::UdpReceive => sum + copy,
        Work::TcpRr | Work::UdpRr | Work::TcpCrr => both + sum + copy,
    }
}

/// The time to copy a byte, to sum it, and to do both in one pass, ns of a processor, at
/// the level of the caches where payload of `bytes` an operation is.
pub(super) fn each_ns(calibration: &Calibration, bytes: usize) -> [f64; 3] {
    let (primitives, machine) = (&calibration.primitives, &calibration.machine);
    let set = (PACKETS * bytes) as u64;
    let level = |figure: &ByLevel| {
        if set <= machine.l1_bytes {
            figure.l1.value
        } else if set <= machine.l2_bytes.max(1 << 18) {
            figure.l2.value
        } else {
            figure.dram.value
        }
    };
    [
        level(&primitives.copy_ns_per_byte),
        level(&primitives.checksum_ns_per_byte),
        level(&primitives.copy_checksum_ns_per_byte),
    ]
}
