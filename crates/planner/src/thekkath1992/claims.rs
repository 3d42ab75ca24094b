//! The numbers in the paper's text, compared with its tables.

use super::Change::{FastBus, HalfSoftware, Nothing, TwoQueues};
use super::Machine::{Firefly, Sequent};
use super::{Change, MIXED, Machine, SMALL, capacity_per_s, network, residence_us};
use crate::Error;

/// A number in the paper's text that does not depend on the mix of packet sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The section.
    pub section: &'static str,
    /// The subject.
    pub what: String,
    /// What the paper says.
    pub paper: String,
    /// What its tables give.
    pub ours: String,
    /// The paper's number follows from its tables.
    pub follows: bool,
}

/// The share of the residence time that a change of a machine saves, by load.
#[derive(Clone, Debug, PartialEq)]
pub struct Saving {
    /// The section.
    pub section: &'static str,
    /// The change, and the packets.
    pub what: String,
    /// What the paper says.
    pub paper: &'static str,
    /// The share saved by its tables, for each of [`SAVING_LOADS`].
    pub saved: Vec<f64>,
    /// The paper's number follows from its tables.
    pub follows: bool,
    /// The highest load at which the paper's number follows, as a share of the capacity
    /// of the unchanged machine. None if there is no such load, or no number.
    pub up_to_load: Option<f64>,
}

/// The loads of [`Saving::saved`], as shares of the capacity of the unchanged machine.
pub const SAVING_LOADS: [f64; 5] = [0.0, 0.1, 0.3, 0.6, 0.9];

/// The class of the smallest packets.
const SMALLEST: usize = 0;
/// The class of the largest.
const LARGEST: usize = 3;

/// The numbers of section 4.1, and one of 4.4.
///
/// # Errors
/// None: the tables make sense.
pub fn claims() -> Result<Vec<Claim>, Error> {
    let mut list = Vec::new();
    for (machine, latency_us, demand_us, share) in
        [(Firefly, 1148.0, 537.0, 0.43), (Sequent, 1141.0, 311.0, 0.70)]
    {
        let sum_us = residence_us(machine, Nothing, SMALL, 0.0)?[SMALLEST];
        let claim = |what: &str, paper: String, ours: String, follows: bool| {
            let what = format!("{}, 74 B: {what}", machine.name());
            Claim { section: "4.1", what, paper, ours, follows }
        };
        list.push(claim(
            "latency at light load",
            format!("{latency_us} µs"),
            format!("{sum_us} µs"),
            (sum_us - latency_us).abs() < 1e-9,
        ));
        let capacity_per_s = capacity_per_s(machine, SMALL)?;
        list.push(claim(
            "greatest rate, by the controller lock",
            format!("1/{demand_us} µs"),
            format!("1/{:.0} µs ({capacity_per_s:.1}/s)", 1e6 / capacity_per_s),
            (1e6 / capacity_per_s - demand_us).abs() < 1e-9,
        ));
        let ours = software_us(machine)? / sum_us;
        list.push(claim(
            "software, of that latency",
            format!("{:.0} %", 100.0 * share),
            format!("{:.1} %", 100.0 * ours),
            (ours - share).abs() < 0.006,
        ));
    }
    let ratio = software_us(Sequent)? / software_us(Firefly)?;
    list.push(Claim {
        section: "4.1",
        what: "Software on the Sequent, of that on the Firefly".into(),
        paper: "more than 1.5".into(),
        ours: format!("{ratio:.2}"),
        follows: ratio > 1.5,
    });
    list.push(greatest_demand()?);
    Ok(list)
}

/// The station with the greatest demand once the bus is faster. The text is right for
/// the original bus.
fn greatest_demand() -> Result<Claim, Error> {
    let bus_us = demand_us(Firefly, FastBus, "I/O bus", LARGEST)?;
    let lock_us = demand_us(Firefly, FastBus, "controller lock", LARGEST)?;
    Ok(Claim {
        section: "4.4",
        what: "Firefly, 1514 B: greatest demand, with the faster bus".into(),
        paper: "not the controller lock".into(),
        ours: format!("controller lock {lock_us} µs, bus {bus_us} µs"),
        follows: bus_us > lock_us,
    })
}

/// The savings in sections 4.3 to 4.5, with this mix of packet sizes.
///
/// # Errors
/// As [`network`].
pub fn savings(mix: [f64; 4]) -> Result<Vec<Saving>, Error> {
    let half = |machine, class| Case { machine, change: HalfSoftware, class, mix };
    let bus = Case { machine: Firefly, change: FastBus, class: LARGEST, mix };
    let two = |machine| Case { machine, change: TwoQueues, class: SMALLEST, mix };
    Ok(vec![
        half(Firefly, SMALLEST).as_much_as("4.3", "18 %", 0.18)?,
        half(Firefly, LARGEST).as_much_as("4.3", "19 %", 0.19)?,
        half(Sequent, SMALLEST).as_much_as("4.3", "29 %, light load", 0.29)?,
        bus.as_much_as("4.4", "20 %, all loads", 0.20)?,
        two(Firefly).more_with_load()?,
        two(Sequent).more_with_load()?,
    ])
}

/// A change, and the packets whose residence time it affects.
struct Case {
    machine: Machine,
    change: Change,
    class: usize,
    mix: [f64; 4],
}

impl Case {
    /// The share that is saved at this load.
    fn saved(&self, load: f64) -> Result<f64, Error> {
        let all_us = |change| residence_us(self.machine, change, self.mix, load);
        Ok(1.0 - all_us(self.change)?[self.class] / all_us(Nothing)?[self.class])
    }

    fn saving(&self, section: &'static str, paper: &'static str) -> Result<Saving, Error> {
        let change = match self.change {
            Nothing => "no change",
            HalfSoftware => "half the software",
            FastBus => "faster bus",
            TwoQueues => "two queues",
        };
        let bytes = if self.class == LARGEST { "1514" } else { "74" };
        let saved: Result<Vec<f64>, Error> =
            SAVING_LOADS.iter().map(|load| self.saved(*load)).collect();
        Ok(Saving {
            section,
            what: format!("{}, {bytes} B: {change}", self.machine.name()),
            paper,
            saved: saved?,
            follows: false,
            up_to_load: None,
        })
    }

    /// For a number in the paper: checks whether it follows at light load. Half a percent
    /// is rounding.
    fn as_much_as(
        &self,
        section: &'static str,
        paper: &'static str,
        said: f64,
    ) -> Result<Saving, Error> {
        let mut up_to_load = None;
        for step in 0..100 {
            let load = f64::from(step) / 100.0;
            if self.saved(load)? >= said {
                up_to_load = Some(load);
            }
        }
        let follows = (self.saved(0.1)? - said).abs() < 0.005;
        Ok(Saving { follows, up_to_load, ..self.saving(section, paper)? })
    }

    /// For the paper's words: modest at light load, significant under load.
    fn more_with_load(&self) -> Result<Saving, Error> {
        let follows = self.saved(0.1)? < 0.05 && self.saved(0.9)? > 0.5;
        Ok(Saving { follows, ..self.saving("4.5", "modest; under load much")? })
    }
}

fn software_us(machine: Machine) -> Result<f64, Error> {
    demand_us(machine, Nothing, "software", SMALLEST)
}

fn demand_us(machine: Machine, change: Change, name: &str, class: usize) -> Result<f64, Error> {
    let network = network(machine, change, MIXED)?;
    let station = network.stations().iter().find(|station| station.name == name);
    Ok(station.map_or(0.0, |station| station.visits[class] * station.service_us[class]))
}
