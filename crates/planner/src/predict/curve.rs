//! [`Curve`]: a figure as a function of the number of connections, through measured
//! points.
//!
//! A round of a stack with `n` packets costs `c n + o`. So an operation costs
//! `c + o / n` while there are fewer packets than a batch. Between small numbers of
//! connections, the time of an operation is interpolated in `1 / n`. Beyond a batch,
//! caches matter, which fill over orders of magnitude. There, the figure's logarithm is
//! interpolated in `ln n`. Beyond its ends a curve is flat. Between two points it never
//! exceeds both, nor is it below both.

use super::Basis;

/// The number of connections at which batches are full.
const KNEE: f64 = 64.0;

/// Uncertainty of a curve beyond its ends, in logarithms, for each factor e of
/// connections.
const BEYOND: f64 = 0.06;

/// A figure, as its logarithm, and the half-width of its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Value {
    pub(super) ln: f64,
    pub(super) error: f64,
}

/// Figures by connections.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    points: Vec<(f64, Value)>,
}

impl Curve {
    /// A curve through one or more points. Several points for the same number are
    /// averaged.
    pub(super) fn new(points: impl IntoIterator<Item = (usize, Value)>) -> Curve {
        let mut points: Vec<(usize, Value)> = points.into_iter().collect();
        points.sort_by_key(|(n, _)| *n);
        let same = points.chunk_by(|a, b| a.0 == b.0).map(|same| {
            let count = same.len() as f64;
            let mean = |f: fn(&Value) -> f64| same.iter().map(|(_, v)| f(v)).sum::<f64>() / count;
            (same[0].0 as f64, Value { ln: mean(|v| v.ln), error: mean(|v| v.error) })
        });
        Curve { points: same.collect() }
    }

    /// The basis of the value for `n` connections.
    pub(super) fn basis(&self, n: usize) -> Basis {
        let n = n as f64;
        let [first, last] = [self.points[0].0, self.points[self.points.len() - 1].0];
        if self.points.iter().any(|(at, _)| *at == n) {
            Basis::Measured
        } else if (first..=last).contains(&n) {
            Basis::Interpolated
        } else {
            Basis::Extrapolated
        }
    }

    /// The value for `n` connections.
    pub(super) fn at(&self, n: usize) -> Value {
        let n = n.max(1) as f64;
        let after = self.points.partition_point(|(at, _)| *at < n);
        let beyond = |(at, value): (f64, Value)| Value {
            ln: value.ln,
            error: value.error.hypot(BEYOND * (n / at).ln().abs()),
        };
        match (after.checked_sub(1).map(|i| self.points[i]), self.points.get(after)) {
            (Some(low), Some(high)) => between(low, *high, n),
            (Some(end), None) => beyond(end),
            (None, Some(end)) => beyond(*end),
            (None, None) => Value { ln: 0.0, error: 1.0 },
        }
    }
}

fn between((low, a): (f64, Value), (high, b): (f64, Value), n: f64) -> Value {
    let by_inverse = (1.0 / low - 1.0 / n) / (1.0 / low - 1.0 / high);
    let by_logarithm = (n / low).ln() / (high / low).ln();
    // A round's overhead is shared by its operations, so times are interpolated.
    let time = (-a.ln).exp() + by_inverse * ((-b.ln).exp() - (-a.ln).exp());
    let [inverse, logarithm] = [-time.ln(), a.ln + by_logarithm * (b.ln - a.ln)];
    let ln = if high <= KNEE {
        inverse
    } else if low >= KNEE / 2.0 {
        logarithm
    } else {
        f64::midpoint(inverse, logarithm)
    };
    let doubt = (inverse - logarithm).abs() / 2.0;
    let error = a.error + by_logarithm * (b.error - a.error);
    Value { ln, error: error.hypot(doubt) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(usize, f64)]) -> Curve {
        let value = |x: f64| Value { ln: x.ln(), error: 0.01 };
        Curve::new(points.iter().map(|(n, x)| (*n, value(*x))))
    }

    #[test]
    fn goes_through_its_points_and_not_beyond_them() {
        let curve = curve(&[(1, 100.0), (32, 400.0), (1024, 300.0)]);
        for (n, x) in [(1, 100.0), (32, 400.0), (1024, 300.0), (5000, 300.0)] {
            assert!((curve.at(n).ln.exp() - x).abs() < 1e-9);
        }
        for n in 1..32 {
            assert!((100.0..=400.001).contains(&curve.at(n).ln.exp()));
            assert!(curve.at(n).ln < curve.at(n + 1).ln, "{n}");
        }
        assert!(curve.at(5000).error > curve.at(1025).error);
        assert_eq!(curve.basis(32), Basis::Measured);
        assert_eq!(curve.basis(33), Basis::Interpolated);
        assert_eq!(curve.basis(1025), Basis::Extrapolated);
    }

    #[test]
    fn overhead_of_a_round_is_shared() {
        // 100 ns an operation and 500 a round of at most 32.
        let rate = |n: usize| 1e9 / (100.0 + 500.0 / n.min(32) as f64);
        let curve = curve(&[(1, rate(1)), (4, rate(4)), (32, rate(32)), (1024, rate(1024))]);
        for n in 1..2000 {
            let error = (curve.at(n).ln - rate(n).ln()).abs();
            assert!(error < 0.06, "{n}: {error}");
        }
    }

    #[test]
    fn of_several_at_one_number_the_mean() {
        let curve = curve(&[(8, 100.0), (8, 121.0)]);
        assert!((curve.at(8).ln.exp() - 110.0).abs() < 1e-9);
        assert!((curve.at(1).ln.exp() - 110.0).abs() < 1e-9);
    }
}
