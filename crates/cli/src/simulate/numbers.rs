//! [`Numbers`]: `4`, `1,2,8`, `1..64`.

use std::str::FromStr;

/// The greatest number of a list, and the most numbers of one.
const GREATEST: usize = 100_000_000;
const MOST: usize = 10_000;

/// A list of numbers from 1 on, in the order given: single ones, and ranges. `1..64`
/// is 1, 2, 4, ... up to 64, with both ends; `1..64/3` goes by steps of 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers(pub Vec<usize>);

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Numbers, String> {
        let mut all = Vec::new();
        for part in text.split(',').map(str::trim) {
            match part.split_once("..") {
                None => all.push(number(part)?),
                Some((first, rest)) => {
                    let (last, step) = match rest.split_once('/') {
                        Some((last, step)) => (last, Some(number(step)?)),
                        None => (rest, None),
                    };
                    range(number(first)?, number(last)?, step, &mut all)?;
                }
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|number| seen.insert(*number));
        Ok(Numbers(all))
    }
}

fn number(text: &str) -> Result<usize, String> {
    let number = text.trim().parse().ok().filter(|number| (1..=GREATEST).contains(number));
    number.ok_or_else(|| {
        format!(
            "'{text}' is no number from 1 to {GREATEST}: write a list like 1,2,8 or ends like 1..64"
        )
    })
}

fn range(
    first: usize,
    last: usize,
    step: Option<usize>,
    all: &mut Vec<usize>,
) -> Result<(), String> {
    if first > last {
        return Err(format!("{first}..{last} goes down: write {last}..{first}"));
    }
    if (last - first) / step.unwrap_or(last) > MOST {
        return Err(format!("{first}..{last} has too many numbers: make the step larger"));
    }
    let mut next = first;
    while next < last {
        all.push(next);
        next = step.map_or(2 * next, |step| next + step);
    }
    if step.is_none() || next == last {
        all.push(last);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges() {
        for (text, numbers) in [
            ("4", &[4][..]),
            ("1, 2,8", &[1, 2, 8]),
            ("1..8", &[1, 2, 4, 8]),
            ("1..20", &[1, 2, 4, 8, 16, 20]),
            ("3..3", &[3]),
            ("1..10/3", &[1, 4, 7, 10]),
            ("1..9/3", &[1, 4, 7]),
            ("1,1..4,3", &[1, 2, 4, 3]),
        ] {
            assert_eq!(text.parse(), Ok(Numbers(numbers.to_vec())), "{text}");
        }
    }

    #[test]
    fn what_is_no_list_is_said_in_a_line() {
        for text in ["", "0", "a", "1..", "..4", "4..1", "1..4/0", "-1", "1e3", "1..100000000/1"] {
            let error = text.parse::<Numbers>().expect_err(text);
            assert!(!error.contains('\n'), "{error}");
        }
    }
}
