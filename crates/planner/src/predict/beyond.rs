//! Numbers of processors that were not measured. The simulator extrapolates, fitted at
//! the largest measured number that is not above the one in question.
//!
//! The simulator models locks, hand-offs, context switches and the hash. The fit shows
//! what it does not model: all costs had to grow by more for several processors than
//! for one. This remainder may stay constant (a neighbour on the same core) or grow
//! with each processor (cache coherence), like the linear term of the universal
//! scalability law (Gunther 1993). The prediction is the geometric mean of the two, and
//! its interval includes both.

use super::fit::{CONNECTIONS, closed, near};
use super::{Basis, Case, Figure, Predictor, Value};
use crate::Error;

/// Uncertainty of the simulator, in logarithms, for each factor e of processors beyond
/// those measured.
const DOUBT: f64 = 0.12;
/// The same where nothing was measured at several processors.
const BLIND: f64 = 0.35;

/// Predicts a case at a number of processors that was not measured. `counts` are the
/// measured ones.
pub(super) fn figure(
    predictor: &Predictor,
    case: &Case,
    counts: &[usize],
) -> Result<Figure, Error> {
    let near = near(counts, case.processors);
    let fitted = predictor.nearest(case)?;
    let bytes = predictor.bytes(&case.organization, case.work).unwrap_or(case.bytes);
    let connections = case.connections.min(CONNECTIONS);
    let simulated = closed(&Case { bytes, connections, ..case.clone() }, &fitted.costs)?.ln();
    let grown = grown(predictor, case, counts)?;
    let distance = (case.processors as f64 / near as f64).ln().abs();
    let doubt = if near == 1 { BLIND } else { DOUBT } * distance;
    let at_near = predictor.at_measured(&Case { processors: near, ..case.clone() }, near);
    let error = at_near.value.error.hypot(doubt).hypot(grown / 2.0);
    let value = Value { ln: simulated - grown / 2.0, error };
    Ok(Figure { value, basis: Basis::Modelled })
}

/// The logarithm of the factor by which costs grow from the nearest measured number of
/// processors to the case's, if each processor adds as much as those measured did.
pub(super) fn grown(predictor: &Predictor, case: &Case, counts: &[usize]) -> Result<f64, Error> {
    let near = near(counts, case.processors);
    if near == 1 || counts[0] != 1 {
        return Ok(0.0);
    }
    let several = predictor.nearest(case)?;
    let one = predictor.nearest(&Case { processors: 1, ..case.clone() })?;
    Ok(rest(several.factor / one.factor, near, case.processors).ln())
}

/// The factor by which costs grow from `near` processors to `processors`, if they grew
/// by `factor` from one to `near`, and each further processor adds as much.
fn rest(factor: f64, near: usize, processors: usize) -> f64 {
    let each = (factor - 1.0).max(0.0) / (near - 1) as f64;
    let at = |count: usize| 1.0 + each * (count as f64 - 1.0);
    (at(processors) / at(near)).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::rest;

    #[test]
    fn what_each_further_processor_adds() {
        // 10 % for each: 1.1 with two, 1.7 with eight.
        assert!((rest(1.1, 2, 8) - 1.7 / 1.1).abs() < 1e-12);
        assert!((rest(1.3, 4, 8) - 1.7 / 1.3).abs() < 1e-12);
        assert_eq!(rest(0.9, 2, 8), 1.0);
        assert_eq!(rest(1.5, 4, 3), 1.0);
    }
}
