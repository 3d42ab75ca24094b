//! Numbers of processors that were not measured: the universal scalability law
//! (Gunther 1993; Gunther, *Guerrilla Capacity Planning*, 2007, equation 4.31)
//! through those that were.
//!
//! `X(P) = P X(1) / (1 + sigma (P - 1) + kappa P (P - 1))`: `sigma` is what is
//! serial, `kappa` what each processor costs each other. With one measured number
//! beside 1, `kappa` is 0.

use super::{Basis, Case, Figure, Predictor, Steering, Value, spread};

/// What the law is trusted to: so much for each factor e of processors beyond
/// those measured, in logarithms.
const DOUBT: f64 = 0.15;

/// The case at a number of processors that was not measured; `counts` were.
pub(super) fn figure(predictor: &Predictor, case: &Case, counts: &[usize]) -> Figure {
    let near = counts.iter().copied().rfind(|count| *count <= case.processors);
    let near = near.unwrap_or(counts[0]);
    // More processors than connections are of no use, and how many are of use
    // depends on the hash.
    let busy = spread::sum(case.steering, case.connections, case.processors, |_| 1.0);
    let of = |count: usize| {
        let case = Case { processors: count, steering: Steering::Even, ..case.clone() };
        predictor.at_measured(&case, count).value
    };
    let one = if counts[0] == 1 {
        of(1)
    } else {
        Value { ln: of(near).ln - (near as f64).ln(), ..of(near) }
    };
    let points: Vec<(f64, f64)> = counts
        .iter()
        .filter(|count| **count > 1 && **count <= case.connections)
        .map(|count| (*count as f64, (*count as f64) * (one.ln - of(*count).ln).exp()))
        .collect();
    let (sigma, kappa) = law(&points);
    let p = busy.mean.max(1.0);
    let divisor = 1.0 + sigma * (p - 1.0) + kappa * p * (p - 1.0);
    let distance = (case.processors as f64 / near as f64).ln().abs();
    // Without any measurement at several processors, next to nothing is known.
    let doubt = if points.is_empty() && case.processors > 1 { 3.0 * DOUBT } else { DOUBT };
    let error = of(near).error.hypot(doubt * distance).hypot(busy.error);
    Figure { value: Value { ln: one.ln + p.ln() - divisor.ln(), error }, basis: Basis::Modelled }
}

/// `sigma` and `kappa`, neither negative, nearest to the points by least squares:
/// each is a number of processors, and how many times longer than on one alone
/// each of them takes for an operation.
fn law(points: &[(f64, f64)]) -> (f64, f64) {
    let sums = points.iter().fold([0.0; 5], |mut sums, (p, longer)| {
        let (x, y, z) = (p - 1.0, p * (p - 1.0), longer - 1.0);
        for (sum, term) in sums.iter_mut().zip([x * x, x * y, y * y, x * z, y * z]) {
            *sum += term;
        }
        sums
    });
    let [xx, xy, yy, xz, yz] = sums;
    if points.is_empty() {
        return (0.0, 0.0);
    }
    let determinant = xx * yy - xy * xy;
    let sigma_alone = ((xz / xx).max(0.0), 0.0);
    if points.len() == 1 || determinant <= 1e-9 * xx * yy {
        return sigma_alone;
    }
    let sigma = (xz * yy - yz * xy) / determinant;
    let kappa = (xx * yz - xy * xz) / determinant;
    match (sigma >= 0.0, kappa >= 0.0) {
        (true, true) => (sigma, kappa),
        (false, true) => (0.0, (yz / yy).max(0.0)),
        _ => sigma_alone,
    }
}

#[cfg(test)]
mod tests {
    use super::law;

    #[test]
    fn finds_what_the_points_were_made_with() {
        let longer = |p: f64| 1.0 + 0.05 * (p - 1.0) + 0.002 * p * (p - 1.0);
        let points: Vec<(f64, f64)> = [2.0, 4.0, 8.0].map(|p| (p, longer(p))).to_vec();
        let (sigma, kappa) = law(&points);
        assert!((sigma - 0.05).abs() < 1e-9 && (kappa - 0.002).abs() < 1e-9);
        let (sigma, kappa) = law(&[(2.0, 1.3)]);
        assert!((sigma - 0.3).abs() < 1e-9 && kappa == 0.0);
        assert_eq!(law(&[(2.0, 0.9)]), (0.0, 0.0));
        assert_eq!(law(&[]), (0.0, 0.0));
    }
}
