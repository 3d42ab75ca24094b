//! A [`Network`] as TOML. The module [`super`] shows an example.

use super::{Class, Kind, Load, Network, Station, validate};
use crate::Error;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    name: String,
    rate_per_s: Option<f64>,
    #[serde(default, rename = "class")]
    classes: Vec<ClassEntry>,
    #[serde(default, rename = "station")]
    stations: Vec<StationEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClassEntry {
    name: String,
    rate_per_s: Option<f64>,
    share: Option<f64>,
    population: Option<u32>,
    think_us: Option<f64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StationEntry {
    name: String,
    kind: KindName,
    visits: Option<PerClass>,
    service_us: Option<PerClass>,
    servers: Option<u32>,
    queues: Option<u32>,
    shares: Option<Vec<f64>>,
    acquire_us: Option<f64>,
    release_us: Option<f64>,
    transfer_us: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum KindName {
    Queue,
    Delay,
    MultiServer,
    Split,
    Lock,
}

/// One figure for all classes, or one for each.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a number, or a table with a number for each class")]
enum PerClass {
    All(f64),
    Each(BTreeMap<String, f64>),
}

impl Network {
    /// Reads a network.
    ///
    /// # Errors
    /// [`Error::File`], with the line if it is not the TOML expected, or as
    /// [`Network::new`] says.
    pub fn from_toml(text: &str) -> Result<Network, Error> {
        Network::from_toml_at(text, None)
    }

    /// Reads a network whose open classes have the total rate `rate_per_s`, customers a
    /// second, if one is given: then a file of shares need not have one.
    ///
    /// # Errors
    /// As [`Network::from_toml`].
    pub fn from_toml_at(text: &str, rate_per_s: Option<f64>) -> Result<Network, Error> {
        let file: File = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..start].iter().filter(|byte| **byte == b'\n').count() + 1;
            Error::File(format!("line {line}: {}", error.message()))
        })?;
        file.network(rate_per_s)
    }
}

impl File {
    fn network(self, given_per_s: Option<f64>) -> Result<Network, Error> {
        let (rate_per_s, classes) = self.loads(given_per_s).map_err(Error::File)?;
        validate::classes(&classes).map_err(Error::File)?;
        let station = |entry: &StationEntry| {
            entry.station(&classes).map_err(|text| format!("station `{}`: {text}", entry.name))
        };
        let stations: Result<Vec<Station>, String> = self.stations.iter().map(station).collect();
        Network::new(&self.name, rate_per_s, classes, stations.map_err(Error::File)?)
    }

    /// The total rate of open classes, and the classes.
    fn loads(&self, given_per_s: Option<f64>) -> Result<(f64, Vec<Class>), String> {
        let own = self.classes.iter().filter(|class| class.rate_per_s.is_some()).count();
        if own == 0 {
            let classes: Result<Vec<Class>, String> =
                self.classes.iter().map(ClassEntry::class).collect();
            let classes = classes?;
            let open = classes.iter().any(|class| matches!(class.load, Load::Open { .. }));
            return match self.rate_per_s.or(given_per_s.filter(|_| open)) {
                None if open => Err("classes have shares, but of no rate; \
                     give the total rate_per_s at the top of the file"
                    .into()),
                Some(_) if !open && !classes.is_empty() => Err("rate_per_s at the top is for \
                     classes with shares, and there are none; leave it out"
                    .into()),
                rate => Ok((rate.unwrap_or(0.0), classes)),
            };
        }
        if self.rate_per_s.is_some() || own < self.classes.len() {
            return Err("some classes have a rate_per_s of their own; give all of them one, and \
                 none at the top, or all a share"
                .into());
        }
        for class in &self.classes {
            let what = format!("class `{}`: rate_per_s", class.name);
            validate::number(&what, class.rate_per_s.unwrap_or(0.0))?;
        }
        let total: f64 = self.classes.iter().filter_map(|class| class.rate_per_s).sum();
        if total == 0.0 {
            return Err("all rates are 0; give at least one class a rate".into());
        }
        let class = |entry: &ClassEntry| entry.with_rate(total);
        Ok((total, self.classes.iter().map(class).collect::<Result<_, _>>()?))
    }
}

impl ClassEntry {
    fn class(&self) -> Result<Class, String> {
        let name = &self.name;
        let load = match (self.share, self.population) {
            (Some(share), None) if self.think_us.is_none() => Load::Open { share },
            (None, Some(population)) => {
                Load::Closed { population, think_us: self.think_us.unwrap_or(0.0) }
            }
            (None, None) => {
                return Err(format!(
                    "class `{name}` has no load; give it a rate_per_s, a share or a population"
                ));
            }
            _ => return Err(self.either()),
        };
        Ok(Class { name: name.clone(), load })
    }

    fn with_rate(&self, total: f64) -> Result<Class, String> {
        match (self.rate_per_s, self.share, self.population, self.think_us) {
            (Some(rate), None, None, None) => {
                Ok(Class { name: self.name.clone(), load: Load::Open { share: rate / total } })
            }
            _ => Err(self.either()),
        }
    }

    fn either(&self) -> String {
        format!(
            "class `{}` is open and closed at once; give it a rate_per_s, or a share, or a \
             population with think_us",
            self.name
        )
    }
}

impl StationEntry {
    fn station(&self, classes: &[Class]) -> Result<Station, String> {
        let service_us = self.service_us.as_ref().ok_or("it has no service_us; give it one")?;
        let visits = self.visits.as_ref().unwrap_or(&PerClass::All(1.0));
        Ok(Station {
            name: self.name.clone(),
            kind: self.kind()?,
            visits: visits.figures("visits", classes)?,
            service_us: service_us.figures("service_us", classes)?,
        })
    }

    fn kind(&self) -> Result<Kind, String> {
        let given = [
            ("servers", self.servers.is_some(), KindName::MultiServer),
            ("queues", self.queues.is_some(), KindName::Split),
            ("shares", self.shares.is_some(), KindName::Split),
            ("acquire_us", self.acquire_us.is_some(), KindName::Lock),
            ("release_us", self.release_us.is_some(), KindName::Lock),
            ("transfer_us", self.transfer_us.is_some(), KindName::Lock),
        ];
        for (field, is_given, kind) in given {
            if is_given && kind != self.kind {
                return Err(format!("{field} is not for its kind; leave it out"));
            }
        }
        Ok(match self.kind {
            KindName::Queue => Kind::Queue,
            KindName::Delay => Kind::Delay,
            KindName::MultiServer => Kind::MultiServer {
                servers: self.servers.ok_or("it does not say how many servers it has")?,
            },
            KindName::Split => self.split()?,
            KindName::Lock => Kind::Lock {
                acquire_us: self.acquire_us.unwrap_or(0.0),
                release_us: self.release_us.unwrap_or(0.0),
                transfer_us: self.transfer_us.unwrap_or(0.0),
            },
        })
    }

    fn split(&self) -> Result<Kind, String> {
        match (self.queues, &self.shares) {
            (Some(queues), None) if queues <= super::MOST_SERVERS => Ok(Kind::evenly(queues)),
            (Some(queues), None) => {
                Err(format!("it has {queues} queues; at most {} can be", super::MOST_SERVERS))
            }
            (None, Some(shares)) => Ok(Kind::Split { shares: shares.clone() }),
            _ => Err("give it either queues or shares".into()),
        }
    }
}

impl PerClass {
    fn figures(&self, what: &str, classes: &[Class]) -> Result<Vec<f64>, String> {
        let table = match self {
            PerClass::All(figure) => return Ok(vec![*figure; classes.len()]),
            PerClass::Each(table) => table,
        };
        let known = |name: &String| classes.iter().any(|class| class.name == *name);
        if let Some(name) = table.keys().find(|name| !known(name)) {
            return Err(format!("{what} of class `{name}`, and there is no such class"));
        }
        let figure = |class: &Class| {
            let name = &class.name;
            table.get(name).copied().ok_or_else(|| {
                format!("no {what} for class `{name}`; give 0 visits if it does not come there")
            })
        };
        classes.iter().map(figure).collect()
    }
}
