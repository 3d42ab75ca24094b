//! [`Experiment`]: what a file in TOML says is to be measured, drawn and tested.

use super::factor::{self, FACTORS, MODEL_FACTORS};
use super::level::{self, Level};
use super::metric;
use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Spanned;

/// An experiment as its file says.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Its name: letters, digits and dashes.
    pub name: String,
    /// What it is about, in a line.
    pub title: String,
    /// The paper whose evaluation it runs again, as it is cited; empty if there is none.
    pub paper: String,
    /// How long and how often, as `--quick` has it (and files of one's own).
    pub quick: Effort,
    /// The same for `--full`.
    pub full: Effort,
    /// What is varied.
    pub grids: Vec<Grid>,
    /// What is drawn.
    pub figures: Vec<Figure>,
    /// What is tested.
    pub claims: Vec<Claim>,
    /// The text that it was read from.
    pub text: String,
}

/// How long and how often each case is run.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Effort {
    /// Runs of each case.
    pub repeat: usize,
    /// Length of a run, seconds.
    pub seconds: f64,
    /// Time before it, which is discarded, seconds.
    pub warm_up: f64,
    /// Time for the bound beside it, seconds.
    pub bound: f64,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort { repeat: 5, seconds: 0.1, warm_up: 0.05, bound: 0.01 }
    }
}

impl Effort {
    /// Twelve runs, as Yates et al. had, of a second.
    const FULL: Effort = Effort { repeat: 12, seconds: 1.0, warm_up: 0.3, bound: 0.1 };

    fn check(&self) -> Result<(), String> {
        if !(1..=1000).contains(&self.repeat) {
            return Err(format!("repeat = {} is not possible: give 1 to 1000", self.repeat));
        }
        for (name, seconds, least) in [
            ("seconds", self.seconds, 0.01),
            ("warm_up", self.warm_up, 0.0),
            ("bound", self.bound, 0.001),
        ] {
            if !(least..=3600.0).contains(&seconds) {
                return Err(format!("{name} = {seconds} is not possible: give {least} to 3600"));
            }
        }
        Ok(())
    }
}

/// Where the figures of a grid come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum From {
    /// The stack, on as many processors as this machine has; the planner's predictions
    /// beside it if the grid asks for more.
    #[default]
    Stack,
    /// The simulator, with the costs of a paper's machine.
    Simulator,
    /// The model of Thekkath et al. 1992.
    Thekkath1992,
}

/// Factors, and the levels of each: a case for each combination.
#[derive(Clone, Debug)]
pub struct Grid {
    /// Its name in the file.
    pub name: String,
    /// Where its figures come from.
    pub from: From,
    /// The paper whose machine is simulated.
    pub costs: Option<String>,
    /// Another length of its runs, seconds.
    pub seconds: Option<f64>,
    /// Its factors.
    pub factors: BTreeMap<String, Vec<Level>>,
    /// The line that it begins in.
    pub line: usize,
}

/// What is drawn of a grid.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its title.
    pub title: String,
    /// The figure of the paper that it is to be compared with; empty if there is none.
    #[serde(default)]
    pub source: String,
    /// The grid.
    pub grid: String,
    /// The factor along the x axis.
    pub x: String,
    /// The metric along the y axis.
    pub y: String,
    /// Is the x axis logarithmic?
    #[serde(default)]
    pub log_x: bool,
    /// Is the y axis?
    #[serde(default)]
    pub log_y: bool,
    /// Only cases with these levels.
    #[serde(default, rename = "where")]
    pub only: Selector,
}

/// Levels by factor.
pub type Selector = BTreeMap<String, Level>;

/// A finding, and the test in numbers of whether it holds here:
/// `at_least <= (left / left_over) / (right / right_over) <= at_most`, each the metric of
/// the case that a selector names; what is left out counts as 1.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Section and figure of the paper.
    pub source: String,
    /// The finding in words.
    pub statement: String,
    /// The grid.
    pub grid: String,
    /// The metric.
    pub metric: String,
    /// What is looked at.
    pub left: Selector,
    /// What it is divided by.
    pub left_over: Option<Selector>,
    /// What it is compared with.
    pub right: Option<Selector>,
    /// What that is divided by.
    pub right_over: Option<Selector>,
    /// The metric of what it is compared with, if it is another one.
    pub right_metric: Option<String>,
    /// The test holds from here on.
    pub at_least: Option<f64>,
    /// And up to here.
    pub at_most: Option<f64>,
    /// The factor at each of whose levels the test is made.
    pub each: Option<String>,
    /// Which of them counts.
    #[serde(default)]
    pub take: Take,
    /// What the paper's own figures give, in words.
    #[serde(default)]
    pub paper: String,
    /// Predictions only, even where the case could be measured.
    #[serde(default)]
    pub predicted: bool,
}

/// Which of several levels counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Take {
    /// The one with the least value.
    #[default]
    Least,
    /// The one with the greatest.
    Greatest,
}

impl Claim {
    /// Its selectors.
    pub fn selectors(&self) -> impl Iterator<Item = &Selector> {
        let others = [&self.left_over, &self.right, &self.right_over];
        std::iter::once(&self.left).chain(others.into_iter().flatten())
    }
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    name: Spanned<String>,
    #[serde(default)]
    title: String,
    #[serde(default)]
    paper: String,
    quick: Option<Spanned<Effort>>,
    full: Option<Spanned<FullEffort>>,
    #[serde(default)]
    grid: Vec<Spanned<BTreeMap<String, Spanned<toml::Value>>>>,
    #[serde(default)]
    figure: Vec<Spanned<Figure>>,
    #[serde(default)]
    claim: Vec<Spanned<Claim>>,
}

/// [`Effort`] with other defaults.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FullEffort {
    repeat: usize,
    seconds: f64,
    warm_up: f64,
    bound: f64,
}

impl Default for FullEffort {
    fn default() -> FullEffort {
        let Effort { repeat, seconds, warm_up, bound } = Effort::FULL;
        FullEffort { repeat, seconds, warm_up, bound }
    }
}

/// What is wrong with a file, and where in its text.
type Wrong = (usize, String);

impl Experiment {
    /// Reads the text of the file `file`.
    ///
    /// # Errors
    /// One line with the file, the line, what is wrong, and what would be right.
    pub fn parse(file: &str, text: &str) -> Result<Experiment, String> {
        read(text).map_err(|(at, what)| format!("{file}, line {}: {what}", line(text, at)))
    }

    /// The grid of this name.
    pub fn grid(&self, name: &str) -> Option<&Grid> {
        self.grids.iter().find(|grid| grid.name == name)
    }
}

fn line(text: &str, at: usize) -> usize {
    1 + text.as_bytes()[..at.min(text.len())].iter().filter(|byte| **byte == b'\n').count()
}

fn read(text: &str) -> Result<Experiment, Wrong> {
    let file: File = toml::from_str(text).map_err(|error| {
        let message = error.message().split_whitespace().collect::<Vec<_>>().join(" ");
        (error.span().map_or(0, |span| span.start), message)
    })?;
    check_name(&file.name)?;
    let quick = effort(file.quick.map(|given| (given.span().start, given.into_inner())), None)?;
    let full = file.full.map(|given| {
        let at = given.span().start;
        let FullEffort { repeat, seconds, warm_up, bound } = given.into_inner();
        (at, Effort { repeat, seconds, warm_up, bound })
    });
    let full = effort(full, Some(Effort::FULL))?;
    if file.grid.is_empty() {
        return Err((0, "there is no [[grid]]: add one that says what is varied".to_owned()));
    }
    let grids: Result<Vec<Grid>, Wrong> = file.grid.into_iter().map(|g| grid(text, g)).collect();
    let experiment = Experiment {
        name: file.name.into_inner(),
        title: file.title,
        paper: file.paper,
        quick,
        full,
        grids: grids?,
        figures: Vec::new(),
        claims: Vec::new(),
        text: text.to_owned(),
    };
    check_names_of_grids(&experiment)?;
    for figure in &file.figure {
        check_figure(&experiment, figure.get_ref()).map_err(|what| (figure.span().start, what))?;
    }
    for claim in &file.claim {
        check_claim(&experiment, claim.get_ref()).map_err(|what| (claim.span().start, what))?;
    }
    Ok(Experiment {
        figures: file.figure.into_iter().map(Spanned::into_inner).collect(),
        claims: file.claim.into_iter().map(Spanned::into_inner).collect(),
        ..experiment
    })
}

fn effort(given: Option<(usize, Effort)>, usual: Option<Effort>) -> Result<Effort, Wrong> {
    let (at, effort) = given.unwrap_or((0, usual.unwrap_or_default()));
    effort.check().map_err(|what| (at, what))?;
    Ok(effort)
}

fn check_name(name: &Spanned<String>) -> Result<(), Wrong> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let text = name.get_ref();
    if !text.is_empty() && text.len() <= 64 && text.chars().all(plain) {
        return Ok(());
    }
    Err((name.span().start, format!("name = '{text}': take letters, digits and dashes, 1 to 64")))
}

fn check_names_of_grids(experiment: &Experiment) -> Result<(), Wrong> {
    for (n, grid) in experiment.grids.iter().enumerate() {
        if experiment.grids[..n].iter().any(|other| other.name == grid.name) {
            let at = experiment.text.match_indices('\n').nth(grid.line.saturating_sub(2));
            let what = format!("two grids are named '{}': name them apart", grid.name);
            return Err((at.map_or(0, |(at, _)| at + 1), what));
        }
    }
    Ok(())
}

fn grid(text: &str, given: Spanned<BTreeMap<String, Spanned<toml::Value>>>) -> Result<Grid, Wrong> {
    let start = given.span().start;
    let mut grid = Grid {
        name: "grid".to_owned(),
        from: From::Stack,
        costs: None,
        seconds: None,
        factors: BTreeMap::new(),
        line: line(text, start),
    };
    let (own, factors): (Vec<_>, Vec<_>) = given
        .into_inner()
        .into_iter()
        .partition(|(key, _)| ["name", "from", "costs", "seconds"].contains(&key.as_str()));
    for (key, value) in own {
        let at = value.span().start;
        setting(&mut grid, &key, value.into_inner()).map_err(|what| (at, what))?;
    }
    let known = if grid.from == From::Thekkath1992 { MODEL_FACTORS } else { FACTORS };
    for (key, value) in factors {
        let levels = factor::find(known, &key).and_then(|factor| {
            let levels = level::list(value.get_ref()).map_err(|what| format!("{key}: {what}"))?;
            factor.levels(levels)
        });
        let levels = levels.map_err(|what| (value.span().start, what))?;
        grid.factors.insert(key, levels);
    }
    Ok(grid)
}

/// What a grid says beside its factors.
fn setting(grid: &mut Grid, key: &str, value: toml::Value) -> Result<(), String> {
    let word = |value: &toml::Value| {
        let text = value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        text.ok_or_else(|| format!("{key} has to be a word in quotes"))
    };
    match key {
        "name" => grid.name = word(&value)?,
        "costs" => {
            let name = word(&value)?;
            if planner::simulator::machines::find(&name).is_none() {
                let known: Vec<_> = planner::simulator::MACHINES.iter().map(|m| m.name).collect();
                return Err(format!("costs = '{name}': choose from {}", known.join(", ")));
            }
            grid.costs = Some(name);
        }
        "from" => {
            grid.from = value.clone().try_into().map_err(|_| {
                format!("from = {value}: choose from stack, simulator, thekkath1992")
            })?;
        }
        _ => {
            let seconds = value.as_float().or(value.as_integer().map(|n| n as f64));
            let seconds = seconds.filter(|seconds| (0.01..=3600.0).contains(seconds));
            let wrong = || format!("seconds = {value} is not possible: give 0.01 to 3600");
            grid.seconds = Some(seconds.ok_or_else(wrong)?);
        }
    }
    Ok(())
}

fn grid_of<'a>(experiment: &'a Experiment, name: &str) -> Result<&'a Grid, String> {
    experiment.grid(name).ok_or_else(|| {
        let names: Vec<&str> = experiment.grids.iter().map(|grid| grid.name.as_str()).collect();
        format!("there is no grid '{name}': choose from {}", names.join(", "))
    })
}

fn check_figure(experiment: &Experiment, figure: &Figure) -> Result<(), String> {
    let grid = grid_of(experiment, &figure.grid)?;
    metric::find(&figure.y)?;
    check_selector(grid, &figure.only, None)?;
    if !grid.factors.contains_key(&figure.x) {
        return Err(format!("x = '{}' is no factor of grid '{}'", figure.x, grid.name));
    }
    Ok(())
}

fn check_claim(experiment: &Experiment, claim: &Claim) -> Result<(), String> {
    let grid = grid_of(experiment, &claim.grid)?;
    metric::find(&claim.metric)?;
    claim.right_metric.as_deref().map_or(Ok(()), |name| metric::find(name).map(|_| ()))?;
    if claim.at_least.is_none() && claim.at_most.is_none() {
        return Err("a claim has at_least, at_most or both: add one".to_owned());
    }
    if let Some(each) = &claim.each
        && !grid.factors.contains_key(each)
    {
        return Err(format!("each = '{each}' is no factor of grid '{}'", grid.name));
    }
    claim.selectors().try_for_each(|selector| {
        check_selector(grid, selector, claim.each.as_deref())?;
        // What the selector leaves open must have one level only.
        let open = grid.factors.iter().find(|(name, levels)| {
            let bound = selector.contains_key(*name) || claim.each.as_ref() == Some(*name);
            !bound && levels.len() > 1
        });
        match open {
            None => Ok(()),
            Some((name, levels)) => {
                let levels: Vec<String> = levels.iter().map(Level::to_string).collect();
                Err(format!("say which {name}: one of {}", levels.join(", ")))
            }
        }
    })
}

fn check_selector(grid: &Grid, selector: &Selector, each: Option<&str>) -> Result<(), String> {
    for (name, level) in selector {
        let Some(levels) = grid.factors.get(name) else {
            return Err(format!("'{name}' is no factor of grid '{}'", grid.name));
        };
        if each == Some(name.as_str()) || !levels.contains(level) {
            let levels: Vec<String> = levels.iter().map(Level::to_string).collect();
            return Err(format!(
                "{name} = {level} selects nothing in grid '{}', which has {}",
                grid.name,
                levels.join(", ")
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
