//! What starts each organization of the catalog.

use crate::{Running, Setup, StartError};
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
            match catalog::find(name)?.name.replace('-', "_").as_str() {
                $(stringify!($name) => Some(crate::$($module)*::start(setup)),)*
                _ => None,
            }
        }
    };
}
catalog::for_each_organization!(start);

#[cfg(test)]
mod tests;
