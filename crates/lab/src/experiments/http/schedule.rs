//! [`Schedule`]: when requests are due.

use crate::Error;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// A stretch of time with one rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Phase {
    /// How long it lasts, seconds.
    pub seconds: f64,
    /// Requests that are due in each second of it; 0: none.
    pub per_s: f64,
}

/// When requests are due: phases one after another, from the first again after the last.
/// Of one phase it is a constant rate; of two, of which one has no rate, a source that is on and
/// off.
#[derive(Clone, Debug, PartialEq)]
pub struct Schedule(Vec<Phase>);

/// The most phases.
const MOST: usize = 64;

impl Schedule {
    /// So many requests a second, evenly.
    pub fn constant(per_s: f64) -> Schedule {
        Schedule(vec![Phase { seconds: 1.0, per_s }])
    }

    /// Phases that follow each other for ever.
    pub fn phases(phases: Vec<Phase>) -> Schedule {
        Schedule(phases)
    }

    /// Requests a second, if that is always the same.
    pub fn rate(&self) -> Option<f64> {
        match self.0[..] {
            [Phase { per_s, .. }] => Some(per_s),
            _ => None,
        }
    }

    /// Requests a second, on average.
    pub fn mean_per_s(&self) -> f64 {
        self.of_a_round() / self.round_s()
    }

    fn round_s(&self) -> f64 {
        self.0.iter().map(|phase| phase.seconds).sum()
    }

    fn of_a_round(&self) -> f64 {
        self.0.iter().map(|phase| phase.seconds * phase.per_s).sum()
    }

    /// Does it make sense?
    ///
    /// # Errors
    /// [`Error::Plan`], in one line.
    pub fn check(&self) -> Result<(), Error> {
        let fits = |phase: &Phase| {
            (1e-6..=3600.0).contains(&phase.seconds) && (0.0..=1e8).contains(&phase.per_s)
        };
        if self.0.is_empty() || self.0.len() > MOST || !self.0.iter().all(fits) {
            return Err(Error::Plan(format!(
                "a schedule has 1 to {MOST} phases of 1 µs to 3600 s, each of 0 to 1e8 requests a second"
            )));
        }
        if self.of_a_round() <= 0.0 {
            return Err(Error::Plan("no phase has a rate: give one above 0".to_owned()));
        }
        Ok(())
    }

    /// The times at which the requests of these numbers are due, seconds from the start. The
    /// numbers ascend. Only for schedules that [`Schedule::check`] takes.
    pub(super) fn times(&self, numbers: impl Iterator<Item = u64>) -> impl Iterator<Item = f64> {
        let (of_a_round, round_s) = (self.of_a_round(), self.round_s());
        numbers.map(move |number| {
            let rounds = (number as f64 / of_a_round).floor();
            // The quotient may have been rounded up.
            let mut left = (number as f64 - rounds * of_a_round).max(0.0);
            let mut time = rounds * round_s;
            for phase in &self.0 {
                let of_phase = phase.seconds * phase.per_s;
                if left < of_phase {
                    return time + left / phase.per_s;
                }
                left -= of_phase;
                time += phase.seconds;
            }
            time
        })
    }
}

impl Display for Schedule {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> = match &self.0[..] {
            [one] => vec![format!("{}", one.per_s)],
            all => all.iter().map(|p| format!("{}ms:{}", p.seconds * 1e3, p.per_s)).collect(),
        };
        f.write_str(&words.join("+"))
    }
}

impl FromStr for Schedule {
    type Err = String;

    /// Reads a rate (`2000`), or phases (`10ms:8000+40ms:0`).
    fn from_str(text: &str) -> Result<Schedule, String> {
        let wrong = || format!("'{text}' is no rate: write 2000, or phases like 10ms:8000+40ms:0");
        let number = |text: &str| text.trim().parse::<f64>().map_err(|_| wrong());
        let phase = |text: &str| {
            let (time, rate) = text.split_once(':').ok_or_else(wrong)?;
            let time = time.trim();
            let seconds = match (time.strip_suffix("ms"), time.strip_suffix('s')) {
                (Some(ms), _) => number(ms)? / 1e3,
                (None, Some(s)) => number(s)?,
                (None, None) => return Err(wrong()),
            };
            Ok(Phase { seconds, per_s: number(rate)? })
        };
        let schedule = match text.contains(':') {
            true => Schedule(text.split('+').map(phase).collect::<Result<_, String>>()?),
            false => Schedule::constant(number(text)?),
        };
        schedule.check().map_err(|error| error.to_string())?;
        Ok(schedule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(text: &str, count: u64) -> Vec<f64> {
        text.parse::<Schedule>().expect(text).times(0..count).collect()
    }

    #[test]
    fn a_constant_rate_is_even() {
        assert_eq!(times("4", 9), [0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0]);
    }

    #[test]
    fn a_source_is_on_and_off() {
        // Four in the first tenth of each second, then none.
        let on_off = times("100ms:40+900ms:0", 6);
        let expected = [0.0, 0.025, 0.05, 0.075, 1.0, 1.025];
        assert!(on_off.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{on_off:?}");
        let three: Schedule = "0.5s:2+0.5s:0+1s:10".parse().expect("three phases");
        assert_eq!(three.mean_per_s(), 5.5);
        let times: Vec<f64> = three.times(0..12).collect();
        assert!(times.is_sorted() && times[0] == 0.0 && times[1] == 1.0 && times[11] == 2.0);
    }

    /// The quotient of a request's number and those of a round may be rounded up to a whole one: before, such
    /// a request was due minus infinity seconds from the start, where the first phase has no rate.
    #[test]
    fn no_request_is_due_before_its_round() {
        for (text, of_a_round) in [("1ms:0+1ms:12950", 12.95), ("94ms:0+6ms:540", 3.24)] {
            let schedule: Schedule = text.parse().expect(text);
            let times: Vec<f64> = schedule.times(0..10_000).collect();
            assert!(times.is_sorted() && times[0] > 0.0, "{text}");
            for (number, time) in times.iter().enumerate() {
                let round = (number as f64 / of_a_round + 1e-9).floor() * schedule.round_s();
                assert!(*time > round - 1e-6 && time.is_finite(), "{text}: {number} at {time} s");
            }
        }
    }

    #[test]
    fn what_is_no_schedule_is_refused() {
        for bad in
            ["", "x", "0", "-1", "nan", "1e9", "1ms", "1ms:0", "1h:3", "5:5", "1ms:1+", "0s:1"]
        {
            let error = bad.parse::<Schedule>().expect_err(bad);
            assert!(!error.contains('\n'), "{error}");
        }
        let shown: Schedule = "10ms:8000+40ms:0".parse().expect("phases");
        assert_eq!(shown.to_string().parse(), Ok(shown));
    }
}
