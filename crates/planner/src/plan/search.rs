//! [`plan`]: the search for the configuration to take.

use super::{
    Configuration, Considered, Judged, MOST_PROCESSORS, Plan, Request, bounds, judge, words,
};
use crate::{Error, Predictor};
use rayon::prelude::*;

/// Finds the configuration to take for a load. `progress` is called, from any thread,
/// with what is being considered.
///
/// # Errors
/// If the request makes no sense, if the calibration has not measured such loads, or if
/// no configuration carries the load. In the last case, the error says which comes
/// nearest, and what would help.
pub fn plan(
    predictor: &Predictor,
    request: &Request,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Plan, Error> {
    request.check()?;
    let mut search = Search { predictor, request, progress, considered: Vec::new() };
    let names = search.known()?;
    let found = (1..=request.max_processors).find_map(|processors| {
        // Numbers of processors that are far too small are skipped, except the largest.
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

/// A search under way.
struct Search<'a> {
    predictor: &'a Predictor,
    request: &'a Request,
    progress: &'a (dyn Fn(&str) + Sync),
    considered: Vec<Considered>,
}

impl Search<'_> {
    /// The organizations that the calibration has measured with such a load.
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

    /// Considers all organizations on this number of processors. Returns those that
    /// meet the targets, the best first.
    fn at(&mut self, names: &[&str], processors: usize) -> Vec<Judged> {
        let fit = names.iter().filter(|name| {
            processors == 1 || catalog::find(name).is_some_and(|entry| !entry.single)
        });
        let all = fit.map(|name| Configuration::new(name, processors)).collect();
        self.consider(all)
    }

    /// Considers configurations. Returns those that meet the targets, the best first.
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

    /// Tries the best two with other choices, and completes the plan.
    fn answer(
        &mut self,
        names: &[&str],
        processors: usize,
        mut met: Vec<Judged>,
    ) -> Result<Plan, Error> {
        let first: Vec<Configuration> =
            met.iter().take(2).flat_map(|one| one.configuration.variants()).collect();
        for varied in self.consider(first) {
            // A choice that is only as good as the default is not taken.
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

    /// The organization that carries most on as many processors, if no other meets the
    /// request.
    fn next_best(&self, best: &Judged) -> Option<Judged> {
        let others = self.considered.iter().filter(|one| {
            one.configuration.processors == best.configuration.processors
                && one.configuration.organization != best.configuration.organization
        });
        let bound = others.filter_map(|one| Some((one.bound.as_ref()?, &one.configuration)));
        let next = bound.max_by(|a, b| a.0.carries_per_s.total_cmp(&b.0.carries_per_s))?;
        judge::judge(self.predictor, self.request, next.1, next.0).ok()
    }

    /// The plan for a load without a rate: the configuration that carries most.
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

    /// The error when no configuration carries the load: it says which comes nearest,
    /// and what would help.
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
                words::latency(&nearest.latency)
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
            words::rate(carries)
        ))
    }
}
