//! Lines on standard output, and on standard error.

use crate::failure::Failure;
use std::fmt::Display;
use std::io::{self, Write, stderr, stdout};
use std::sync::atomic::{AtomicBool, Ordering};

/// Lines were lost, and it has been told.
static LOST: AtomicBool = AtomicBool::new(false);

/// Prints a line, unless nobody reads any more, which is no reason to end. If there is no room for
/// it, that is told on standard error, once, and [`is_lost`] says so.
pub fn say(line: impl Display) {
    let mut out = stdout().lock();
    let written = writeln!(out, "{line}").and_then(|()| out.flush());
    if let Err(failure) = printed(written)
        && !LOST.swap(true, Ordering::Relaxed)
    {
        tell(format_args!("anabranch: {failure}"));
    }
}

/// Prints a line on standard error. That nobody reads there any more, or that there is no room, is no
/// reason to end, least of all for a server (`eprintln!` panics).
pub fn tell(line: impl Display) {
    let _ = writeln!(stderr().lock(), "{line}");
}

/// Has a line found no room?
pub fn is_lost() -> bool {
    LOST.load(Ordering::Relaxed)
}

/// What came of printing figures. That nobody reads any more is no failure.
///
/// # Errors
/// [`Failure::failed`], if they found no room there.
pub fn printed(result: io::Result<()>) -> Result<(), Failure> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result.map_err(|error| {
            Failure::failed(format!(
                "cannot write to standard output: {error}: free some room, or name a file"
            ))
        }),
    }
}
