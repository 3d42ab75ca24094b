//! Lines on standard output.

use std::fmt::Display;
use std::io::{Write, stdout};

/// Prints a line, unless nobody reads any more, which is no reason to end.
pub fn say(line: impl Display) {
    let mut out = stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
