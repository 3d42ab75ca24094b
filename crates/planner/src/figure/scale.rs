//! Axes whose labels are at the values that there are, if these are few: [`Linear`], and [`Log`],
//! which has as many labels as can be read, however short it is.

use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint, Ranged};
use plotters::coord::types::RangedCoordf64;
use std::ops::Range;

/// More labels than these are too many.
const MOST: usize = 10;
/// Fewer are too few to read a value by.
const LEAST: usize = 3;

/// A logarithmic axis, and where it has labels.
#[derive(Clone, Debug)]
pub(super) struct Log {
    range: Range<f64>,
    marks: Vec<f64>,
}

impl Log {
    /// Of values above 0. Labels are at `own`, if these are few and apart from each other, else at round
    /// numbers.
    pub(super) fn new(range: Range<f64>, own: &[f64]) -> Log {
        let marks = few(own, &range, f64::ln).unwrap_or_else(|| round(&range));
        Log { range, marks }
    }
}

/// The values that there are, if these are few and apart from each other on a scale by `place`.
fn few(own: &[f64], range: &Range<f64>, place: impl Fn(f64) -> f64) -> Option<Vec<f64>> {
    let mut own = own.to_vec();
    own.sort_by(f64::total_cmp);
    own.dedup();
    let total = place(range.end) - place(range.start);
    // Labels stand beside each other.
    let apart = own.windows(2).all(|two| place(two[1]) - place(two[0]) > total / 16.0);
    ((2..=MOST).contains(&own.len()) && apart).then_some(own)
}

/// A linear axis, and where it has labels.
pub(super) struct Linear {
    range: RangedCoordf64,
    marks: Option<Vec<f64>>,
}

impl Linear {
    /// Labels are at `own`, if these are few and apart from each other, else at round numbers.
    pub(super) fn new(range: Range<f64>, own: &[f64]) -> Linear {
        Linear { marks: few(own, &range, |value| value), range: range.into() }
    }
}

impl Ranged for Linear {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, ends: (i32, i32)) -> i32 {
        self.range.map(value, ends)
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        self.marks.clone().unwrap_or_else(|| self.range.key_points(hint))
    }

    fn range(&self) -> Range<f64> {
        self.range.range()
    }
}

/// Round numbers in a range: powers of ten, or some between them, or ends of equal steps.
fn round(range: &Range<f64>) -> Vec<f64> {
    let (first, last) = (range.start.log10().floor() as i32, range.end.log10().ceil() as i32);
    let inside = |values: Vec<f64>| -> Vec<f64> {
        values.into_iter().filter(|value| (range.start..=range.end).contains(value)).collect()
    };
    let by = |every: usize, of: &[f64]| {
        let powers = (first..=last).step_by(every).map(|power| 10_f64.powi(power));
        inside(powers.flat_map(|power| of.iter().map(move |mantissa| mantissa * power)).collect())
    };
    let many: [&[f64]; 3] = [&[1.0], &[1.0, 2.0, 5.0], &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 7.0]];
    let sparse = (1..).map(|every| by(every, many[0])).find(|marks| marks.len() <= MOST);
    let sparse = sparse.unwrap_or_default();
    let finer = many[1..].iter().map(|of| by(1, of));
    let found =
        std::iter::once(sparse).chain(finer).find(|marks| (LEAST..=MOST).contains(&marks.len()));
    found.unwrap_or_else(|| {
        let step = 10_f64.powf(((range.end - range.start) / LEAST as f64).log10().floor());
        let from = (range.start / step).ceil();
        inside((0..=10 * LEAST).map(|n| (from + n as f64) * step).collect())
    })
}

impl Ranged for Log {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (from, to): (i32, i32)) -> i32 {
        let share = (value / self.range.start).ln() / (self.range.end / self.range.start).ln();
        // What is far outside, or not on such an axis at all, is outside.
        from + (f64::from(to - from) * share.clamp(-10.0, 10.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> Range<f64> {
        self.range.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(range: Range<f64>) -> Vec<f64> {
        Log::new(range, &[]).marks
    }

    #[test]
    fn few_values_have_the_labels() {
        let marks = |range: Range<f64>, own: &[f64]| Linear::new(range, own).marks;
        // There are no processors between one and two.
        assert_eq!(marks(1.0..2.0, &[2.0, 1.0, 2.0]), Some(vec![1.0, 2.0]));
        assert_eq!(marks(1.0..64.0, &[1.0, 2.0, 4.0, 8.0, 64.0]), None);
        assert_eq!(marks(0.0..1.0, &[0.5]), None);
    }

    #[test]
    fn however_short_an_axis_is_it_can_be_read() {
        assert_eq!(marks(0.9..1100.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(marks(14.0..110.0), [20.0, 50.0, 100.0]);
        assert_eq!(marks(21.0..80.0), [30.0, 40.0, 50.0, 70.0]);
        assert_eq!(marks(1e-12..1e12).len(), 9);
        for range in [5.1..5.2, 1e-3..1.21e-3, 0.9..1.1, 999.0..1001.0, 1e-300..1e300] {
            let marks = marks(range.clone());
            assert!((2..=30).contains(&marks.len()), "{range:?}: {marks:?}");
            let ends = range.start..=range.end;
            assert!(marks.iter().all(|mark| ends.contains(mark)), "{ends:?}: {marks:?}");
        }
    }

    #[test]
    fn a_few_values_are_their_own_labels() {
        let own = [16.0, 1.0, 2.0, 4.0, 8.0, 8.0];
        assert_eq!(Log::new(0.9..17.6, &own).marks, [1.0, 2.0, 4.0, 8.0, 16.0]);
        // Not if they would stand over each other, or are many.
        assert_eq!(Log::new(0.9..1100.0, &[1.0, 1.1, 1000.0]).marks, marks(0.9..1100.0));
        let many: Vec<f64> = (1..=20).map(f64::from).collect();
        assert_eq!(Log::new(0.9..22.0, &many).marks, marks(0.9..22.0));
    }

    #[test]
    fn its_ends_are_those_of_the_plot() {
        let log = Log::new(1.0..100.0, &[]);
        assert_eq!([1.0, 10.0, 100.0].map(|value| log.map(&value, (400, 0))), [400, 200, 0]);
    }
}
