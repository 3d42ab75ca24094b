//! [`plan`]: which organization, on how many processors, with how many queues and
//! engines and which lock, carries a load within its latency.
//!
//! The way to an answer has three steps, all of which a [`Plan`] keeps for
//! `--explain`:
//!
//! 1. *Bounds.* For each organization and number of processors, the most that it
//!    carries ([`Predictor`]), and the mean residence time by the analytic model
//!    ([`crate::open`]). What cannot carry the rate, or is too slow on average, is
//!    out (`bounds`).
//! 2. *Simulation.* What is left is simulated with arrivals from outside, from the
//!    fewest processors on, until some meet the targets (`judge`).
//! 3. *Choices.* The best two are tried with other locks, engines and queues.
//!
//! The best has the fewest processors, then the most headroom, then the lowest
//! latency. Headrooms within 5 % of each other are alike.

use crate::predict::{Case, Steering};
use crate::simulator::outcome::Latency;
use crate::{Error, Load, Predictor};
use catalog::{Choice, Options};
use rayon::prelude::*;
use serde::{Serialize, Serializer};
use std::fmt::{Display, Formatter};

mod bounds;
mod explain;
mod judge;
mod target;

pub use explain::{figure, lines};
pub use judge::Judged;
pub use target::{Measure, Target};

use bounds::Bound;

/// The most processors that are planned with: as many as can be simulated.
pub const MOST_PROCESSORS: usize = 64;

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The load.
    pub load: Load,
    /// What latency must not exceed; may be empty.
    pub targets: Vec<Target>,
    /// The most processors that the answer may have.
    pub max_processors: usize,
    /// Of the simulations.
    pub seed: u64,
}

/// A stack as it is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Configuration {
    /// The organization's name.
    pub organization: String,
    /// Processors.
    pub processors: usize,
    /// Queues of each device.
    pub queues: usize,
    /// Packet processing engines, where the organization has some.
    pub engines: Option<u16>,
    /// The locks, where the organization has a choice of them.
    #[serde(serialize_with = "lock_name")]
    pub lock: Option<sync::LockKind>,
}

#[expect(clippy::ref_option, reason = "serde's signature")]
fn lock_name<S: Serializer>(lock: &Option<sync::LockKind>, to: S) -> Result<S::Ok, S::Error> {
    lock.map(sync::LockKind::name).serialize(to)
}

impl Configuration {
    /// An organization with its default choices.
    fn new(organization: &str, processors: usize) -> Configuration {
        let choices = catalog::find(organization).map_or(&[][..], |entry| entry.choices);
        let lock = choices.contains(&Choice::Lock).then(|| Options::default().lock);
        let engines = choices.contains(&Choice::Engines);
        Configuration {
            organization: organization.to_owned(),
            processors,
            queues: processors,
            engines: engines.then(|| u16::try_from(processors).unwrap_or(u16::MAX)),
            lock,
        }
    }

    /// The organization's options.
    pub fn options(&self) -> Options {
        let default = Options::default();
        Options {
            lock: self.lock.unwrap_or(default.lock),
            engines: self.engines.map_or(default.engines, |engines| (engines, engines)),
            virtual_processors: default
                .virtual_processors
                .max(u16::try_from(self.processors).unwrap_or(u16::MAX)),
            ..default
        }
    }

    fn case(&self, load: &Load) -> Case {
        Case {
            organization: self.organization.clone(),
            options: self.options(),
            work: load.work,
            bytes: load.bytes,
            processors: self.processors,
            connections: load.connections,
            steering: Steering::Hash,
        }
    }

    /// The same with other choices: one thing at a time.
    fn variants(&self) -> Vec<Configuration> {
        let mut all = Vec::new();
        if self.lock.is_some() {
            let others = sync::LockKind::ALL.into_iter().filter(|kind| Some(*kind) != self.lock);
            all.extend(others.map(|kind| Configuration { lock: Some(kind), ..self.clone() }));
        }
        if let Some(engines) = self.engines {
            let fewer = [1, engines / 2, engines.saturating_sub(1)];
            let mut fewer: Vec<u16> =
                fewer.into_iter().filter(|n| (1..engines).contains(n)).collect();
            fewer.sort_unstable();
            fewer.dedup();
            all.extend(
                fewer.into_iter().map(|n| Configuration { engines: Some(n), ..self.clone() }),
            );
        }
        if self.processors > 1 {
            all.push(Configuration { queues: 2 * self.processors, ..self.clone() });
        }
        all
    }
}

impl Display for Configuration {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let plural = |n: usize| if n == 1 { "" } else { "s" };
        write!(
            f,
            "{}, {} processor{}",
            self.organization,
            self.processors,
            plural(self.processors)
        )?;
        write!(f, ", {} queue{}", self.queues, plural(self.queues))?;
        if let Some(engines) = self.engines {
            write!(f, ", {engines} engine{}", plural(engines.into()))?;
        }
        if let Some(lock) = self.lock {
            write!(f, ", {} locks", lock.name())?;
        }
        Ok(())
    }
}

/// A configuration that was looked at, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Considered {
    /// The configuration.
    pub configuration: Configuration,
    /// What its bounds are, if anything is known of it.
    pub bound: Option<Bound>,
    /// What the simulation says, if it came to one.
    pub judged: Option<Judged>,
    /// Why it is out, or what speaks for it.
    pub verdict: String,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    /// The load, in words.
    pub load: String,
    /// Operations a second that are asked for; of a load without a rate, none.
    pub rate_per_s: Option<f64>,
    /// The targets, in words.
    pub targets: Vec<String>,
    /// The configuration to take.
    pub best: Judged,
    /// The best of another organization; it may not meet the request.
    pub runner_up: Option<Judged>,
    /// The best with one more processor.
    pub one_more: Option<Judged>,
    /// The highest rate at which the best meets the targets, operations a second.
    pub carries_per_s: f64,
    /// The chance that it carries the load within the targets, if predictions are
    /// off as much as their intervals say: normal in the logarithm.
    pub sureness: f64,
    /// Latency against rate of the best and of the runner-up: operations a second,
    /// and the figures.
    pub curves: Vec<Curve>,
    /// All that was looked at, in that order.
    pub considered: Vec<Considered>,
    /// What else to know.
    pub notes: Vec<String>,
}

/// Latency against rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Curve {
    /// Whose.
    pub configuration: Configuration,
    /// Operations a second, and latency there.
    pub points: Vec<(f64, Latency)>,
}

/// What to take for a load. `progress` is told what is being done, from any thread.
///
/// # Errors
/// If the request makes no sense, the calibration knows nothing of such loads, or
/// no configuration carries the load: then which comes nearest, and what would help.
pub fn plan(
    predictor: &Predictor,
    request: &Request,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Plan, Error> {
    request.check()?;
    let mut search = Search { predictor, request, progress, considered: Vec::new() };
    let names = search.known()?;
    let found = (1..=request.max_processors).find_map(|processors| {
        // Far from enough processors are not worth a look; the most there are, is.
        let far = !bounds::possible(predictor, request, &names, processors);
        if far && processors < request.max_processors {
            search.considered.push(Considered {
                configuration: Configuration::new(names[0], processors),
                bound: None,
                judged: None,
                verdict: "too few processors under any organization: so many times what one carries, and a fifth, is less than the rate".into(),
            });
            return None;
        }
        let met = search.at(&names, processors);
        (!met.is_empty()).then_some((processors, met))
    });
    match found {
        // Without a rate, more processors may always do more.
        Some(_) if request.load.rate_per_s.is_none() => search.fastest(&names),
        Some((processors, met)) => search.answer(&names, processors, met),
        None => Err(search.nothing(&names)),
    }
}

impl Request {
    /// Does it make sense?
    ///
    /// # Errors
    /// If a figure is out of bounds: a line that says which.
    pub fn check(&self) -> Result<(), Error> {
        self.load.check()?;
        if self.max_processors == 0 || self.max_processors > MOST_PROCESSORS {
            return Err(Error::Asked(format!(
                "{} processors at most: plans are for 1 to {MOST_PROCESSORS}",
                self.max_processors
            )));
        }
        if self.load.connections > 1_000_000 {
            return Err(Error::Asked(format!(
                "{} connections: plans are for at most 1000000, as many as can be simulated",
                self.load.connections
            )));
        }
        self.targets.iter().try_for_each(Target::check)
    }
}

/// A search under way.
struct Search<'a> {
    predictor: &'a Predictor,
    request: &'a Request,
    progress: &'a (dyn Fn(&str) + Sync),
    considered: Vec<Considered>,
}

impl Search<'_> {
    /// The organizations that the calibration knows with such a load.
    fn known(&self) -> Result<Vec<&'static str>, Error> {
        let work = self.request.load.work;
        let names = catalog::CATALOG.iter().map(|entry| entry.name);
        let known: Vec<_> =
            names.filter(|name| !self.predictor.processors(name, work).is_empty()).collect();
        if known.is_empty() {
            let works = crate::Work::ALL.into_iter().filter(|work| {
                let measured = |entry: &catalog::Entry| {
                    !self.predictor.processors(entry.name, *work).is_empty()
                };
                catalog::CATALOG.iter().any(measured)
            });
            let works: Vec<&str> = works.map(crate::Work::name).collect();
            return Err(Error::Asked(format!(
                "the calibration knows nothing of {work}, only of {}: ask for one of these, or calibrate again",
                works.join(", ")
            )));
        }
        Ok(known)
    }

    /// Looks at all organizations on so many processors: those that meet the
    /// targets, the best first.
    fn at(&mut self, names: &[&str], processors: usize) -> Vec<Judged> {
        let fit = names.iter().filter(|name| {
            processors == 1 || catalog::find(name).is_some_and(|entry| !entry.single)
        });
        let all = fit.map(|name| Configuration::new(name, processors)).collect();
        self.consider(all)
    }

    /// Looks at configurations: those that meet the targets, the best first.
    fn consider(&mut self, all: Vec<Configuration>) -> Vec<Judged> {
        let looked: Vec<Considered> = all
            .into_par_iter()
            .map(|configuration| {
                (self.progress)(&configuration.to_string());
                judge::consider(self.predictor, self.request, configuration)
            })
            .collect();
        let mut met: Vec<Judged> =
            looked.iter().filter_map(|one| one.judged.clone()).filter(|one| one.meets).collect();
        self.considered.extend(looked);
        met.sort_by(judge::better);
        met
    }

    /// The best two with other choices, and what goes with them.
    fn answer(
        &mut self,
        names: &[&str],
        processors: usize,
        mut met: Vec<Judged>,
    ) -> Result<Plan, Error> {
        let first: Vec<Configuration> =
            met.iter().take(2).flat_map(|one| one.configuration.variants()).collect();
        for varied in self.consider(first) {
            // A choice must be worth naming: what is as good as the default is not.
            let name = &varied.configuration.organization;
            let same = met.iter_mut().find(|one| one.configuration.organization == *name);
            if let Some(same) = same
                && judge::clearly_better(&varied, same)
            {
                *same = varied;
            }
        }
        met.sort_by(judge::better);
        let best = met.remove(0);
        let mut next = None;
        if processors < MOST_PROCESSORS {
            next = Some(self.at(names, processors + 1)).filter(|met| !met.is_empty());
        }
        let runner_up = met.into_iter().next();
        let other =
            |one: &&Judged| one.configuration.organization != best.configuration.organization;
        let runner_up = runner_up.or_else(|| next.iter().flatten().find(other).cloned());
        let runner_up = runner_up.or_else(|| self.next_best(&best));
        let one_more = next.and_then(|met| met.into_iter().next());
        self.finish(best, runner_up, one_more)
    }

    /// If nothing else meets the request: what another organization would carry on
    /// as many processors.
    fn next_best(&self, best: &Judged) -> Option<Judged> {
        let others = self.considered.iter().filter(|one| {
            one.configuration.processors == best.configuration.processors
                && one.configuration.organization != best.configuration.organization
        });
        let bound = others.filter_map(|one| Some((one.bound.as_ref()?, &one.configuration)));
        let next = bound.max_by(|a, b| a.0.carries_per_s.total_cmp(&b.0.carries_per_s))?;
        judge::judge(self.predictor, self.request, next.1, next.0).ok()
    }

    /// Of a load without a rate: the configuration that does most.
    fn fastest(&mut self, names: &[&str]) -> Result<Plan, Error> {
        (2..=self.request.max_processors).for_each(|processors| {
            self.at(names, processors);
        });
        let mut met: Vec<Judged> =
            self.considered.iter().filter_map(|one| one.judged.clone()).collect();
        met.retain(|one| one.meets);
        met.sort_by(judge::faster);
        let best = met.remove(0);
        let organization = best.configuration.organization.clone();
        let runner_up = met.into_iter().find(|one| one.configuration.organization != organization);
        let more = best.configuration.processors + 1;
        let mut one_more = if more <= MOST_PROCESSORS { self.at(names, more) } else { Vec::new() };
        one_more.sort_by(judge::faster);
        self.finish(best, runner_up, one_more.into_iter().next())
    }

    fn finish(
        &mut self,
        best: Judged,
        runner_up: Option<Judged>,
        one_more: Option<Judged>,
    ) -> Result<Plan, Error> {
        let request = self.request;
        let mut curves = Vec::new();
        if request.load.rate_per_s.is_some() {
            let whose: Vec<&Judged> = std::iter::once(&best).chain(&runner_up).collect();
            (self.progress)("latency against rate");
            curves = whose
                .into_par_iter()
                .map(|one| judge::curve(self.predictor, request, one))
                .collect();
        }
        let carries_per_s = match curves.first() {
            Some(curve) => judge::carries(curve, request, &best),
            None => best.carries_per_s,
        };
        let mut notes = best.notes.clone();
        let machine = &self.predictor.calibration().machine;
        if best.configuration.processors > machine.processors {
            notes.push(format!(
                "{} processors are more than the {} of the machine that was calibrated",
                best.configuration.processors, machine.processors
            ));
        }
        Ok(Plan {
            load: request.load.to_string(),
            rate_per_s: request.load.rate_per_s,
            targets: request.targets.iter().map(ToString::to_string).collect(),
            sureness: judge::sureness(request, carries_per_s, &best),
            best,
            runner_up,
            one_more,
            carries_per_s,
            curves,
            considered: std::mem::take(&mut self.considered),
            notes,
        })
    }

    /// Why nothing carries the load, what comes nearest, and what would help.
    fn nothing(&self, names: &[&str]) -> Error {
        let request = self.request;
        let asked = match &request.targets[..] {
            [] => format!("no configuration carries `{}`", request.load),
            targets => {
                let targets: Vec<String> = targets.iter().map(ToString::to_string).collect();
                format!("no configuration carries `{}` within {}", request.load, targets.join(", "))
            }
        };
        let most = request.max_processors;
        let plural = if most == 1 { "" } else { "s" };
        let slow =
            self.considered.iter().filter_map(|one| one.judged.as_ref()).filter(|one| one.carried);
        if let Some(nearest) =
            slow.min_by(|a, b| judge::off(request, a).total_cmp(&judge::off(request, b)))
        {
            return Error::Asked(format!(
                "{asked} on up to {most} processor{plural}: nearest is {}, with {}; allow more latency, a lower rate, or more processors (--max-processors)",
                nearest.configuration,
                explain::latency(&nearest.latency)
            ));
        }
        let reach = |one: &Considered| {
            one.bound.as_ref().map(|bound| (bound.carries_per_s, one.configuration.clone()))
        };
        let nearest = self.considered.iter().filter_map(reach).max_by(|a, b| a.0.total_cmp(&b.0));
        let Some((carries, configuration)) = nearest else {
            return Error::Asked(format!("{asked}: nothing is known of any: calibrate again"));
        };
        let help = match bounds::enough(self.predictor, request, names) {
            Some(enough) => {
                format!("with --max-processors {} it would be {enough}", enough.processors)
            }
            None => format!("more than {MOST_PROCESSORS} processors would be needed"),
        };
        Error::Asked(format!(
            "{asked} on up to {most} processor{plural}: nearest is {configuration}, which carries {}; {help}; or ask for a lower rate",
            explain::rate(carries)
        ))
    }
}

#[cfg(test)]
mod tests;
