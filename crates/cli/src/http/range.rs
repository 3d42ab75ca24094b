//! Byte ranges (RFC 9110 14).

/// Which bytes of a file are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// All of them.
    Whole,
    /// So many, from an offset on; never none.
    Part {
        /// Offset of the first byte.
        start: u64,
        /// How many bytes.
        len: u64,
    },
    /// None that the file has (416).
    Unsatisfiable,
}

/// What the value of a `Range` field asks of a file of `size` bytes. A field
/// that is malformed, in another unit, or with several ranges, is ignored, as
/// RFC 9110 14.2 allows.
pub fn parse(field: &str, size: u64) -> Wanted {
    let spec = field.trim().split_once('=');
    let Some((unit, set)) = spec.filter(|(unit, _)| unit.trim().eq_ignore_ascii_case("bytes"))
    else {
        return Wanted::Whole;
    };
    let _ = unit;
    let Some((first, last)) = set.trim().split_once('-') else { return Wanted::Whole };
    match (position(first), position(last)) {
        (Some(None), Some(Some(suffix))) => match suffix.min(size) {
            0 => Wanted::Unsatisfiable,
            len => Wanted::Part { start: size - len, len },
        },
        (Some(Some(first)), Some(last)) => {
            if last.is_some_and(|last| last < first) {
                Wanted::Whole
            } else if first >= size {
                Wanted::Unsatisfiable
            } else {
                let last = last.unwrap_or(u64::MAX).min(size - 1);
                Wanted::Part { start: first, len: last - first + 1 }
            }
        }
        _ => Wanted::Whole,
    }
}

/// `Some(None)` if the position is left out, `None` if it is not a number.
/// Numbers too large for 64 bits count as the largest.
fn position(text: &str) -> Option<Option<u64>> {
    let text = text.trim();
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some((!text.is_empty()).then(|| text.parse().unwrap_or(u64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let part = |start, len| Wanted::Part { start, len };
        for (field, wanted) in [
            ("bytes=0-0", part(0, 1)),
            ("bytes=0-99", part(0, 100)),
            ("bytes=10-", part(10, 90)),
            ("bytes=-10", part(90, 10)),
            ("bytes=-1000", part(0, 100)),
            ("bytes=90-1000", part(90, 10)),
            ("BYTES = 5 - 6", part(5, 2)),
            ("bytes=0-99999999999999999999999", part(0, 100)),
            ("bytes=100-", Wanted::Unsatisfiable),
            ("bytes=99999999999999999999999-", Wanted::Unsatisfiable),
            ("bytes=-0", Wanted::Unsatisfiable),
            ("bytes=0-1,5-6", Wanted::Whole),
            ("bytes=6-5", Wanted::Whole),
            ("bytes=-", Wanted::Whole),
            ("bytes=a-b", Wanted::Whole),
            ("bytes", Wanted::Whole),
            ("lines=1-2", Wanted::Whole),
            ("", Wanted::Whole),
        ] {
            assert_eq!(parse(field, 100), wanted, "{field}");
        }
        assert_eq!(parse("bytes=0-", 0), Wanted::Unsatisfiable);
        assert_eq!(parse("bytes=-5", 0), Wanted::Unsatisfiable);
    }
}
