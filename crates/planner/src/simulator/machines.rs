//! The machines of papers, as data.

use super::Costs;
use crate::Error;

/// A machine, as a file of costs.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Its name: the paper's first author and year.
    pub name: &'static str,
    /// The text of the file; its comments say where each figure comes from.
    pub text: &'static str,
}

/// All of them.
pub const MACHINES: &[Machine] = &[
    Machine { name: "bohra2007", text: include_str!("../../data/bohra2007.toml") },
    Machine { name: "schmidt1996", text: include_str!("../../data/schmidt1996.toml") },
    Machine { name: "willmann2006", text: include_str!("../../data/willmann2006.toml") },
    Machine { name: "yates1996", text: include_str!("../../data/yates1996.toml") },
];

/// The machine of this name.
pub fn find(name: &str) -> Option<&'static Machine> {
    MACHINES.iter().find(|machine| machine.name == name)
}

impl Machine {
    /// Its costs.
    ///
    /// # Errors
    /// None for the machines in [`MACHINES`]: a test reads them.
    pub fn costs(&self) -> Result<Costs, Error> {
        Costs::parse(self.text)
    }
}
