//! Checks that solving a network makes sense.

use super::{Class, Kind, LARGEST, LARGEST_POPULATION, MOST_CELLS, MOST_SERVERS, Network};
use super::{Load, Station};
use crate::Error;
use std::collections::HashSet;

/// How far the sum of shares may be from 1, as people write 0.333.
const ROUNDED: f64 = 1e-3;

/// Checks a whole network.
pub fn network(network: &Network) -> Result<(), Error> {
    check(network).map_err(Error::File)
}

fn check(network: &Network) -> Result<(), String> {
    let (classes, stations) = (&network.classes, &network.stations);
    self::classes(classes)?;
    if stations.is_empty() {
        return Err("there are no stations; add a [[station]] with a name and a kind".into());
    }
    distinct("station", stations.iter().map(|station| &station.name))?;
    number("the rate", network.rate_per_s)?;
    let mut queues = 0;
    for station in stations {
        check_station(station, classes)
            .map_err(|text| format!("station `{}`: {text}", station.name))?;
        queues += match &station.kind {
            Kind::Split { shares } => shares.len(),
            Kind::MultiServer { servers } => *servers as usize,
            _ => 1,
        };
    }
    if queues * classes.len() > MOST_CELLS {
        return Err(format!(
            "{queues} servers times {} classes are more than {MOST_CELLS}; put some together",
            classes.len()
        ));
    }
    for (index, class) in classes.iter().enumerate() {
        let demand = |station: &Station| station.visits[index] * station.service_us[index];
        let think_us = match class.load {
            Load::Open { .. } => 0.0,
            Load::Closed { think_us, .. } => think_us,
        };
        if think_us + stations.iter().map(demand).sum::<f64>() == 0.0 {
            let name = &class.name;
            return Err(format!("class `{name}` has nothing to do at any station; leave it out"));
        }
    }
    Ok(())
}

/// Checks the classes by themselves.
pub fn classes(classes: &[Class]) -> Result<(), String> {
    if classes.is_empty() {
        return Err("there are no classes; add a [[class]] with a name and a load".into());
    }
    distinct("class", classes.iter().map(|class| &class.name))?;
    loads(classes)
}

/// Checks that a figure is finite and not negative.
pub fn number(what: &str, value: f64) -> Result<(), String> {
    match value {
        value if value.is_nan() => Err(format!("{what} is not a number; give one from 0 on")),
        value if value < 0.0 => Err(format!("{what} is {value}, and cannot be negative")),
        value if value > LARGEST => Err(format!("{what} is {value}; at most {LARGEST:e} can be")),
        _ => Ok(()),
    }
}

/// Checks a number of customers.
pub fn population(customers: u32) -> Result<(), String> {
    match customers {
        0 => Err("a population is 0; a closed class has at least one customer".into()),
        n if n > LARGEST_POPULATION => {
            Err(format!("a population is {n}; at most {LARGEST_POPULATION} can be"))
        }
        _ => Ok(()),
    }
}

fn distinct<'a>(what: &str, names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = HashSet::new();
    for name in names {
        if name.trim().is_empty() {
            return Err(format!("a {what} has no name; give it one"));
        }
        if !seen.insert(name) {
            return Err(format!("{what} `{name}` is there twice; give each a name of its own"));
        }
    }
    Ok(())
}

fn loads(classes: &[Class]) -> Result<(), String> {
    let mut shares = 0.0;
    let mut open = 0;
    for Class { name, load } in classes {
        match *load {
            Load::Open { share } => {
                number(&format!("class `{name}`: its share"), share)?;
                shares += share;
                open += 1;
            }
            Load::Closed { population: customers, think_us } => {
                population(customers).map_err(|text| format!("class `{name}`: {text}"))?;
                number(&format!("class `{name}`: think_us"), think_us)?;
            }
        }
    }
    match open {
        0 => Ok(()),
        open if open < classes.len() => Err("some classes are open and some closed; \
             give all a rate or a share, or all a population"
            .into()),
        _ if (shares - 1.0).abs() > ROUNDED => {
            Err(format!("the shares of the classes sum to {shares}; make them sum to 1"))
        }
        _ => Ok(()),
    }
}

fn check_station(station: &Station, classes: &[Class]) -> Result<(), String> {
    for (what, figures) in [("visits", &station.visits), ("service_us", &station.service_us)] {
        if figures.len() != classes.len() {
            let (has, needs) = (figures.len(), classes.len());
            return Err(format!("{what} for {has} classes, and there are {needs}; give all"));
        }
        for (class, figure) in classes.iter().zip(figures) {
            number(&format!("{what} of class `{}`", class.name), *figure)?;
        }
    }
    match &station.kind {
        Kind::Queue | Kind::Delay => Ok(()),
        Kind::MultiServer { servers } => count("servers", *servers as usize),
        Kind::Split { shares } => split(shares),
        Kind::Lock { acquire_us, release_us, transfer_us } => {
            number("acquire_us", *acquire_us)?;
            number("release_us", *release_us)?;
            number("transfer_us", *transfer_us)
        }
    }
}

fn count(what: &str, count: usize) -> Result<(), String> {
    match count {
        0 => Err(format!("it has 0 {what}; give it at least one")),
        n if n > MOST_SERVERS as usize => {
            Err(format!("it has {n} {what}; at most {MOST_SERVERS} can be"))
        }
        _ => Ok(()),
    }
}

fn split(shares: &[f64]) -> Result<(), String> {
    count("queues", shares.len())?;
    for share in shares {
        number("a share", *share)?;
    }
    let sum: f64 = shares.iter().sum();
    if (sum - 1.0).abs() > ROUNDED {
        return Err(format!("the shares of its queues sum to {sum}; make them sum to 1"));
    }
    Ok(())
}
