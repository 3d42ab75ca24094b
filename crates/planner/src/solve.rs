//! [`Network::solve`]: chooses the solver for a network.

use crate::{Error, Network, Solution, closed, open};

impl Network {
    /// Solves the network: an open one by [`crate::open`], a closed one by
    /// [`crate::closed`].
    ///
    /// # Errors
    /// [`Error::Saturated`] if a station of an open network cannot serve all that
    /// arrives. [`Error::NoConvergence`] if an approximation does not converge.
    pub fn solve(&self) -> Result<Solution, Error> {
        if self.is_open() { open::solve(self) } else { closed::solve(self) }
    }
}
