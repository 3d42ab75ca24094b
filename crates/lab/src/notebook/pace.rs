//! Runs at one pace of the machine.

use super::estimate::LEAST;
use crate::measure::speed::{self, Paces};

/// Those of `runs` at the pace that most of them had, if these are as many as an interval takes
/// ([`LEAST`]); otherwise all: a figure over two paces is less sure, but none would be no answer. Where
/// the pace of a run is not known, all count, too.
pub(super) fn of_one_pace<T>(runs: Vec<T>, paces: impl Fn(&T) -> Option<Paces>) -> Vec<T> {
    let all: Option<Vec<Paces>> = runs.iter().map(&paces).collect();
    let steady: Vec<f64> = all.into_iter().flatten().filter_map(Paces::steady).collect();
    let Some(usual) = speed::usual(&steady) else { return runs };
    let is_usual = |run: &T| {
        paces(run).and_then(Paces::steady).is_some_and(|piece| speed::is_alike(piece, usual))
    };
    if runs.iter().filter(|run| is_usual(run)).count() < LEAST {
        return runs;
    }
    runs.into_iter().filter(is_usual).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(pieces: &[[f64; 2]]) -> Vec<Option<Paces>> {
        pieces.iter().map(|two| Some(Paces::from(*two))).collect()
    }

    #[test]
    fn runs_at_the_pace_of_most_count() {
        let mut mixed = runs(&[[45.0, 46.0]; 4]);
        mixed.extend(runs(&[[73.0, 75.0]; 5]));
        mixed.extend(runs(&[[45.0, 75.0]]));
        let counted = of_one_pace(mixed.clone(), |run| *run);
        assert_eq!(counted, mixed[4..9]);
        // Of too few runs there would be no interval.
        let few = mixed[..8].to_vec();
        assert_eq!(of_one_pace(few.clone(), |run| *run), few);
        // Of a run it is not known.
        mixed[0] = None;
        assert_eq!(of_one_pace(mixed.clone(), |run| *run), mixed);
    }
}
