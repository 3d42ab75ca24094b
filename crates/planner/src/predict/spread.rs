//! The throughput of several processors, each with its share of the connections.

use crate::simulator::scenario::Steering;

/// A sum over processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sum {
    /// Its mean.
    pub(super) mean: f64,
    /// Its standard deviation by chance, relative to the mean.
    pub(super) error: f64,
}

/// From this number of connections, the shares differ by a few percent only, and
/// chance is neglected.
const MANY: usize = 4096;

/// The sum of `f` over `processors`, each with its share of `n` connections. `f` is not
/// called with 0, for which it is 0.
pub(super) fn sum(
    steering: Steering,
    n: usize,
    processors: usize,
    f: impl Fn(usize) -> f64,
) -> Sum {
    let f = |k: usize| if k == 0 { 0.0 } else { f(k) };
    if steering == Steering::Even || n >= MANY || processors == 1 {
        let (share, more) = (n / processors, n % processors);
        let mean = more as f64 * f(share + 1) + (processors - more) as f64 * f(share);
        return Sum { mean, error: 0.0 };
    }
    // Each share is binomial. With two processors, one share determines the other; with
    // more, shares are nearly independent.
    let (mut mean, mut square) = (0.0, 0.0);
    let ln_p = -(processors as f64).ln();
    let ln_q = (1.0 - 1.0 / processors as f64).ln();
    let factorial = |k: usize| libm::lgamma(k as f64 + 1.0);
    for k in 0..=n {
        let ways = factorial(n) - factorial(k) - factorial(n - k);
        let chance = (ways + k as f64 * ln_p + (n - k) as f64 * ln_q).exp();
        if chance > 1e-12 {
            let value = if processors == 2 { (f(k) + f(n - k)) / 2.0 } else { f(k) };
            mean += chance * value;
            square += chance * value * value;
        }
    }
    let deviation = (square - mean * mean).max(0.0).sqrt();
    let independent = if processors == 2 { 1.0 } else { (processors as f64).sqrt() };
    Sum {
        mean: mean * processors as f64,
        error: if mean > 0.0 { deviation / mean / independent } else { 0.0 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_keeps_one_processor_busy() {
        for processors in [1, 2, 20] {
            for steering in [Steering::Even, Steering::Hash] {
                let sum = sum(steering, 1, processors, |_| 7.0);
                assert!((sum.mean - 7.0).abs() < 1e-9, "{sum:?}");
            }
        }
    }

    #[test]
    fn of_two_by_hash_half_share_a_processor() {
        let hashed = sum(Steering::Hash, 2, 2, |_| 1.0);
        assert!((hashed.mean - 1.5).abs() < 1e-9, "{hashed:?}");
        assert!((hashed.error - 1.0 / 3.0).abs() < 1e-9, "{hashed:?}");
        assert_eq!(sum(Steering::Even, 3, 2, |k| k as f64).mean, 3.0);
    }

    #[test]
    fn processors_without_a_connection() {
        // (1 - 1/P)^n of them, on average.
        let (n, processors) = (10, 8);
        let busy = 8.0 * (1.0 - (7.0_f64 / 8.0).powi(10));
        let hashed = sum(Steering::Hash, n, processors, |_| 1.0);
        assert!((hashed.mean - busy).abs() < 1e-9);
        let many = sum(Steering::Hash, 3000, 8, |_| 1.0);
        assert!((many.mean - 8.0).abs() < 1e-6 && many.error < 1e-3, "{many:?}");
    }
}
