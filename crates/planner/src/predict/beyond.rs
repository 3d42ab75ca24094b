//! Numbers of processors that were not measured. The simulator goes there from the largest
//! measured number that is not above the one in question, at which it is fitted.
//!
//! The simulator models locks, hand-offs, context switches and the hash. What it does not model
//! makes all costs grow with the number of processors. Between two measured numbers, that growth is
//! known at both ends, and is interpolated in the logarithm of the number.
//!
//! Beyond the largest, only the fit shows it: all costs had to grow by more for several
//! processors than for one. This remainder may stay constant (a neighbour on the same core) or grow
//! with each processor (cache coherence), like the linear term of the universal
//! scalability law (Gunther 1993). The prediction is the geometric mean of the two, and
//! its interval includes both.

use super::fit::{CONNECTIONS, closed, near};
use super::{Basis, Case, Figure, Predictor, Value};
use crate::Error;

/// Uncertainty of the simulator, in logarithms, for each factor e of processors beyond
/// those measured, or between them from the nearer.
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
    let simulated = simulated(predictor, case, case.processors)?;
    let growth = growth(predictor, case, counts)?;
    let far = |from: usize| (case.processors as f64 / from as f64).ln().abs();
    let distance =
        above(counts, case.processors).map_or(far(near), |next| far(near).min(far(next)));
    let doubt = if near == 1 { BLIND } else { DOUBT } * distance;
    let at_near = predictor.at_measured(&Case { processors: near, ..case.clone() }, near);
    let error = at_near.value.error.hypot(doubt).hypot(growth.error);
    let value = Value { ln: simulated - growth.ln, error };
    Ok(Figure { value, basis: Basis::Modelled })
}

/// The logarithm of the rate of the case, simulated on so many processors with the costs that fit
/// the nearest measured number below the case's.
fn simulated(predictor: &Predictor, case: &Case, processors: usize) -> Result<f64, Error> {
    let fitted = predictor.nearest(case)?;
    let bytes = predictor.bytes(&case.organization, case.work).unwrap_or(case.bytes);
    let connections = case.connections.min(CONNECTIONS);
    let case = Case { bytes, connections, processors, ..case.clone() };
    Ok(closed(&case, &fitted.costs)?.ln())
}

/// The smallest measured number of processors above `processors`.
fn above(counts: &[usize], processors: usize) -> Option<usize> {
    counts.iter().copied().find(|count| *count > processors)
}

/// The logarithm of the factor by which all costs grow from the nearest measured number of
/// processors below the case's to the case's, beside what the simulator has.
pub(super) fn growth(predictor: &Predictor, case: &Case, counts: &[usize]) -> Result<Value, Error> {
    let near = near(counts, case.processors);
    let next = above(counts, case.processors).filter(|_| near < case.processors);
    let Some(next) = next else {
        let most = most_grown(predictor, case, counts)?;
        return Ok(Value { ln: most / 2.0, error: most / 2.0 });
    };
    let fewer = Case { connections: case.connections.min(CONNECTIONS), ..case.clone() };
    let at_next = predictor.at_measured(&Case { processors: next, ..fewer.clone() }, next).value;
    let whole = simulated(predictor, &fewer, next)? - at_next.ln;
    let part = (case.processors as f64 / near as f64).ln() / (next as f64 / near as f64).ln();
    // It may come with the first processors more, or with the last.
    let late = part.min(1.0 - part) / 2.0;
    Ok(Value { ln: whole * part, error: (at_next.error * part).hypot(whole * late) })
}

/// The same beyond the largest measured number, if each processor adds as much as those measured
/// did.
fn most_grown(predictor: &Predictor, case: &Case, counts: &[usize]) -> Result<f64, Error> {
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
