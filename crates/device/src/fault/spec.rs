//! [`Spec`]: which faults, as text.

use std::str::FromStr;
use std::time::Duration;

/// The faults of a link. The default has none.
///
/// As text: `loss=2%,reorder=0.05,delay=5ms,jitter=500us,rate=100mbit,limit=1000,seed=7`,
/// each part optional.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spec {
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that a packet is held back behind 1 to 8 later ones, or for a
    /// millisecond.
    pub reorder: f64,
    /// Probability that a packet arrives twice.
    pub duplicate: f64,
    /// Probability that a packet arrives with one byte changed.
    pub corrupt: f64,
    /// Time that a packet is on its way.
    pub delay: Duration,
    /// How far that time varies to either side.
    pub jitter: Duration,
    /// Bits a second; `None`: no bound.
    pub rate: Option<u64>,
    /// Packets that are on their way at most in a direction of a queue; what comes then is lost. `None`: 1000, which
    /// is 96 Mbit/s in packets of 1500 bytes over 125 ms.
    pub limit: Option<u32>,
    /// Where chance starts.
    pub seed: Option<u64>,
}

debug_is_display!(SpecError);

/// What is wrong with the text of a [`Spec`]. Its `Debug` is its `Display`.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// No fault has this name.
    #[error(
        "no fault is called `{0}`: use loss, reorder, duplicate, corrupt, delay, jitter, rate, limit, seed"
    )]
    Unknown(String),
    /// A value is missing or not of its kind.
    #[error("`{value}` does not say how much {name}: write {example}")]
    Value {
        /// The fault.
        name: &'static str,
        /// What was given.
        value: String,
        /// What could be.
        example: &'static str,
    },
    /// A fault is given a second time.
    #[error("{0} is given twice: leave one out")]
    Twice(String),
}

/// The largest [`Spec::limit`] of a text.
const MOST_LIMIT: u32 = 1_000_000;

fn probability(text: &str) -> Option<f64> {
    let value = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    (0.0..=1.0).contains(&value).then_some(value)
}

/// A number with one of these units behind it; without, if "" is one.
fn scaled(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = unit.trim().to_ascii_lowercase();
    let factor = units.iter().find(|(name, _)| *name == unit)?.1;
    Some(number.parse::<f64>().ok()? * factor)
}

/// At most an hour.
fn duration(text: &str) -> Option<Duration> {
    let units = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let seconds = scaled(text, &units)?;
    (seconds <= 3600.0).then(|| Duration::from_secs_f64(seconds))
}

fn rate(text: &str) -> Option<u64> {
    let units = [("bit", 1.0), ("kbit", 1e3), ("mbit", 1e6), ("gbit", 1e9)];
    let bits = scaled(text, &units)?;
    (1.0..1e15).contains(&bits).then_some(bits as u64)
}

impl FromStr for Spec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Spec, SpecError> {
        let mut spec = Spec::default();
        let mut given = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (name.trim(), value.trim());
            if given.contains(&name) {
                return Err(SpecError::Twice(name.escape_debug().to_string()));
            }
            given.push(name);
            let error = |name, example| SpecError::Value { name, value: value.into(), example };
            let chance = |name| probability(value).ok_or(error(name, "a share like 2% or 0.02"));
            let time =
                |name| duration(value).ok_or(error(name, "a time like 5ms, an hour at most"));
            match name {
                "loss" => spec.loss = chance("loss")?,
                "reorder" => spec.reorder = chance("reorder")?,
                "duplicate" => spec.duplicate = chance("duplicate")?,
                "corrupt" => spec.corrupt = chance("corrupt")?,
                "delay" => spec.delay = time("delay")?,
                "jitter" => spec.jitter = time("jitter")?,
                "rate" => {
                    let error = error("rate", "bits a second like 100mbit");
                    spec.rate = Some(rate(value).ok_or(error)?);
                }
                "limit" => {
                    let error = error("limit", "packets, 1 to 1000000, like 1000");
                    let limit = value.parse().ok().filter(|limit| (1..=MOST_LIMIT).contains(limit));
                    spec.limit = Some(limit.ok_or(error)?);
                }
                "seed" => {
                    spec.seed = Some(value.parse().map_err(|_| error("seed", "a number like 7"))?);
                }
                _ => return Err(SpecError::Unknown(name.escape_debug().to_string())),
            }
        }
        Ok(spec)
    }
}
