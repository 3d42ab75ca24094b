//! What the paper says in numbers, and what its tables give.

use super::Change::{FastBus, HalfSoftware, Nothing, TwoQueues};
use super::Machine::{Firefly, Sequent};
use super::{Change, MIXED, Machine, SMALL, capacity_per_s, network, residence_us};
use crate::Error;

/// A sentence of the paper with a number in it that follows from its tables
/// whatever the mix of packet sizes, or does not.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The section.
    pub section: &'static str,
    /// What it is about.
    pub what: String,
    /// What the paper says.
    pub paper: String,
    /// What its tables give.
    pub ours: String,
    /// Does the one follow from the other?
    pub follows: bool,
}

/// What a change of a machine saves of the residence time, by load.
#[derive(Clone, Debug, PartialEq)]
pub struct Saving {
    /// The section.
    pub section: &'static str,
    /// What is changed, for which packets.
    pub what: String,
    /// What the paper says.
    pub paper: &'static str,
    /// What its tables give: for each of [`SAVING_LOADS`], of 1.
    pub saved: Vec<f64>,
    /// Does the one follow from the other?
    pub follows: bool,
    /// Up to which load it is as much as the paper says, of what the unchanged
    /// machine can do. None: at no load, or the paper gives no number.
    pub up_to_load: Option<f64>,
}

/// The loads of [`Saving::saved`], of what the unchanged machine can do.
pub const SAVING_LOADS: [f64; 5] = [0.0, 0.1, 0.3, 0.6, 0.9];

/// The class of the smallest packets.
const SMALLEST: usize = 0;
/// The class of the largest.
const LARGEST: usize = 3;

/// The numbers of section 4.1, and one of 4.4.
///
/// # Errors
/// None that occurs: the tables make sense.
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

/// Which station has the greatest demand once the bus is faster. The text is right
/// for the bus as it was.
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

/// What sections 4.3 to 4.5 say of changes, with this mix of packet sizes.
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

/// A change, and whose residence time it is about.
struct Case {
    machine: Machine,
    change: Change,
    class: usize,
    mix: [f64; 4],
}

impl Case {
    /// What is saved, of 1, at this load.
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

    /// The paper gives a number: does it follow at light load? Half a percent off is
    /// rounding.
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

    /// The paper says: modest at light load, significant under load.
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
