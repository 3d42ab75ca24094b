//! [`Target`]: a limit of latency, such as `p99=100us`.

use crate::Error;
use crate::simulator::outcome::Latency;
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// A figure of latency.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// The mean.
    Mean,
    /// The median.
    P50,
    /// The 90th percentile.
    P90,
    /// The 99th percentile.
    P99,
    /// The 99.9th percentile.
    P999,
}

impl Measure {
    /// All of them.
    pub const ALL: [Measure; 5] =
        [Measure::Mean, Measure::P50, Measure::P90, Measure::P99, Measure::P999];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Measure::Mean => "mean",
            Measure::P50 => "p50",
            Measure::P90 => "p90",
            Measure::P99 => "p99",
            Measure::P999 => "p999",
        }
    }

    /// This figure of `latency`, ns.
    pub const fn of(self, latency: &Latency) -> f64 {
        match self {
            Measure::Mean => latency.mean_ns,
            Measure::P50 => latency.p50_ns,
            Measure::P90 => latency.p90_ns,
            Measure::P99 => latency.p99_ns,
            Measure::P999 => latency.p999_ns,
        }
    }
}

/// A limit of latency. Latency is the time from an operation's arrival at the device
/// until its answer has left.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Target {
    /// The figure that is limited.
    pub measure: Measure,
    /// The limit, ns.
    pub at_most_ns: f64,
}

impl Target {
    /// Checks that the limit makes sense.
    ///
    /// # Errors
    /// [`Error::Asked`] if it is not above 0, or too large.
    pub fn check(&self) -> Result<(), Error> {
        match self.at_most_ns > 0.0 && self.at_most_ns <= 1e12 {
            true => Ok(()),
            false => Err(Error::Asked(format!(
                "{}={} ns: a latency is more than 0 and at most 1000 s",
                self.measure.name(),
                self.at_most_ns
            ))),
        }
    }
}

impl Display for Target {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let ns = self.at_most_ns;
        let scaled = [("s", 1e9), ("ms", 1e6), ("us", 1e3)];
        let exact = |unit: f64| ns >= unit && (ns / unit) * unit == ns && ns % unit == 0.0;
        let (unit, one) = scaled.into_iter().find(|(_, one)| exact(*one)).unwrap_or(("ns", 1.0));
        write!(f, "{}={}{unit}", self.measure.name(), ns / one)
    }
}

impl FromStr for Target {
    type Err = Error;

    fn from_str(text: &str) -> Result<Target, Error> {
        let shown: String = text.chars().filter(|c| !c.is_control()).take(40).collect();
        let wrong = || {
            Error::Asked(format!(
                "`{shown}` is no target of latency: write p99=100us; there are mean, p50, p90, p99 and p999, and ns, us, ms and s"
            ))
        };
        let (name, value) = text.trim().split_once('=').ok_or_else(wrong)?;
        let named = |measure: &&Measure| measure.name() == name.trim();
        let measure = *Measure::ALL.iter().find(named).ok_or_else(wrong)?;
        let value = value.trim();
        let digits = |c: char| c.is_ascii_digit() || c == '.';
        let (number, unit) = value.split_at(value.find(|c| !digits(c)).unwrap_or(value.len()));
        let unit = match unit.trim() {
            "ns" => 1.0,
            "us" | "µs" | "μs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            _ => return Err(wrong()),
        };
        let number: f64 = number.parse().map_err(|_| wrong())?;
        let target = Target { measure, at_most_ns: number * unit };
        target.check()?;
        Ok(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_and_read() {
        for (text, measure, ns) in [
            ("p99=100us", Measure::P99, 1e5),
            ("mean = 1.5 ms", Measure::Mean, 1.5e6),
            ("p50=800ns", Measure::P50, 800.0),
            ("p999=1s", Measure::P999, 1e9),
        ] {
            let target: Target = text.parse().expect(text);
            assert_eq!(target, Target { measure, at_most_ns: ns });
            assert_eq!(target.to_string().parse(), Ok(target), "{target}");
        }
        for bad in [
            "",
            "p99",
            "p99=",
            "p99=100",
            "p98=1us",
            "p99=0us",
            "p99=-1us",
            "p99=9e9s",
            "p99=9999999s",
        ] {
            let error = bad.parse::<Target>().expect_err(bad).to_string();
            assert!(error.contains("latency"), "{bad}: {error}");
        }
    }
}
