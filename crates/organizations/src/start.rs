//! What starts each organization of the catalog.

use crate::{Clock, Running, Setup, StartError};
use net::Application;
use std::sync::Arc;

macro_rules! start {
    ($($name:ident [$($module:tt)*] { $($test:ident $processors:literal)* } { $($fact:tt)* })*) => {
        /// Starts the organization called `name`; `None` if there is no such
        /// organization.
        ///
        /// # Errors
        /// [`StartError`].
        #[allow(clippy::type_complexity)]
        pub fn start<A: Application + 'static>(
            name: &str,
            setup: Setup<A>,
        ) -> Option<Result<Arc<dyn Running<A>>, StartError>> {
            let name = catalog::find(name)?.name;
            if let Err(error) = check_clock(name, &setup.clock) {
                return Some(Err(error));
            }
            match name.replace('-', "_").as_str() {
                $(stringify!($name) => Some(crate::$($module)*::start(setup)),)*
                _ => None,
            }
        }
    };
}
catalog::for_each_organization!(start);

/// The organizations all of whose threads sleep at descriptors, and so by whatever
/// clock the stack has.
#[cfg(not(shuttle))]
const BY_ANY_CLOCK: [&str; 6] = [
    "uniprocessor",
    "processor-per-connection",
    "global-lock",
    "group-locks",
    "virtual-processors",
    "message-parallel",
];

/// Threads that park do so by the system's time alone.
#[cfg(not(shuttle))]
fn check_clock(organization: &'static str, clock: &Clock) -> Result<(), StartError> {
    if clock.virtual_time().is_none() || BY_ANY_CLOCK.contains(&organization) {
        return Ok(());
    }
    Err(StartError::Clock { organization, can: BY_ANY_CLOCK.join(", ") })
}

#[cfg(shuttle)]
fn check_clock(_: &'static str, _: &Clock) -> Result<(), StartError> {
    Ok(())
}

#[cfg(all(test, not(loom)))]
mod tests;
