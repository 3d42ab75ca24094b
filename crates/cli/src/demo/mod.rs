//! `anabranch demo`.

use crate::failure::Failure;

/// What to demo.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Does it.
///
/// # Errors
/// [`Failure`].
pub fn run(_args: Args) -> Result<(), Failure> {
    Ok(())
}
