//! Quantiles of Student's t distribution, by `libm`: the same on every machine.

/// The value that Student's t with `freedom` degrees (above 0) is below with
/// probability `share` (between 0 and 1, both excluded).
///
/// By bisection of the distribution function, which is an incomplete beta function
/// (Abramowitz and Stegun 26.7.1): to about 12 digits.
pub fn student_t(share: f64, freedom: f64) -> f64 {
    if share < 0.5 {
        return -student_t(1.0 - share, freedom);
    }
    // P(T > t) = I(freedom / (freedom + t²); freedom/2, 1/2) / 2 falls with t, and
    // for t² = freedom (1 - x) / x it is I(x) / 2, which rises with x.
    let tail = 2.0 * (1.0 - share);
    let (mut low, mut high) = (0.0f64, 1.0f64);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if incomplete_beta(middle, 0.5 * freedom, 0.5) < tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    let x = 0.5 * (low + high);
    (freedom * (1.0 - x) / x).sqrt()
}

/// The regularized incomplete beta function I(x; a, b) by its continued fraction
/// (Abramowitz and Stegun 26.5.8).
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // It converges fast below the mean only; above, by symmetry (26.5.2).
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let log_beta = libm::lgamma(a) + libm::lgamma(b) - libm::lgamma(a + b);
    let front = libm::exp(a * libm::log(x) + b * libm::log1p(-x) - log_beta) / a;
    front * fraction(x, a, b)
}

/// The continued fraction 1/(1 + d1/(1 + d2/(1 + ...))), from its tail up: as many
/// terms as any degree of freedom needs.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let mut value = 1.0;
    for m in (1..=300u32).rev() {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        value = 1.0 + even / (1.0 + odd / value);
    }
    let first = -(a + b) * x / (a + 1.0);
    1.0 / (1.0 + first / value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against printed tables (Abramowitz and Stegun, table 26.10).
    #[test]
    fn agrees_with_the_tables() {
        for (share, freedom, t) in [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.975, 9.0, 2.262),
            (0.975, 19.0, 2.093),
            (0.975, 120.0, 1.980),
            (0.995, 5.0, 4.032),
            (0.9995, 10.0, 4.587),
            (0.95, 30.0, 1.697),
            (0.025, 9.0, -2.262),
        ] {
            let computed = student_t(share, freedom);
            assert!((computed - t).abs() < 6e-4, "{share} {freedom}: {computed}");
        }
        // With many degrees of freedom it is the normal distribution.
        assert!((student_t(0.975, 1e6) - 1.959964).abs() < 1e-5);
    }
}
