//! The paper that these models come from, recomputed: C. A. Thekkath, D. L.
//! Eager, E. D. Lazowska and H. M. Levy, "A Performance Analysis of Network I/O in
//! Shared-Memory Multiprocessors", University of Washington, TR 92-04-04, 1992.
//!
//! Tables 1 and 2 are data ([`FIREFLY`], [`SEQUENT`]); [`figures`] computes figures
//! 2 to 8 from them. [`claims()`] and [`savings`] compute the numbers in the text, some
//! of which do not follow from the tables. The text does not give the mix of packet
//! sizes that the authors measured. [`MIXED`] is an assumption, and [`SMALL`] is the case
//! of section 4.1.

use crate::figure::{Series, lines};
use crate::network::Kind;
use crate::{Error, Network, bounds};

mod claims;

pub use claims::{Claim, SAVING_LOADS, Saving, claims, savings};

/// The DEC SRC Firefly (table 1), as a file.
pub const FIREFLY: &str = include_str!("../data/thekkath1992/firefly.toml");
/// The Sequent Symmetry (table 2), as a file.
pub const SEQUENT: &str = include_str!("../data/thekkath1992/sequent.toml");

/// An assumed mix: mostly small packets; shares of 74, 150, 650 and 1514 bytes.
pub const MIXED: [f64; 4] = [0.6, 0.2, 0.1, 0.1];
/// Small packets only. Residence of a larger one is that of a single one among them.
pub const SMALL: [f64; 4] = [1.0, 0.0, 0.0, 0.0];

/// Loads of the figures, as shares of the capacity of the unchanged machine.
pub const LOADS: [f64; 9] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// The DEC SRC Firefly.
    Firefly,
    /// The Sequent Symmetry.
    Sequent,
}

impl Machine {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Machine::Firefly => "Firefly",
            Machine::Sequent => "Sequent",
        }
    }
}

/// A change of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    Nothing,
    /// Software overhead halved (4.3). The text gives no demands for the simpler
    /// protocol of figures 4 and 5, but it gives those of this experiment.
    HalfSoftware,
    /// A bus with twice the bandwidth (4.4).
    FastBus,
    /// A controller with two queues (4.5).
    TwoQueues,
}

/// A figure of the paper, computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Its number in the paper, 2 to 8.
    pub number: u32,
    /// What it shows.
    pub title: String,
    /// Names of the classes.
    pub classes: Vec<String>,
    /// A row for each of [`LOADS`].
    pub rows: Vec<Row>,
}

/// A point of each curve.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Load, as a share of the capacity of the unchanged machine.
    pub load: f64,
    /// Packets a second, of all classes.
    pub rate_per_s: f64,
    /// Residence by class, µs.
    pub residence_us: Vec<f64>,
}

/// The machine, changed or not, with this mix of packet sizes.
///
/// # Errors
/// [`Error::Asked`] if the mix does not sum to 1.
pub fn network(machine: Machine, change: Change, mix: [f64; 4]) -> Result<Network, Error> {
    let text = match machine {
        Machine::Firefly => FIREFLY,
        Machine::Sequent => SEQUENT,
    };
    let network = Network::from_toml(text)?.with_shares(&mix)?;
    let halve = |name: &str| {
        network.with_station(name, |station| {
            station.service_us.iter_mut().for_each(|service_us| *service_us /= 2.0);
        })
    };
    match change {
        Change::Nothing => Ok(network),
        Change::HalfSoftware => halve("software"),
        Change::FastBus => halve("I/O bus"),
        Change::TwoQueues => {
            network.with_station("controller lock", |station| station.kind = Kind::evenly(2))
        }
    }
}

/// The capacity of the unchanged machine, packets a second.
///
/// # Errors
/// As [`network`].
pub fn capacity_per_s(machine: Machine, mix: [f64; 4]) -> Result<f64, Error> {
    let network = network(machine, Change::Nothing, mix)?;
    Ok(bounds::saturation(&network).map_or(f64::INFINITY, |(_, limit_per_s)| limit_per_s))
}

/// Residence by class, µs, at a load between 0 and 1: a share of the capacity of the
/// unchanged machine.
///
/// # Errors
/// As [`network`], and [`Error::Saturated`].
pub fn residence_us(
    machine: Machine,
    change: Change,
    mix: [f64; 4],
    load: f64,
) -> Result<Vec<f64>, Error> {
    let rate_per_s = load * capacity_per_s(machine, mix)?;
    let solution = network(machine, change, mix)?.with_rate(rate_per_s)?.solve()?;
    Ok(solution.classes.iter().map(|class| class.residence_us).collect())
}

/// Figures 2 to 8: residence by load. All are drawn over the capacity of the unchanged
/// machine, so that they can be compared.
///
/// # Errors
/// As [`network`].
pub fn figures(mix: [f64; 4]) -> Result<Vec<Figure>, Error> {
    use Change::{FastBus, HalfSoftware, Nothing, TwoQueues};
    use Machine::{Firefly, Sequent};
    [
        (2, Firefly, Nothing, "the Firefly"),
        (3, Sequent, Nothing, "the Sequent"),
        (4, Firefly, HalfSoftware, "the Firefly, software overhead halved"),
        (5, Sequent, HalfSoftware, "the Sequent, software overhead halved"),
        (6, Firefly, FastBus, "the Firefly, bus twice as fast"),
        (7, Firefly, TwoQueues, "the Firefly, controller with two queues"),
        (8, Sequent, TwoQueues, "the Sequent, controller with two queues"),
    ]
    .into_iter()
    .map(|(number, machine, change, title)| {
        let capacity_per_s = capacity_per_s(machine, mix)?;
        let network = network(machine, change, mix)?;
        let rows: Result<Vec<Row>, Error> = LOADS
            .into_iter()
            .map(|load| {
                let residence_us = residence_us(machine, change, mix, load)?;
                Ok(Row { load, rate_per_s: load * capacity_per_s, residence_us })
            })
            .collect();
        Ok(Figure {
            number,
            title: title.to_owned(),
            classes: network.classes().iter().map(|class| class.name.clone()).collect(),
            rows: rows?,
        })
    })
    .collect()
}

impl Figure {
    /// As SVG.
    ///
    /// # Errors
    /// None: a figure has points.
    pub fn svg(&self) -> Result<String, Error> {
        let series: Vec<Series> = self
            .classes
            .iter()
            .enumerate()
            .map(|(class, name)| {
                let point = |row: &Row| (100.0 * row.load, row.residence_us[class]);
                Series::new(name, self.rows.iter().map(point).collect())
            })
            .collect();
        lines(
            &format!("Thekkath 1992, figure {}: {}", self.number, self.title),
            "arrival rate, % of what the unchanged machine can do",
            "residence time, µs",
            &series,
        )
    }
}

#[cfg(test)]
mod tests;
