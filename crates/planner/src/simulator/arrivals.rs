//! [`Arrivals`]: when operations arrive.

use super::{Random, Time};
use crate::Error;
use serde::{Deserialize, Serialize};

/// The most arrivals of a trace.
pub const MAX_TRACE: usize = 50_000_000;

/// When operations arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Arrivals {
    /// Independently of one another: the times between them are exponential.
    Poisson {
        /// Arrivals a second.
        rate_per_s: f64,
    },
    /// At equal distances.
    Deterministic {
        /// Arrivals a second.
        rate_per_s: f64,
    },
    /// Trains of packets (Jain and Routhier 1986): bursts of a geometrically
    /// distributed number at equal distances, and an exponential pause after each.
    Bursty {
        /// Arrivals a second, on average.
        rate_per_s: f64,
        /// Arrivals of a burst, on average.
        burst: f64,
        /// Between two arrivals of a burst, ns.
        gap_ns: f64,
    },
    /// Each connection sends when it gets an answer, so as many operations are under
    /// way as the windows allow.
    Closed {
        /// Operations under way for each connection.
        window: usize,
        /// Mean time from an answer until the next operation, exponentially distributed,
        /// ns.
        think_ns: f64,
    },
    /// At these times since the start, ns, in order.
    Trace(Vec<u64>),
}

/// A number that is a sensible rate.
fn checked_rate(rate_per_s: f64) -> Result<(), Error> {
    if rate_per_s > 0.0 && rate_per_s <= 1e12 {
        return Ok(());
    }
    Err(Error::Asked(format!(
        "a rate of {rate_per_s}/s makes no sense: give one above 0 and up to 1e12/s"
    )))
}

impl Arrivals {
    /// Reads a trace: one time a line, ns since the start, in order; empty lines and
    /// what follows a `#` do not count.
    ///
    /// # Errors
    /// A line that is no such time (it is named), or none, or over [`MAX_TRACE`].
    pub fn trace(text: &str) -> Result<Arrivals, Error> {
        let mut times_ns: Vec<u64> = Vec::new();
        for (line, content) in text.lines().enumerate().map(|(line, text)| (line + 1, text)) {
            let content = content.split('#').next().unwrap_or("").trim();
            if content.is_empty() {
                continue;
            }
            let time_ns = content.parse().map_err(|_| {
                let shown: String = content.chars().take(40).collect();
                Error::File(format!(
                    "line {line} of the trace: '{shown}' is no time in whole nanoseconds"
                ))
            })?;
            if times_ns.last().is_some_and(|last| *last > time_ns) {
                return Err(Error::File(format!(
                    "line {line} of the trace: {time_ns} ns is earlier than the line before; sort the times"
                )));
            }
            times_ns.push(time_ns);
        }
        let arrivals = Arrivals::Trace(times_ns);
        arrivals.check()?;
        Ok(arrivals)
    }

    /// Checks that they make sense.
    ///
    /// # Errors
    /// An [`Error`] says what does not make sense, and what would.
    pub fn check(&self) -> Result<(), Error> {
        match self {
            Arrivals::Poisson { rate_per_s } | Arrivals::Deterministic { rate_per_s } => {
                checked_rate(*rate_per_s)
            }
            Arrivals::Bursty { rate_per_s, burst, gap_ns } => {
                checked_rate(*rate_per_s)?;
                if !(*burst >= 1.0 && *burst <= 1e6) {
                    return Err(Error::Asked(format!(
                        "bursts of {burst} arrivals make no sense: give 1 to 1e6"
                    )));
                }
                if !(*gap_ns >= 0.0 && (burst - 1.0) * gap_ns < burst * 1e9 / rate_per_s) {
                    return Err(Error::Asked(format!(
                        "bursts of {burst} with {gap_ns} ns between arrivals cannot make {rate_per_s}/s: \
                         the gap must be below {} ns",
                        burst * 1e9 / rate_per_s / (burst - 1.0)
                    )));
                }
                Ok(())
            }
            Arrivals::Closed { window, think_ns } => {
                if !(1..=1_000_000).contains(window) {
                    return Err(Error::Asked(format!("a window of {window}: give 1 to 1000000")));
                }
                if !(*think_ns >= 0.0 && *think_ns <= 1e15) {
                    return Err(Error::Asked(format!(
                        "a think time of {think_ns} ns makes no sense: give 0 to 1e15"
                    )));
                }
                Ok(())
            }
            Arrivals::Trace(times_ns) if times_ns.is_empty() => {
                Err(Error::File("the trace has no arrivals: one time in ns a line".into()))
            }
            Arrivals::Trace(times_ns) if times_ns.len() > MAX_TRACE => Err(Error::File(format!(
                "the trace has {} arrivals: cut it to {MAX_TRACE}",
                times_ns.len()
            ))),
            Arrivals::Trace(times_ns) if !times_ns.is_sorted() => {
                Err(Error::File("the trace's times are not in order; sort them".into()))
            }
            Arrivals::Trace(_) => Ok(()),
        }
    }

    /// True for [`Arrivals::Closed`].
    pub fn is_closed(&self) -> bool {
        matches!(self, Arrivals::Closed { .. })
    }

    /// Arrivals a second, on average. `None` for closed ones, whose rate is a result.
    pub fn rate_per_s(&self) -> Option<f64> {
        match self {
            Arrivals::Poisson { rate_per_s }
            | Arrivals::Deterministic { rate_per_s }
            | Arrivals::Bursty { rate_per_s, .. } => Some(*rate_per_s),
            Arrivals::Closed { .. } => None,
            Arrivals::Trace(times_ns) => {
                let (first, last) = (times_ns.first()?, times_ns.last()?);
                let gaps = times_ns.len() as f64 - 1.0;
                (last > first).then(|| gaps * 1e9 / (last - first) as f64)
            }
        }
    }

    /// The arrivals, one after the other.
    pub fn source(&self, random: Random) -> Source<'_> {
        Source { arrivals: self, random, number: 0, left_in_burst: 0, last_ns: 0.0 }
    }
}

/// Arrivals, one after the other: see [`Arrivals::source`].
#[derive(Clone, Debug)]
pub struct Source<'a> {
    arrivals: &'a Arrivals,
    random: Random,
    number: u64,
    left_in_burst: u64,
    /// The time of the last arrival, without rounding, so that errors do not add up.
    last_ns: f64,
}

impl Source<'_> {
    /// From an answer to the next operation of a closed source.
    pub fn think(&mut self) -> Time {
        match self.arrivals {
            Arrivals::Closed { think_ns, .. } if *think_ns > 0.0 => {
                Time::from_ns(self.random.exponential(*think_ns))
            }
            _ => Time::ZERO,
        }
    }
}

/// The times of the arrivals. A trace ends; closed arrivals have no times.
impl Iterator for Source<'_> {
    type Item = Time;

    fn next(&mut self) -> Option<Time> {
        self.number += 1;
        match self.arrivals {
            Arrivals::Poisson { rate_per_s } => {
                self.last_ns += self.random.exponential(1e9 / rate_per_s);
            }
            Arrivals::Deterministic { rate_per_s } => {
                self.last_ns = self.number as f64 * (1e9 / rate_per_s);
            }
            Arrivals::Bursty { rate_per_s, burst, gap_ns } => {
                if self.left_in_burst > 0 {
                    self.left_in_burst -= 1;
                    self.last_ns += gap_ns;
                } else {
                    self.left_in_burst = self.random.geometric(*burst) - 1;
                    let pause_ns = burst * 1e9 / rate_per_s - (burst - 1.0) * gap_ns;
                    self.last_ns += self.random.exponential(pause_ns);
                }
            }
            Arrivals::Closed { .. } => return None,
            Arrivals::Trace(times_ns) => {
                let time_ns = *times_ns.get(self.number as usize - 1)?;
                return Some(Time(time_ns.saturating_mul(1_000)));
            }
        }
        Some(Time::from_ns(self.last_ns))
    }
}

#[cfg(test)]
mod tests;
