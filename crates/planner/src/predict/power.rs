//! [`Predictor::power`]: rates go with a power of the machine's speed.
//!
//! The speed is that of a small piece of work in the first-level cache. What else slows a stack down
//! while another guest has a part of the core or of its caches, the piece does not feel, so that a
//! piece that takes a tenth longer means a rate that is a sixth less. By how much is no law: it
//! depends on who the neighbour is. So it is fitted, to what the calibration's own cases are off that
//! are predicted from their neighbours (`held_out`), for one processor and for several.

use super::{Groups, POWER, Predictor, held_out::HeldOut, measured};

/// The powers that are tried, in tenths.
const TRIED: [u8; 9] = [8, 10, 12, 14, 16, 18, 20, 22, 24];
/// So many cases tell.
const ENOUGH: usize = 60;
/// What a case is off beyond this says nothing about the speed, in logarithms.
const MOST: f64 = 0.5;
/// By how much a power has to be better than [`POWER`], in logarithms a case.
const BETTER: f64 = 0.001;

/// The powers, for one processor and for several.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Powers([f64; 2]);

impl Default for Powers {
    fn default() -> Powers {
        Powers([POWER; 2])
    }
}

impl Powers {
    pub(super) fn at(self, processors: usize) -> f64 {
        self.0[usize::from(processors > 1)]
    }
}

impl Predictor {
    /// The power of the machine's speed with which rates go on so many processors, by this calibration.
    pub fn power(&self, processors: usize) -> f64 {
        self.powers.at(processors)
    }

    /// The powers with which the cases of `groups` are least off: that for one processor first, as what
    /// several do is told by what each does alone.
    pub(super) fn fit_powers(&self, groups: &Groups) -> Powers {
        let mut powers = Powers::default();
        for several in [false, true] {
            let with = |power: f64| {
                let mut tried = powers;
                tried.0[usize::from(several)] = power;
                let measured = measured(groups, tried);
                let tried = Predictor { measured, powers: tried, ..self.clone() };
                off(&tried.held_out(), several)
            };
            let Some(usual) = with(POWER) else { continue };
            let candidates = TRIED.map(|tenths| f64::from(tenths) / 10.0);
            let offs = candidates.into_iter().filter_map(|power| Some((with(power)?, power)));
            let best = offs.min_by(|a, b| a.0.total_cmp(&b.0));
            if let Some((_, power)) = best.filter(|(off, _)| *off < usual - BETTER) {
                powers.0[usize::from(several)] = power;
            }
        }
        powers
    }
}

/// By how much cases are off on average, if these are enough.
fn off(held_out: &[HeldOut], several: bool) -> Option<f64> {
    let of = held_out.iter().filter(|one| (one.processors > 1) == several);
    let off: Vec<f64> = of.map(|one| one.off.abs().min(MOST)).collect();
    (off.len() >= ENOUGH).then(|| off.iter().sum::<f64>() / off.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::super::tests::synthetic;
    use super::*;
    use crate::calibration::Anchor;

    #[test]
    fn the_power_is_that_of_the_cases() {
        let mut calibration = synthetic(0.2, 64, &[1, 2]);
        assert_eq!(Predictor::new(&calibration).expect("good").power(1), POWER);
        // More of the same, and the machine's speed changes between them.
        for anchors in calibration.organizations.values_mut() {
            let known = anchors.clone();
            for more in [3_usize, 5, 11, 17, 29, 41, 67, 79, 97, 131, 163, 211, 283] {
                anchors.extend(known.iter().map(|anchor| with(anchor, more)));
            }
            anchors.sort_by_key(|a| (a.work, a.processors, a.connections));
            for (n, anchor) in anchors.iter_mut().enumerate() {
                let estimate = &mut anchor.operations_per_s;
                estimate.value = 1e6;
                let speed = if n % 2 == 0 { 1.1 } else { 0.9 };
                let power = if anchor.processors > 1 { 2.0 } else { 1.0 };
                estimate.value *= f64::powf(speed, power);
                (estimate.low, estimate.high) = (0.99 * estimate.value, 1.01 * estimate.value);
                anchor.speed = speed;
            }
        }
        let predictor = Predictor::new(&calibration).expect("good");
        assert_eq!((predictor.power(1), predictor.power(2)), (1.0, 2.0));
    }

    fn with(of: &Anchor, more: usize) -> Anchor {
        Anchor { connections: of.connections + more, ..*of }
    }
}
