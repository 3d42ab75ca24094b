//! More cases where a calibration misses itself.
//!
//! Each measured case is predicted from its neighbours ([`held_out`]). Where that is off by more than
//! [`MOST`], either the sample is of an odd moment, or the curve bends between the neighbours. So
//! the case is measured again, and then cases are measured in the middle of the gaps beside it, until
//! nothing misses by more or the time is over. What is farthest off comes first.

use super::held_out;
use super::sampling::{How, Measured, Usual};
use crate::Error;
use crate::measure::case::Case;

/// By how much a case may be off from what its neighbours make of it, as a logarithm.
const MOST: f64 = 0.1;
/// How often an odd case is measured again.
const MORE: usize = 2;
/// How often gaps are halved.
const ROUNDS: usize = 5;
/// How often a further case is tried in the usual state of the machine.
const TRIES: usize = 3;

/// Measures odd cases again and halves gaps, while the patience lasts.
pub(super) fn refine(
    measured: &mut Vec<Measured>,
    how: &How<'_>,
    usual: &Usual,
    progress: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    let mut known = Vec::new();
    for _ in 0..ROUNDS {
        again(measured, &mut known, how, usual, progress)?;
        let further = further(measured);
        if further.is_empty() {
            return Ok(());
        }
        for case in further {
            if how.is_past(1.0) {
                return Ok(());
            }
            progress(&case.organization);
            for _ in 0..TRIES {
                let sample = how.sample(&case, usual)?;
                if let Some(sample) = sample.filter(|sample| sample.fits(usual)) {
                    measured.push(sample);
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Measures each odd case again, once for all rounds, and takes the middle: one sample can be of
/// a moment in which the machine did something else, and all predictions near it would believe it.
fn again(
    measured: &mut [Measured],
    known: &mut Vec<Case>,
    how: &How<'_>,
    usual: &Usual,
    progress: &mut dyn FnMut(&str),
) -> Result<(), Error> {
    for place in odd(measured) {
        let one = &mut measured[place];
        if known.contains(&one.case) {
            continue;
        }
        progress(&one.case.organization);
        let mut samples = vec![one.anchor];
        for _ in 0..MORE {
            if how.is_past(1.0) {
                return Ok(());
            }
            let again = how.sample(&one.case, usual)?;
            samples.extend(again.filter(|again| again.fits(usual)).map(|again| again.anchor));
        }
        one.anchor = held_out::middle(&samples);
        known.push(one.case.clone());
    }
    Ok(())
}

fn odd(measured: &[Measured]) -> Vec<usize> {
    held_out::odd(measured.iter().map(|m| (&m.case, &m.anchor)), MOST)
}

/// The cases in the middle of the gaps beside the odd ones.
fn further(measured: &[Measured]) -> Vec<Case> {
    let mut further = Vec::new();
    for place in odd(measured) {
        let case = &measured[place].case;
        let kind = |m: &&Measured| {
            (&m.case.organization, m.case.work, m.case.processors)
                == (&case.organization, case.work, case.processors)
        };
        let counts: Vec<usize> = measured.iter().filter(kind).map(|m| m.case.connections).collect();
        let halved = halved(&counts, case.connections).into_iter();
        let cases = halved.map(|connections| Case { connections, ..case.clone() });
        for case in cases {
            if !further.contains(&case) {
                further.push(case);
            }
        }
    }
    further
}

/// The middles, in logarithms, of the gaps beside `n`, one of `counts`; none of a gap without a
/// number in it.
fn halved(counts: &[usize], n: usize) -> Vec<usize> {
    let before = counts.iter().copied().filter(|&at| at < n).max();
    let after = counts.iter().copied().filter(|&at| at > n).min();
    let middle = |other: usize| ((n * other) as f64).sqrt().round() as usize;
    let middles = [before, after].into_iter().flatten().map(middle);
    middles.filter(|middle| !counts.contains(middle)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::sampling::tests::{case, measured};

    #[test]
    fn gaps_are_halved_by_their_logarithm() {
        assert_eq!(halved(&[1, 6, 16, 64], 16), [10, 32]);
        assert!(halved(&[1, 2, 3, 4], 3).is_empty());
        assert_eq!(halved(&[1, 3, 6], 1), [2]);
    }

    #[test]
    fn there_are_more_cases_where_a_curve_bends() {
        let rate = |n: usize, rate: f64| {
            let mut one = measured(&case("group-locks", n), 36.0, 36.0);
            let figure = &mut one.anchor.operations_per_s;
            (figure.value, figure.low, figure.high) = (rate, rate, rate);
            one
        };
        let flat: Vec<Measured> = [1, 4, 16, 64, 256].map(|n| rate(n, 1e6)).into();
        assert!(further(&flat).is_empty());
        let mut peak = flat;
        peak[2] = rate(16, 2e6);
        let further = further(&peak);
        let counts: Vec<usize> = further.iter().map(|case| case.connections).collect();
        // The peak is the farthest from what its neighbours make of it.
        assert_eq!(counts[..2], [8, 32], "{counts:?}");
        assert!(further.iter().all(|case| case.organization == "group-locks"));
    }
}
