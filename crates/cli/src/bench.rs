//! `anabranch bench`: measures the stack in memory.

use crate::failure::Failure;

/// What to measure.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Measures, and prints what it found.
///
/// # Errors
/// [`Failure`].
pub fn run(_args: Args) -> Result<(), Failure> {
    Err(Failure::refused("there is no bench in this build: use `anabranch demo`"))
}
