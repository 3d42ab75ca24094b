//! `anabranch serve`.

use crate::failure::Failure;

/// What to serve.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Does it.
///
/// # Errors
/// [`Failure`].
pub fn run(_args: Args) -> Result<(), Failure> {
    Ok(())
}
