//! [`Level`]: the value of a factor in one case, and lists of them.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// The value of a factor in one case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Level {
    /// Something is on or off.
    Switch(bool),
    /// A quantity.
    Number(f64),
    /// A choice by name.
    Name(String),
}

impl Level {
    /// The quantity, if it is one.
    pub fn number(&self) -> Option<f64> {
        match self {
            Level::Number(number) => Some(*number),
            _ => None,
        }
    }
}

impl Display for Level {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Level::Switch(true) => f.write_str("on"),
            Level::Switch(false) => f.write_str("off"),
            Level::Number(number) => write!(f, "{number}"),
            Level::Name(name) => f.write_str(name),
        }
    }
}

/// The most numbers in one range.
const MOST: usize = 10_000;

/// What a file gives for a factor: one value, a list, or a range in words.
pub(super) fn list(value: &toml::Value) -> Result<Vec<Level>, String> {
    match value {
        toml::Value::Array(values) if values.is_empty() => {
            Err("an empty list: give one value at least".to_owned())
        }
        toml::Value::Array(values) => {
            let lists: Result<Vec<Vec<Level>>, String> = values.iter().map(list).collect();
            Ok(lists?.concat())
        }
        toml::Value::Boolean(on) => Ok(vec![Level::Switch(*on)]),
        toml::Value::Integer(number) => Ok(vec![Level::Number(*number as f64)]),
        toml::Value::Float(number) => Ok(vec![Level::Number(*number)]),
        toml::Value::String(text) => match text.split_once("..") {
            Some((first, rest)) => range(text, first, rest),
            None => Ok(vec![Level::Name(text.clone())]),
        },
        toml::Value::Datetime(_) | toml::Value::Table(_) => {
            Err("give a value, a list, or a range like \"1..64\"".to_owned())
        }
    }
}

/// `1..64` doubles, with both ends; `1..64/3` goes by steps of 3.
fn range(text: &str, first: &str, rest: &str) -> Result<Vec<Level>, String> {
    let number = |part: &str| {
        let number = part.trim().parse::<u32>().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("'{text}' is no range: write one like 1..64 or 1..64/3"))
    };
    let (last, step) = match rest.split_once('/') {
        Some((last, step)) => (number(last)?, Some(number(step)?)),
        None => (number(rest)?, None),
    };
    let mut next = u64::from(number(first)?);
    let last = u64::from(last);
    if next > last {
        return Err(format!("'{text}' goes down: write {last}..{next}"));
    }
    let mut levels = Vec::new();
    while next < last && levels.len() <= MOST {
        levels.push(Level::Number(next as f64));
        next = step.map_or(2 * next, |step| next + u64::from(step));
    }
    if levels.len() > MOST {
        return Err(format!("'{text}' has more than {MOST} numbers: make the step larger"));
    }
    if step.is_none() || next == last {
        levels.push(Level::Number(last as f64));
    }
    Ok(levels)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> Result<Vec<f64>, String> {
        let levels = list(&toml::Value::String(text.to_owned()))?;
        Ok(levels.iter().filter_map(Level::number).collect())
    }

    #[test]
    fn ranges_double_or_go_by_steps() {
        assert_eq!(numbers("1..20"), Ok(vec![1.0, 2.0, 4.0, 8.0, 16.0, 20.0]));
        assert_eq!(numbers("1..10/3"), Ok(vec![1.0, 4.0, 7.0, 10.0]));
        assert_eq!(numbers("1..9/3"), Ok(vec![1.0, 4.0, 7.0]));
        assert_eq!(numbers("3..3"), Ok(vec![3.0]));
    }

    #[test]
    fn what_is_no_range_is_said_in_a_line() {
        for text in ["1..", "..4", "0..4", "4..1", "1..9/0", "1..4000000000/1", "a..b"] {
            let error = numbers(text).expect_err(text);
            assert!(!error.contains('\n'), "{error}");
        }
        assert!(list(&toml::Value::Array(vec![])).is_err());
    }

    #[test]
    fn lists_hold_values_of_all_kinds() {
        let value: toml::Table = toml::from_str("x = [1, \"2..4\", true, \"a\"]").expect("TOML");
        let levels = list(&value["x"]).expect("levels");
        let words: Vec<String> = levels.iter().map(Level::to_string).collect();
        assert_eq!(words, ["1", "2", "4", "on", "a"]);
    }
}
