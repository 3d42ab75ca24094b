//! The papers' evaluations, as files that come with the program.

use super::experiment::Experiment;

/// An experiment that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name.
    pub name: &'static str,
    /// Its text.
    pub text: &'static str,
}

/// All of them.
pub const BUILTIN: &[Builtin] = &[
    Builtin { name: "bohra2007", text: include_str!("../../experiments/bohra2007.toml") },
    Builtin { name: "schmidt1996", text: include_str!("../../experiments/schmidt1996.toml") },
    Builtin { name: "thekkath1992", text: include_str!("../../experiments/thekkath1992.toml") },
    Builtin { name: "willmann2006", text: include_str!("../../experiments/willmann2006.toml") },
    Builtin { name: "yates1996", text: include_str!("../../experiments/yates1996.toml") },
];

impl Builtin {
    /// The experiment.
    ///
    /// # Errors
    /// None for those in [`BUILTIN`]: a test reads them.
    pub fn experiment(&self) -> Result<Experiment, String> {
        let file = format!("{}.toml", self.name);
        let experiment = Experiment::parse(&file, self.text)?;
        super::case::check(&file, &experiment)?;
        Ok(experiment)
    }
}

/// The one of this name.
pub fn find(name: &str) -> Option<&'static Builtin> {
    BUILTIN.iter().find(|one| one.name == name)
}

#[cfg(test)]
mod tests;
