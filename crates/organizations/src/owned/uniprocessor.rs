//! `uniprocessor`: the baseline of every paper. One thread owns the one domain;
//! no lock, no hand-off.

use crate::runtime::check::check;
use crate::{Running, Setup, StartError, owned};
use net::Application;
use std::sync::Arc;

/// Starts it.
///
/// # Errors
/// [`StartError`]; on more than one processor, too.
pub fn start<A: Application + 'static>(setup: Setup<A>) -> Result<Arc<dyn Running<A>>, StartError> {
    check(&setup, "uniprocessor")?;
    owned::start(setup)
}
