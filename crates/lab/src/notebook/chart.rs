//! [`Panel`]: a figure of an experiment, drawn, with the table under it.
//!
//! What is measured is drawn with whole lines, what is predicted, simulated or computed
//! with dashed ones, and its name says so. An organization has the same colour and mark
//! in every figure.

use super::case::{Case, cases};
use super::experiment::{Experiment, Figure, Grid, Selector};
use super::level::Level;
use super::metric::{self, Metric};
use super::record::Data;
use super::sheet::{Cell, Sheet};
use planner::figure::{Figure as Drawing, Series};

/// A figure, drawn, for one combination of the factors that it does not show as curves.
#[derive(Clone, Debug)]
pub struct Panel {
    /// Its title.
    pub title: String,
    /// The figure of the paper; empty if there is none.
    pub source: String,
    /// As SVG; or why there is none.
    pub svg: Result<String, String>,
    /// The table's heading.
    pub header: Vec<String>,
    /// The table's rows.
    pub rows: Vec<Vec<String>>,
    /// What is to be known beside it, sentences.
    pub notes: Vec<String>,
}

/// A curve: its cases by x.
struct Curve {
    name: String,
    style: usize,
    data: Data,
    points: Vec<(f64, Level, Cell)>,
}

/// The panels of a figure, of runs on one kind of machine.
pub fn panels(experiment: &Experiment, figure: &Figure, sheet: &Sheet<'_>) -> Vec<Panel> {
    let Some(grid) = experiment.grid(&figure.grid) else { return Vec::new() };
    let facets = facets(grid, figure);
    facets.iter().map(|facet| panel(figure, grid, facet, sheet)).collect()
}

/// Factors that vary in a figure, but for its x axis.
fn varying<'a>(grid: &'a Grid, figure: &'a Figure) -> impl Iterator<Item = &'a String> {
    grid.factors.iter().filter_map(|(name, levels)| {
        let varies = levels.len() > 1 && *name != figure.x && !figure.only.contains_key(name);
        varies.then_some(name)
    })
}

const ORGANIZATION: &str = "organization";

/// One selector for each panel: where organizations are the curves, the other factors
/// that vary tell panels apart.
fn facets(grid: &Grid, figure: &Figure) -> Vec<Selector> {
    let mut facets = vec![figure.only.clone()];
    if !varying(grid, figure).any(|name| name == ORGANIZATION) {
        return facets;
    }
    for name in varying(grid, figure).filter(|name| *name != ORGANIZATION) {
        let with = |facet: &Selector, level: &Level| {
            let mut facet = facet.clone();
            facet.insert(name.clone(), level.clone());
            facet
        };
        let levels = &grid.factors[name];
        facets = facets.iter().flat_map(|facet| levels.iter().map(|l| with(facet, l))).collect();
    }
    facets
}

/// The place of a level on an axis: its number, or the one it is named by.
fn place(level: &Level, number: usize) -> f64 {
    match level {
        Level::Number(value) => *value,
        Level::Switch(on) => f64::from(u8::from(*on)),
        Level::Name(name) => name.parse().unwrap_or(number as f64),
    }
}

fn panel(figure: &Figure, grid: &Grid, facet: &Selector, sheet: &Sheet<'_>) -> Panel {
    let curves = curves(figure, grid, facet, sheet);
    let metric = metric::find(&figure.y).ok();
    let unit = metric.map_or("", |metric| metric.unit);
    let apart = facet.iter().filter(|(name, _)| !figure.only.contains_key(*name));
    let apart: Vec<String> = apart.map(|(name, level)| format!("{name} {level}")).collect();
    let title = match apart.is_empty() {
        true => figure.title.clone(),
        false => format!("{}: {}", figure.title, apart.join(", ")),
    };
    let label = metric.map(Metric::axis).unwrap_or_default();
    let mut drawing = Drawing::new(&title, &words(&figure.x), &label).note(sheet.origin());
    drawing = if figure.log_x { drawing.log_x() } else { drawing };
    drawing = if figure.log_y { drawing.log_y() } else { drawing };
    let series: Vec<Series> = curves.iter().map(series).collect();
    let svg = match metric.and_then(|metric| metric.missing) {
        Some(why) => Err(why.to_owned()),
        _ if curves.is_empty() => Err("no run gave this figure".to_owned()),
        _ => drawing.draw(&series).map_err(|error| error.to_string()),
    };
    let mut panel = Panel {
        title,
        source: figure.source.clone(),
        svg,
        header: header(figure, unit),
        rows: Vec::new(),
        notes: notes(&curves, sheet),
    };
    let measured = |name: &str, level: &Level| {
        let of = curves.iter().find(|curve| curve.data == Data::Measured && curve.name == name)?;
        let point = of.points.iter().find(|(_, at, _)| at == level)?;
        Some(point.2.estimate.median)
    };
    for curve in &curves {
        for (_, level, cell) in &curve.points {
            let beside = (curve.data == Data::Predicted)
                .then(|| measured(plain(&curve.name), level))
                .flatten()
                .map(|measured| cell.estimate.median / measured - 1.0);
            panel.rows.push(row(curve, level, cell, beside));
        }
    }
    panel
}

/// A name in a file as words.
fn words(name: &str) -> String {
    name.replace('_', " ")
}

/// The name of a curve without how it came about.
fn plain(name: &str) -> &str {
    name.split_once(" (").map_or(name, |(plain, _)| plain)
}

fn curves(figure: &Figure, grid: &Grid, facet: &Selector, sheet: &Sheet<'_>) -> Vec<Curve> {
    let mut curves: Vec<Curve> = Vec::new();
    let all = cases(grid).unwrap_or_default();
    let fits = |case: &&Case| facet.iter().all(|(name, level)| case.0.get(name) == Some(level));
    let names: Vec<&String> =
        varying(grid, figure).filter(|name| !facet.contains_key(*name)).collect();
    for case in all.iter().filter(fits) {
        let Some(level) = case.0.get(&figure.x) else { continue };
        let number = grid.factors[&figure.x].iter().position(|other| other == level);
        let levels: Vec<String> = names.iter().map(|name| of_curve(name, &case.0)).collect();
        let name = if levels.is_empty() { words(&figure.y) } else { levels.join(", ") };
        for data in [Data::Measured, Data::Predicted, Data::Simulated, Data::Computed] {
            let Some(cell) = sheet.cell(&case.0, data, &figure.y) else { continue };
            let name = match data {
                Data::Measured => name.clone(),
                _ => format!("{name} ({})", data.name()),
            };
            let number_of_curve = curves.iter().position(|curve| curve.name == name);
            let at = number_of_curve.unwrap_or_else(|| {
                // How it came about makes no difference to its colour.
                let twin = curves.iter().find(|curve| plain(&curve.name) == plain(&name));
                let apart = curves.iter().filter(|curve| curve.data == data).count();
                let style = twin.map_or_else(|| style(case, &names, apart), |twin| twin.style);
                curves.push(Curve { name, style, data, points: Vec::new() });
                curves.len() - 1
            });
            let point = (place(level, number.unwrap_or(0)), level.clone(), cell);
            curves[at].points.push(point);
        }
    }
    curves.iter_mut().for_each(|curve| curve.points.sort_by(|a, b| a.0.total_cmp(&b.0)));
    curves
}

/// A level as a part of a curve's name.
fn of_curve(name: &str, case: &Selector) -> String {
    let level = case.get(name).map(Level::to_string).unwrap_or_default();
    match case.get(name) {
        Some(Level::Name(_)) if name == ORGANIZATION => level,
        _ => format!("{} {level}", words(name)),
    }
}

/// The number of a curve's colour and mark: its organization's, where curves are those.
fn style(case: &Case, names: &[&String], number: usize) -> usize {
    if !names.iter().any(|name| *name == ORGANIZATION) && !names.is_empty() {
        return number;
    }
    let organization = case.organization();
    catalog::CATALOG.iter().position(|entry| entry.name == organization).unwrap_or(number)
}

fn series(curve: &Curve) -> Series {
    let points = || curve.points.iter();
    let median = points().map(|(x, _, cell)| (*x, cell.estimate.median)).collect();
    let bar = |(x, _, cell): &(f64, Level, Cell)| (*x, cell.estimate.low, cell.estimate.high);
    let dots = points().flat_map(|(x, _, cell)| cell.outliers.iter().map(|y| (*x, *y)));
    let dash = usize::from(curve.data != Data::Measured);
    Series::new(&curve.name, median)
        .styled(curve.style, dash)
        .intervals(points().map(bar).collect())
        .dots(dots.collect())
}

fn header(figure: &Figure, unit: &str) -> Vec<String> {
    let median = format!("median, {unit}");
    let fixed = ["low, 90 %", "high, 90 %", "runs", "outliers", "left out", "off by"];
    let mut header = vec!["curve".to_owned(), "data".to_owned(), words(&figure.x), median];
    header.extend(fixed.map(str::to_owned));
    header
}

fn row(curve: &Curve, level: &Level, cell: &Cell, residual: Option<f64>) -> Vec<String> {
    let estimate = &cell.estimate;
    let outliers: Vec<String> = cell.outliers.iter().map(|value| digits(*value)).collect();
    vec![
        plain(&curve.name).to_owned(),
        curve.data.name().to_owned(),
        level.to_string(),
        digits(estimate.median),
        digits(estimate.low),
        digits(estimate.high),
        estimate.count.to_string(),
        outliers.join(" "),
        cell.left_out.to_string(),
        residual.map_or(String::new(), |residual| format!("{:+.1} %", 100.0 * residual)),
    ]
}

/// Four digits that count.
pub fn digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let whole = value.abs().log10().floor() as i32 + 1;
    format!("{value:.*}", (4 - whole).clamp(0, 12) as usize)
}

fn notes(curves: &[Curve], sheet: &Sheet<'_>) -> Vec<String> {
    let mut notes = Vec::new();
    let has = |data| curves.iter().any(|curve| curve.data == data);
    if has(Data::Predicted) {
        notes.push(
            "Dashed: predicted by the planner from a calibration of this machine; \
             \u{201c}off by\u{201d} is what a prediction differs from what was measured, where both are."
                .to_owned(),
        );
    }
    if has(Data::Simulated) {
        notes.push("Dashed: simulated, with the costs of the paper's machine.".to_owned());
    }
    if has(Data::Computed) {
        notes.push("Dashed: computed by the paper's model.".to_owned());
    }
    let (others, several) = sheet.in_other_states();
    if let Some(ns) = sheet.state()
        && others > 0
    {
        notes.push(format!(
            "The machine was not in one state: {others} of {several} runs on several processors \
             are left out, for they were not made while a cache line took about {ns:.0} ns between \
             processors."
        ));
    }
    notes
}

#[cfg(test)]
pub(crate) mod tests;
