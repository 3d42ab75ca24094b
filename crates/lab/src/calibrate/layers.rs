//! What an operation takes in each layer.

use crate::measure::case::{Case, Measured, Timing};
use crate::{Error, Family};
use instrument::{Layer, Report};
use planner::Work;
use planner::calibration::Layers;

/// Connections: few, so that all they have is in the cache.
pub(super) const CONNECTIONS: usize = 16;

/// What an operation of `work` takes under `uniprocessor`, over this family.
///
/// # Errors
/// [`Error`].
pub(crate) fn measure(work: Work, family: Family, timing: &Timing) -> Result<Layers, Error> {
    let organization = "uniprocessor".to_owned();
    let case = Case { organization, work, processors: 1, connections: CONNECTIONS };
    let measured = case.measure_over(family, timing, None, true)?;
    let report = measured.sample.details.as_ref().map(|details| &details.report);
    Ok(report.map_or_else(Layers::default, |report| layers(&measured, report)))
}

/// The instruments' stop-watch reads clocks, which takes time; so what counts of
/// it is each layer's part of all the time.
fn layers(measured: &Measured, report: &Report) -> Layers {
    let operations = measured.operations.max(1.0);
    let all: f64 = Layer::ALL.into_iter().map(|layer| report.layer_s(layer)).sum();
    // Between windows other work is measured, which is not the stack's.
    let operation_ns = 1e9 / measured.rate().max(f64::MIN_POSITIVE);
    let part_ns = |layer| report.layer_s(layer) / all.max(1e-12) * operation_ns;
    let sum = |count: fn(&instrument::ThreadReport) -> u64| {
        report.threads.iter().map(count).sum::<u64>() as f64
    };
    let packets_in = sum(|thread| thread.packets_in);
    Layers {
        payload_bytes: measured.bytes as f64,
        packets_in: packets_in / operations,
        packets_out: sum(|thread| thread.packets_out) / operations,
        batch_in: packets_in / sum(|thread| thread.batches).max(1.0),
        receive_ns: part_ns(Layer::Receive) + part_ns(Layer::Poll),
        link_ns: part_ns(Layer::Link),
        ip_ns: part_ns(Layer::Ip),
        transport_ns: part_ns(Layer::Transport),
        application_ns: part_ns(Layer::Application) + part_ns(Layer::Presentation),
        transmit_ns: part_ns(Layer::Transmit),
    }
}
