//! [`run`]: a scenario, checked and simulated.

use super::organizations::with_organization;
use super::{Outcome, Scenario};
use crate::Error;

/// Runs a scenario.
///
/// # Errors
/// An [`Error`] of one line says what makes no sense, and what would.
pub fn run(scenario: &Scenario) -> Result<Outcome, Error> {
    scenario.check()?;
    with_organization(scenario)
}
