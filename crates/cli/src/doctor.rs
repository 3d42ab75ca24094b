//! `anabranch doctor`.

use crate::failure::Failure;

/// How to report.
#[derive(Debug, clap::Args)]
pub struct Args {}

/// Reports.
///
/// # Errors
/// [`Failure`].
pub fn run(_args: &Args) -> Result<(), Failure> {
    Ok(())
}
