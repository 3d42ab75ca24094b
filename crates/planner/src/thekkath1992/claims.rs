//! What the paper says in numbers, and what its tables give.

use super::Change::{FastBus, HalfSoftware, Nothing, TwoQueues};
use super::Machine::{Firefly, Sequent};
use super::{Change, Machine, capacity_per_s, network, residence_us};
use crate::Error;

/// A sentence of the paper with a number in it.
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
    /// Where it does not, or only somewhere: where.
    pub remark: String,
}

/// The class of the smallest packets.
const SMALLEST: usize = 0;
/// The class of the largest.
const LARGEST: usize = 3;

/// The numbers of the text, with this mix of packet sizes.
///
/// # Errors
/// As [`network`].
pub fn claims(mix: [f64; 4]) -> Result<Vec<Claim>, Error> {
    let mut list = at_light_load(mix)?;
    list.extend(at_any_load(mix)?);
    Ok(list)
}

/// Section 4.1: sums of demands, and the greatest.
fn at_light_load(mix: [f64; 4]) -> Result<Vec<Claim>, Error> {
    let mut list = Vec::new();
    for (machine, latency_us, demand_us, share) in
        [(Firefly, 1148.0, 537.0, 0.43), (Sequent, 1141.0, 311.0, 0.70)]
    {
        let sum_us = residence_us(machine, Nothing, mix, 0.0)?[SMALLEST];
        list.push(Claim {
            section: "4.1",
            what: format!("{}: latency at light load, 74 B", machine.name()),
            paper: format!("{latency_us} µs"),
            ours: format!("{sum_us} µs"),
            follows: (sum_us - latency_us).abs() < 1e-9,
            remark: String::new(),
        });
        let capacity_per_s = capacity_per_s(machine, super::SMALL)?;
        list.push(Claim {
            section: "4.1",
            what: format!("{}: greatest rate, 74 B", machine.name()),
            paper: format!("1/{demand_us} µs"),
            ours: format!("1/{:.0} µs ({capacity_per_s:.1}/s)", 1e6 / capacity_per_s),
            follows: (1e6 / capacity_per_s - demand_us).abs() < 1e-9,
            remark: "controller lock".into(),
        });
        let ours = software_us(machine)? / sum_us;
        list.push(Claim {
            section: "4.1",
            what: format!("{}: software, of that latency", machine.name()),
            paper: format!("{:.0} %", 100.0 * share),
            ours: percent(ours),
            follows: (ours - share).abs() < 0.006,
            remark: String::new(),
        });
    }
    let ratio = software_us(Sequent)? / software_us(Firefly)?;
    list.push(Claim {
        section: "4.1",
        what: "Software on the Sequent, of that on the Firefly".into(),
        paper: "more than 1.5".into(),
        ours: format!("{ratio:.2}"),
        follows: ratio > 1.5,
        remark: String::new(),
    });
    Ok(list)
}

/// Sections 4.3 to 4.5: what a change saves.
fn at_any_load(mix: [f64; 4]) -> Result<Vec<Claim>, Error> {
    let half = |machine, class| Saved { machine, change: HalfSoftware, class };
    let fast = Saved { machine: Firefly, change: FastBus, class: LARGEST };
    let (small, large) = (half(Firefly, SMALLEST), half(Firefly, LARGEST));
    let sequent = half(Sequent, SMALLEST);
    let mut list = vec![
        small.claim("4.3", "saved by half the software, 74 B", 0.18, mix)?,
        large.claim("4.3", "saved by half the software, 1514 B", 0.19, mix)?,
        sequent.claim("4.3", "saved by half the software, 74 B, light load", 0.29, mix)?,
        fast.claim("4.4", "saved by the faster bus, 1514 B, all loads", 0.20, mix)?,
        greatest_demand()?,
    ];
    for machine in [Firefly, Sequent] {
        let saved = Saved { machine, change: TwoQueues, class: SMALLEST };
        let (light, heavy) = (saved.at(0.1, mix)?, saved.at(0.9, mix)?);
        list.push(Claim {
            section: "4.5",
            what: format!("{}: saved by two queues, 74 B", machine.name()),
            paper: "modest at light load, significant under load".into(),
            ours: format!("{} at 10 %, {} at 90 % load", percent(light), percent(heavy)),
            follows: light < 0.05 && heavy > 0.5,
            remark: String::new(),
        });
    }
    Ok(list)
}

/// Which station has the greatest demand once the bus is faster.
fn greatest_demand() -> Result<Claim, Error> {
    let bus_us = demand_us(Firefly, FastBus, "I/O bus", LARGEST)?;
    let lock_us = demand_us(Firefly, FastBus, "controller lock", LARGEST)?;
    Ok(Claim {
        section: "4.4",
        what: "Firefly: greatest demand with the faster bus, 1514 B".into(),
        paper: "not the controller lock".into(),
        ours: format!("controller lock {lock_us} µs, bus {bus_us} µs"),
        follows: bus_us > lock_us,
        remark: "it is so with the bus as it was, 815 µs".into(),
    })
}

/// The residence that a change saves.
struct Saved {
    machine: Machine,
    change: Change,
    class: usize,
}

impl Saved {
    /// Of 1, at this load.
    fn at(&self, load: f64, mix: [f64; 4]) -> Result<f64, Error> {
        let residence_us = |change| residence_us(self.machine, change, mix, load);
        Ok(1.0 - residence_us(self.change)?[self.class] / residence_us(Nothing)?[self.class])
    }

    /// Half a percent off is rounding.
    fn claim(
        &self,
        section: &'static str,
        what: &str,
        said: f64,
        mix: [f64; 4],
    ) -> Result<Claim, Error> {
        let (none, light, middle, heavy) =
            (self.at(0.0, mix)?, self.at(0.1, mix)?, self.at(0.6, mix)?, self.at(0.9, mix)?);
        let remark = match self.load_where(said, mix)? {
            Some(load) => format!("up to {:.0} % load it is as much", 100.0 * load),
            None => "it is less at any load".into(),
        };
        Ok(Claim {
            section,
            what: format!("{}: {what}", self.machine.name()),
            paper: format!("{:.0} %", 100.0 * said),
            ours: format!(
                "{} light, {} at 10 %, {} at 60 %, {} at 90 % load",
                percent(none),
                percent(light),
                percent(middle),
                percent(heavy)
            ),
            follows: (light - said).abs() < 0.005,
            remark,
        })
    }

    /// At which load the change saves so much. Savings fall with load, or rise and
    /// then fall; the greatest load is taken.
    fn load_where(&self, said: f64, mix: [f64; 4]) -> Result<Option<f64>, Error> {
        let mut above = None;
        for step in 0..100 {
            let load = f64::from(step) / 100.0;
            if self.at(load, mix)? >= said {
                above = Some(load);
            }
        }
        Ok(above)
    }
}

fn software_us(machine: Machine) -> Result<f64, Error> {
    demand_us(machine, Nothing, "software", SMALLEST)
}

fn demand_us(machine: Machine, change: Change, name: &str, class: usize) -> Result<f64, Error> {
    let network = network(machine, change, super::MIXED)?;
    let station = network.stations().iter().find(|station| station.name == name);
    Ok(station.map_or(0.0, |station| station.visits[class] * station.service_us[class]))
}

fn percent(part: f64) -> String {
    format!("{:.1} %", 100.0 * part)
}
