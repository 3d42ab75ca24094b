//! [`Case`]: one combination of levels, and what is run for it.

use super::experiment::{Effort, Experiment, From, Grid};
use super::factor::PROCESSORS;
use super::level::Level;
use super::web::{self, Web};
use crate::blocks::Blocks;
use crate::http;
use crate::setup::affinity;
use crate::setup::bench_plan::{
    BenchPlan, Direction, Family, Peer, Presentation, ReceiveBuffers, Workload,
};
use device::fault::Spec;
use std::collections::BTreeMap;
use std::fmt::{Display, Formatter};
use std::time::Duration;

/// The most cases of a grid.
const MOST: usize = 20_000;

/// One combination of levels, by factor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case(pub BTreeMap<String, Level>);

impl Display for Case {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let words: Vec<String> =
            self.0.iter().map(|(name, level)| format!("{name}={level}")).collect();
        f.write_str(&words.join(" "))
    }
}

/// All cases of a grid, the last factor's levels in turn first.
///
/// # Errors
/// If they are too many, with their number.
pub fn cases(grid: &Grid) -> Result<Vec<Case>, String> {
    let count = grid.factors.values().fold(1usize, |n, levels| n.saturating_mul(levels.len()));
    if count > MOST {
        return Err(format!(
            "grid '{}' has {count} cases, more than {MOST}: give fewer levels, or two grids",
            grid.name
        ));
    }
    let mut cases = vec![Case::default()];
    for (name, levels) in &grid.factors {
        let with = |case: &Case, level: &Level| {
            let mut case = case.clone();
            case.0.insert(name.clone(), level.clone());
            case
        };
        cases = cases.iter().flat_map(|case| levels.iter().map(move |l| with(case, l))).collect();
    }
    Ok(cases)
}

/// Factors that every workload has.
const OF_ALL: [&str; 13] = [
    "organization",
    "workload",
    "processors",
    "connections",
    "mtu",
    "lock",
    "groups",
    "virtual_processors",
    "engines",
    "order",
    "max_threads",
    "pin",
    "burst",
];

/// What is run for a case on the stack.
#[derive(Clone, Debug)]
pub enum Load {
    /// A plan of `anabranch bench`, of one organization.
    Bench(Box<BenchPlan>),
    /// Blocks beside short-lived connections.
    Blocks(Box<Blocks>),
    /// Requests to a web server, at set times.
    Http(Box<Web>),
}

impl Case {
    fn text(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(Level::Name(text)) => Some(text),
            _ => None,
        }
    }

    fn switch(&self, name: &str) -> Option<bool> {
        match self.0.get(name) {
            Some(Level::Switch(on)) => Some(*on),
            _ => None,
        }
    }

    /// A whole number; `processors`: as many.
    pub(super) fn count(&self, name: &str) -> Option<usize> {
        match self.0.get(name)? {
            Level::Number(number) => Some(*number as usize),
            Level::Name(text) if text == PROCESSORS => Some(self.processors()),
            _ => None,
        }
    }

    /// Its processors.
    pub fn processors(&self) -> usize {
        match self.0.get(PROCESSORS) {
            Some(Level::Number(number)) => *number as usize,
            _ => 1,
        }
    }

    /// Its organization's name.
    pub fn organization(&self) -> &str {
        self.text("organization").unwrap_or("uniprocessor")
    }

    /// What its connections do.
    pub(super) fn workload(&self) -> Workload {
        match self.text("workload") {
            Some("rr") => Workload::Rr,
            Some("crr") => Workload::Crr,
            Some("udp") => Workload::Udp,
            Some("udp-rr") => Workload::UdpRr,
            _ => Workload::Bulk,
        }
    }

    /// Does it load a web server?
    pub(super) fn is_of_web(&self) -> bool {
        self.text("workload") == Some("http")
    }

    /// Which way data goes.
    pub(super) fn direction(&self) -> Direction {
        match self.text("direction") {
            Some("receive") => Direction::Receive,
            Some("both") => Direction::Both,
            _ => Direction::Send,
        }
    }

    /// What the organization leaves open.
    pub(super) fn options(&self) -> organizations::Options {
        let mut options = organizations::Options::default();
        let small = |name| self.count(name).map(|n| n as u16);
        options.groups = small("groups").unwrap_or(options.groups);
        options.virtual_processors =
            small("virtual_processors").unwrap_or(options.virtual_processors);
        options.engines = small("engines").map_or(options.engines, |n| (n, n));
        options.lock = self.text("lock").and_then(|name| name.parse().ok()).unwrap_or(options.lock);
        options.order = self.switch("order").unwrap_or(false);
        options.max_threads = self.count("max_threads").unwrap_or(options.max_threads);
        options.pin = self.switch("pin").unwrap_or(false);
        options
    }

    /// What is run for it on the stack.
    pub fn load(&self, effort: &Effort) -> Load {
        if self.text("workload") == Some("blocks") {
            return Load::Blocks(Box::new(self.blocks(effort)));
        }
        if self.is_of_web() {
            return Load::Http(Box::new(self.web(effort)));
        }
        Load::Bench(Box::new(self.plan(effort)))
    }

    fn plan(&self, effort: &Effort) -> BenchPlan {
        let workload = self.workload();
        let faults = self.faults();
        let stack = workload == Workload::Crr || faults.is_some();
        let usual = if stack { "stack" } else { "driver" };
        let peer = match self.text("peer").unwrap_or(usual) {
            "stack" => Peer::Stack,
            _ => Peer::Driver,
        };
        let plan = BenchPlan {
            congestion: Default::default(),
            workload,
            organizations: vec![self.organization().to_owned()],
            processors: self.processors(),
            connections: self.count("connections").unwrap_or(16),
            active: self.count("active"),
            bytes: self.count("bytes"),
            mtu: self.count("mtu").unwrap_or(1500),
            family: Family::V4,
            posted: false,
            resting: false,
            express: true,
            segment: self.count("segment"),
            direction: self.direction(),
            peer,
            presentation: match self.text("presentation") {
                Some("xdr") => Presentation::Xdr,
                _ => Presentation::None,
            },
            receive_buffers: match self.text("receive_buffers") {
                Some("circular") => ReceiveBuffers::Circular,
                _ => ReceiveBuffers::Lifo,
            },
            checksum: self.switch("checksum").unwrap_or(true),
            faults,
            seconds: effort.seconds,
            repeat: 1,
            warm_up: effort.warm_up,
            bound: effort.bound,
            options: self.options(),
            burst: self.count("burst").unwrap_or(32),
            instruments: true,
            reference: true,
            confine: self.switch("confine").unwrap_or(peer == Peer::Driver),
        };
        let plan = if self.text("preset") == Some("yates") { plan.yates() } else { plan };
        plan.on(self.organization())
    }

    /// What the link does to packets, if anything.
    fn faults(&self) -> Option<Spec> {
        let number = |name| self.0.get(name).and_then(Level::number).unwrap_or(0.0);
        let spec = Spec {
            loss: number("loss"),
            reorder: number("reorder"),
            duplicate: number("duplicate"),
            delay: Duration::from_secs_f64(number("delay_us") / 1e6),
            ..Spec::default()
        };
        // A grid with such a factor has the same peer where its level is 0.
        let named = ["loss", "reorder", "duplicate", "delay_us"];
        named.iter().any(|name| self.0.contains_key(*name)).then_some(spec)
    }

    fn blocks(&self, effort: &Effort) -> Blocks {
        Blocks {
            organizations: vec![self.organization().to_owned()],
            processors: self.processors(),
            connections: self.count("connections").unwrap_or(8),
            short_lived: vec![self.0.get("short_lived").and_then(Level::number).unwrap_or(0.0)],
            mtu: self.count("mtu").unwrap_or(1500),
            seconds: effort.seconds,
            warm_up: effort.warm_up,
            repeat: 1,
            options: self.options(),
            burst: self.count("burst").unwrap_or(32),
        }
    }

    fn web(&self, effort: &Effort) -> Web {
        // Levels are checked when they are read.
        let schedule = self.0.get("rate").and_then(|rate| web::schedule(rate).ok());
        Web {
            organization: self.organization().to_owned(),
            processors: self.processors(),
            options: self.options(),
            burst: self.count("burst").unwrap_or(32),
            mtu: self.count("mtu").unwrap_or(1500),
            page: self.count("bytes").unwrap_or(1024),
            load: http::Load {
                schedule: schedule.unwrap_or(http::Schedule::constant(1000.0)),
                connections: self.count("connections").unwrap_or(16),
                seconds: effort.seconds,
                warm_up: effort.warm_up,
                host: "anabranch".to_owned(),
                path: web::PATH.to_owned(),
                fresh: self.switch("fresh").unwrap_or(false),
            },
        }
    }

    /// Has this machine the processors to run it?
    pub(super) fn fits(&self) -> bool {
        let single = catalog::find(self.organization()).is_some_and(|entry| entry.single);
        single || self.processors() <= affinity::processors()
    }

    /// A factor that this workload knows nothing of: its levels would all be the same.
    fn without_effect(&self) -> Option<&str> {
        let knows = |name: &str| match self.text("workload") {
            Some("http") => OF_ALL.contains(&name) || ["rate", "fresh", "bytes"].contains(&name),
            Some("blocks") => OF_ALL.contains(&name) || name == "short_lived",
            _ => !["rate", "fresh", "short_lived"].contains(&name),
        };
        self.0.keys().map(String::as_str).find(|name| !knows(name))
    }

    fn check(&self, effort: &Effort) -> Result<(), String> {
        if let Some(name) = self.without_effect() {
            let workload = self.text("workload").unwrap_or("bulk");
            return Err(format!("{name} means nothing to {workload}: leave it out"));
        }
        let checked = match self.load(effort) {
            Load::Bench(plan) => plan.check(),
            Load::Blocks(blocks) => blocks.check(),
            Load::Http(web) => web.check(),
        };
        checked.map_err(|error| error.to_string())
    }
}

/// Do all cases of an experiment make sense?
///
/// # Errors
/// If not: one line with the file, the line of the grid and the case.
pub fn check(file: &str, experiment: &Experiment) -> Result<(), String> {
    for grid in &experiment.grids {
        let at = |what: String| format!("{file}, line {}: {what}", grid.line);
        let cases = cases(grid).map_err(at)?;
        if grid.from == From::Simulator && grid.costs.is_none() {
            return Err(at("a grid from the simulator has costs: name a paper's".to_owned()));
        }
        if grid.from == From::Stack {
            for case in &cases {
                case.check(&experiment.quick)
                    .map_err(|what| at(format!("grid '{}', {case}: {what}", grid.name)))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_has_every_combination_once() {
        let text = "name = \"a\"\n[[grid]]\norganization = [\"engines\", \"group-locks\"]\n\
                    processors = \"1..2\"\nconnections = [\"processors\", 64]\n";
        let experiment = Experiment::parse("a.toml", text).expect("good");
        let cases = cases(&experiment.grids[0]).expect("few");
        assert_eq!(cases.len(), 8);
        let mut words: Vec<String> = cases.iter().map(Case::to_string).collect();
        assert_eq!(words[0], "connections=processors organization=engines processors=1");
        words.dedup();
        assert_eq!(words.len(), 8);
        let two = cases.iter().find(|case| case.processors() == 2).expect("two");
        assert_eq!(two.count("connections"), Some(2));
    }

    #[test]
    fn a_grid_too_large_says_how_large() {
        let text = "name = \"a\"\n[[grid]]\nconnections = \"1..5000/1\"\nmtu = [600, 700, 800, 900, 1000]\n";
        let experiment = Experiment::parse("a.toml", text).expect("parses");
        let error = check("a.toml", &experiment).expect_err("25,000");
        assert!(error.starts_with("a.toml, line 2: ") && error.contains("25000 cases"), "{error}");
    }

    #[test]
    fn a_case_that_makes_no_sense_is_named() {
        let text = "name = \"a\"\n\n[[grid]]\nworkload = \"udp\"\nbytes = 9000\n";
        let experiment = Experiment::parse("a.toml", text).expect("parses");
        let error = check("a.toml", &experiment).expect_err("too large for the MTU");
        assert!(error.starts_with("a.toml, line 3: ") && error.contains("bytes=9000"), "{error}");
    }
}
