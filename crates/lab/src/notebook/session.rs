//! [`Session`]: which runs are made, and in which order.

use super::case::{Case, Load, cases};
use super::experiment::{Effort, Experiment, From};
use super::record::{Data, Key};
use crate::random::SplitMix64;

/// Experiments that are run together.
#[derive(Clone, Debug)]
pub struct Session {
    /// The experiments.
    pub experiments: Vec<Experiment>,
    /// As long and as often as `--full` has it.
    pub full: bool,
    /// The seed of the order of runs, and of what is simulated.
    pub seed: u64,
    /// Which part of the runs is made.
    pub shard: Shard,
}

/// A part of the runs: number `index` of `of`, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which part.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

impl Shard {
    /// All of it.
    pub const WHOLE: Shard = Shard { index: 1, of: 1 };
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let parts = text.split_once('/').and_then(|(index, of)| {
            Some(Shard { index: index.trim().parse().ok()?, of: of.trim().parse().ok()? })
        });
        parts
            .filter(|shard| (1..=shard.of).contains(&shard.index) && shard.of <= 10_000)
            .ok_or_else(|| format!("'{text}' is no shard: write I/N, like 1/4, from 1 to N"))
    }
}

/// A run that is to be made.
#[derive(Clone, Debug)]
pub struct Run {
    /// The place of its experiment.
    pub experiment: usize,
    /// The place of its grid there.
    pub grid: usize,
    /// Its levels.
    pub case: Case,
    /// How it comes about.
    pub data: Data,
    /// Its number among the runs of the case.
    pub repetition: usize,
}

impl Session {
    /// How long and how often the cases of an experiment are run, and of one of its grids.
    pub fn effort(&self, experiment: usize, grid: Option<usize>) -> Effort {
        let of = &self.experiments[experiment];
        let effort = if self.full { of.full } else { of.quick };
        let longer = grid.and_then(|grid| of.grids[grid].seconds);
        Effort { seconds: effort.seconds.max(longer.unwrap_or(0.0)), ..effort }
    }

    /// What tells a run apart.
    pub fn key(&self, run: &Run) -> Key {
        let experiment = &self.experiments[run.experiment];
        Key {
            experiment: experiment.name.clone(),
            grid: experiment.grids[run.grid].name.clone(),
            case: run.case.to_string(),
            data: run.data,
            repetition: run.repetition,
        }
    }

    /// All runs of this shard, in their order: round by round, in each of which every case
    /// has one run, in an order that follows from the seed; so that a machine that changes
    /// its speed changes it for all. What is not measured comes last.
    ///
    /// # Errors
    /// If a grid has too many cases.
    pub fn runs(&self) -> Result<Vec<Run>, String> {
        let mut rounds: Vec<Vec<Run>> = Vec::new();
        let mut part = 0;
        for (n, experiment) in self.experiments.iter().enumerate() {
            for (grid, of) in experiment.grids.iter().enumerate() {
                let cases = cases(of)?;
                let repeat = self.effort(n, None).repeat;
                for repetition in 0..repeat {
                    // Cases of a grid are compared, so a round of it stays on one machine.
                    part += 1;
                    if (part - 1) % self.shard.of != self.shard.index - 1 {
                        continue;
                    }
                    rounds.resize(rounds.len().max(repetition + 1), Vec::new());
                    let run = |(case, data): (&Case, Data)| Run {
                        experiment: n,
                        grid,
                        case: case.clone(),
                        data,
                        repetition,
                    };
                    let kinds = |case| kinds(of.from, &cases, case, repetition);
                    let all = cases
                        .iter()
                        .flat_map(|case| kinds(case).into_iter().map(move |data| (case, data)));
                    rounds[repetition].extend(all.map(run));
                }
            }
        }
        let mut random = SplitMix64(self.seed);
        rounds.iter_mut().for_each(|round| random.shuffle(round));
        let mut runs: Vec<Run> = rounds.concat();
        // Stable: the order among those that are measured stays.
        runs.sort_by_key(|run| run.data != Data::Measured);
        Ok(runs)
    }

    /// How long a run takes, seconds, about.
    pub fn seconds(&self, run: &Run) -> f64 {
        let effort = self.effort(run.experiment, Some(run.grid));
        match run.data {
            Data::Measured => {
                let connections = match run.case.load(&effort) {
                    Load::Bench(plan) => plan.connections,
                    Load::Blocks(blocks) => blocks.connections,
                    Load::Http(web) => web.load.connections,
                };
                let bounds = if run.case.processors() > 1 { 2.0 } else { 1.0 };
                let start = 0.05 + 40e-6 * connections as f64;
                effort.warm_up + effort.seconds + bounds * effort.bound + start
            }
            Data::Predicted => 0.2,
            Data::Simulated => 0.1,
            Data::Computed => 0.0,
        }
    }
}

/// How the figures of a case come about in one round.
fn kinds(from: From, all: &[Case], case: &Case, repetition: usize) -> Vec<Data> {
    match from {
        From::Simulator => vec![Data::Simulated],
        // It is exact: once is enough.
        From::Thekkath1992 if repetition == 0 => vec![Data::Computed],
        From::Thekkath1992 => vec![],
        From::Stack => {
            let mut kinds = Vec::new();
            if case.fits() {
                kinds.push(Data::Measured);
            }
            // Where something cannot be measured, predictions are compared with what can.
            if repetition == 0 && all.iter().any(|case| !case.fits()) {
                kinds.push(Data::Predicted);
            }
            kinds
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn session(shard: Shard) -> Session {
        let text = "name = \"a\"\n[[grid]]\norganization = [\"engines\", \"group-locks\"]\n\
                    processors = [1, 64]\n[[grid]]\nname = \"model\"\nfrom = \"thekkath1992\"\n\
                    load = [0.1, 0.2]\n[[grid]]\nname = \"b\"\nconnections = \"1..8\"\n";
        let experiments = vec![Experiment::parse("a.toml", text).expect("good")];
        Session { experiments, full: false, seed: 7, shard }
    }

    fn keys(session: &Session) -> Vec<Key> {
        session.runs().expect("few").iter().map(|run| session.key(run)).collect()
    }

    #[test]
    fn rounds_are_whole_and_in_an_order_that_follows_from_the_seed() {
        let whole = session(Shard::WHOLE);
        let all = keys(&whole);
        assert_eq!(all, keys(&whole));
        let measured: Vec<&Key> = all.iter().filter(|key| key.data == Data::Measured).collect();
        // 64 processors are there or not.
        let each = measured.len() / 5;
        for (n, key) in measured.iter().enumerate() {
            assert_eq!(key.repetition, n / each);
        }
        assert_ne!(keys(&Session { seed: 8, ..whole }), all);
        assert_eq!(all.iter().filter(|key| key.data == Data::Computed).count(), 2);
    }

    #[test]
    fn shards_are_disjoint_and_make_the_whole() {
        let all: BTreeSet<Key> = keys(&session(Shard::WHOLE)).into_iter().collect();
        for of in [2, 3, 20] {
            let mut parts = BTreeSet::new();
            for index in 1..=of {
                for key in keys(&session(Shard { index, of })) {
                    assert!(parts.insert(key), "twice");
                }
            }
            assert_eq!(parts, all, "{of}");
        }
    }

    #[test]
    fn shards_are_written_as_parts() {
        assert_eq!("2/4".parse(), Ok(Shard { index: 2, of: 4 }));
        for bad in ["", "0/4", "5/4", "1", "1/0", "a/b", "1/99999"] {
            assert!(bad.parse::<Shard>().is_err(), "{bad}");
        }
    }
}
