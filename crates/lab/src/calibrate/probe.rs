//! [`Probe`]: something that is measured in short samples, in turn with all
//! others, so that a machine that changes its speed changes it for all.

use crate::Error;
use planner::calibration::{Estimate, Primitives};

/// Samples that a probe takes, at least: the least and the greatest of so few
/// are the ends of the interval.
pub(crate) const SAMPLES: usize = 9;

type Sample = Box<dyn FnMut() -> Result<Vec<f64>, Error>>;
type Put = Box<dyn Fn(&mut Primitives, &[Estimate])>;

/// Figures that are measured together, and where they are put.
pub(crate) struct Probe {
    sample: Sample,
    put: Put,
    /// What was measured of each figure.
    samples: Vec<Vec<f64>>,
}

impl Probe {
    /// One figure: `sample` measures it, `put` says which it is.
    pub(crate) fn one(
        mut sample: impl FnMut() -> Result<f64, Error> + 'static,
        put: impl Fn(&mut Primitives) -> &mut Estimate + 'static,
    ) -> Probe {
        let put = move |primitives: &mut Primitives, estimates: &[Estimate]| {
            if let [estimate] = estimates {
                *put(primitives) = *estimate;
            }
        };
        Probe::several(move || Ok(vec![sample()?]), put)
    }

    /// Several.
    pub(crate) fn several(
        sample: impl FnMut() -> Result<Vec<f64>, Error> + 'static,
        put: impl Fn(&mut Primitives, &[Estimate]) + 'static,
    ) -> Probe {
        Probe { sample: Box::new(sample), put: Box::new(put), samples: Vec::new() }
    }

    /// Takes one more sample.
    pub(crate) fn take(&mut self) -> Result<(), Error> {
        let figures = (self.sample)()?;
        self.samples.resize_with(figures.len(), Vec::new);
        for (figure, samples) in figures.into_iter().zip(&mut self.samples) {
            samples.push(figure);
        }
        Ok(())
    }

    /// Forgets the samples so far.
    pub(crate) fn forget(&mut self) {
        self.samples.clear();
    }

    /// Puts what was measured where it belongs.
    pub(crate) fn put(&self, primitives: &mut Primitives) {
        let estimates: Vec<Estimate> = self.samples.iter().map(|s| estimate(s)).collect();
        (self.put)(primitives, &estimates);
    }
}

/// The median of samples, and the order statistics between which the median of
/// what they are samples of lies with at least 95 % confidence, whatever its
/// distribution (Conover 1999, 3.2); of fewer than six, all of them. Zeros of
/// none.
pub(crate) fn estimate(samples: &[f64]) -> Estimate {
    let mut sorted: Vec<f64> = samples.iter().copied().filter(|x| x.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return Estimate::default() };
    let left_out = left_out(sorted.len());
    Estimate {
        value: crate::statistics::median(&sorted),
        low: sorted[left_out],
        high: sorted[last - left_out],
    }
}

/// How many of `n` samples at each end are outside of the interval: as many as
/// leave a chance of at most 2.5 % that the median is beyond the next.
fn left_out(n: usize) -> usize {
    // The chance that exactly k of n are below the median.
    let mut chance = 0.5f64.powi(n.min(1000) as i32);
    let mut below = 0.0;
    let mut k = 0;
    while k < n / 2 {
        below += chance;
        if below > 0.025 {
            break;
        }
        chance *= (n - k) as f64 / (k + 1) as f64;
        k += 1;
    }
    k.saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of Conover 1999, A3, for n at p = 1/2.
    #[test]
    fn intervals_of_order_statistics() {
        let known = [(1, 0), (5, 0), (6, 0), (8, 0), (9, 1), (12, 2), (15, 3), (20, 5), (100, 39)];
        for (n, out) in known {
            assert_eq!(left_out(n), out, "{n} samples");
        }
    }

    #[test]
    fn estimates_are_in_order() {
        assert_eq!(estimate(&[]), Estimate::default());
        assert_eq!(estimate(&[2.0]), Estimate { value: 2.0, low: 2.0, high: 2.0 });
        let samples: Vec<f64> = (1..=9).rev().map(f64::from).collect();
        assert_eq!(estimate(&samples), Estimate { value: 5.0, low: 2.0, high: 8.0 });
        assert_eq!(estimate(&[f64::NAN, 1.0]).high, 1.0);
    }

    #[test]
    fn a_probe_puts_its_figures() {
        let mut n = 0.0;
        let mut probe = Probe::one(
            move || {
                n += 1.0;
                Ok(n)
            },
            |p| &mut p.line_transfer_ns,
        );
        (0..SAMPLES).for_each(|_| probe.take().expect("a figure"));
        let mut primitives = Primitives::default();
        probe.put(&mut primitives);
        assert_eq!(primitives.line_transfer_ns.value, 5.0);
    }
}
