//! Figures of many: the median, and how they are spread.

use serde::Serialize;

/// The median; of an even number, the mean of the two in the middle; of none, 0.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        n if n % 2 == 1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted[middle]) / 2.0,
    }
}

/// How figures are spread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Spread {
    /// How many there are.
    pub count: usize,
    /// The least.
    pub min: f64,
    /// One of ten is less.
    pub p10: f64,
    /// Half are less.
    pub p50: f64,
    /// Nine of ten are less.
    pub p90: f64,
    /// The greatest.
    pub max: f64,
}

impl Spread {
    /// The spread of these figures.
    pub(crate) fn of(figures: impl IntoIterator<Item = f64>) -> Spread {
        let mut sorted: Vec<f64> = figures.into_iter().collect();
        sorted.sort_by(f64::total_cmp);
        let Some(last) = sorted.len().checked_sub(1) else { return Spread::default() };
        let at = |part: f64| sorted[(part * last as f64).round() as usize];
        Spread {
            count: sorted.len(),
            min: at(0.0),
            p10: at(0.1),
            p50: at(0.5),
            p90: at(0.9),
            max: at(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_none() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&[]), 0.0);
    }

    #[test]
    fn spread_of_some_and_of_none() {
        let spread = Spread::of((0..=100).rev().map(f64::from));
        assert_eq!((spread.count, spread.min, spread.max), (101, 0.0, 100.0));
        assert_eq!((spread.p10, spread.p50, spread.p90), (10.0, 50.0, 90.0));
        assert_eq!(Spread::of([]), Spread::default());
    }
}
