//! What operations take over IPv6 beside IPv4. Both are measured in turn, under `uniprocessor`, so
//! that what the machine does meanwhile is done to both.

use super::layers;
use super::probe::estimate;
use crate::measure::case::{Case, Measured, Timing};
use crate::{Error, Family};
use planner::Work;
use planner::calibration::{Estimate, Layers, OverIpv6, POWER};
use std::collections::BTreeMap;

/// The timing of each sample.
const TIMING: Timing = Timing { warm_up: 0.03, window: 0.01, windows: 5, speed: 0.002 };

/// What was measured of a work.
struct Pairs {
    work: Work,
    bytes: [usize; 2],
    /// Times of an operation over IPv4 and IPv6 when a piece of work took `reference`, ns.
    ns: [Vec<f64>; 2],
    layers: Layers,
}

/// Measures each of `works` so often over both families. Times are for a machine at which the fixed
/// piece of work takes `reference`, ns ([`crate::speed`]).
///
/// # Errors
/// [`Error`].
pub(super) fn measure(
    works: &[Work],
    pairs: usize,
    reference: f64,
    progress: &mut dyn FnMut(f64),
) -> Result<BTreeMap<Work, OverIpv6>, Error> {
    let mut all: Vec<Pairs> = Vec::new();
    for pair in 0..pairs {
        progress(pair as f64 / pairs as f64);
        for (n, &work) in works.iter().enumerate() {
            if pair == 0 {
                let layers = layers::measure(work, Family::V6, &TIMING)?;
                all.push(Pairs { work, bytes: [0; 2], ns: [const { Vec::new() }; 2], layers });
            }
            all[n].take(pair, reference)?;
        }
    }
    Ok(all.into_iter().map(|pairs| (pairs.work, pairs.figures())).collect())
}

impl Pairs {
    /// One more sample of each family, in another order each time; the second at the pace of the
    /// first, if it may be.
    fn take(&mut self, number: usize, reference: f64) -> Result<(), Error> {
        let families = [Family::V4, Family::V6];
        let mut wanted = None;
        for n in [number % 2, (number + 1) % 2] {
            let sample = sample(self.work, families[n], wanted)?;
            wanted = Some(sample.piece_ns);
            self.bytes[n] = sample.bytes;
            let ns = 1e9 / sample.rate().max(f64::MIN_POSITIVE);
            self.ns[n].push(ns * (reference / sample.piece_ns).powf(POWER));
        }
        Ok(())
    }

    fn figures(&self) -> OverIpv6 {
        let [four, six] = &self.ns;
        let ratios: Vec<f64> = six.iter().zip(four).map(|(six, four)| six / four).collect();
        OverIpv6 {
            ipv4_bytes: self.bytes[0],
            ipv6_bytes: self.bytes[1],
            ipv4_ns: estimate(four),
            ipv6_ns: estimate(six),
            ratio: estimate(&ratios),
            layers: self.layers,
        }
    }
}

fn sample(work: Work, family: Family, wanted: Option<f64>) -> Result<Measured, Error> {
    let organization = "uniprocessor".to_owned();
    let case = Case { organization, work, processors: 1, connections: layers::CONNECTIONS };
    case.measure_over(family, &TIMING, wanted, false)
}

/// Brings the times to another speed of the machine, at which a piece of work takes so many times
/// what it took at the one that they are of.
pub(super) fn scale(ipv6: &mut BTreeMap<Work, OverIpv6>, by: f64) {
    let by = by.powf(POWER);
    for over in ipv6.values_mut() {
        for Estimate { value, low, high } in [&mut over.ipv4_ns, &mut over.ipv6_ns] {
            [value, low, high].into_iter().for_each(|ns| *ns *= by);
        }
    }
}
