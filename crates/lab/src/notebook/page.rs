//! The report: one file in HTML that opens without a network, with figures, tables and
//! the outcomes of claims.

use super::chart::{Panel, digits, panels};
use super::compare::Difference;
use super::experiment::Experiment;
use super::folder::Contents;
use super::needed::Needed;
use super::record::{Data, Record};
use super::sheet::{Sheet, machines};
use super::verdict::{Outcome, Verdict, verdicts};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use planner::figure::{Figure as Drawing, Series};
use planner::simulator::search::{Change, To};
use std::collections::BTreeSet;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The report of a folder of results, as HTML.
pub fn report(contents: &Contents) -> String {
    let experiments = &contents.session.experiments;
    let title = match &experiments[..] {
        [one] => one.title.clone(),
        several => format!("{} experiments", several.len()),
    };
    let kinds = machines(&contents.records);
    let body = html! {
        h1 { (title) }
        (provenance(contents))
        @for machine in &kinds {
            @let all: Vec<Vec<Verdict>> = experiments
                .iter()
                .map(|experiment| verdicts(experiment, &contents.records, machine))
                .collect();
            @if kinds.len() > 1 { h2 { (machine) } }
            (tally(&all.concat()))
            @for (experiment, verdicts) in experiments.iter().zip(&all) {
                (section(experiment, verdicts, contents, machine))
            }
        }
    };
    page(&title, &body)
}

fn page(title: &str, body: &Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                // An icon in place, or browsers ask a server for one.
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                (body)
                script { (PreEscaped(SCRIPT)) }
            }
        }
    };
    page.into_string()
}

/// Where the figures come from.
fn provenance(contents: &Contents) -> Markup {
    let records = &contents.records;
    let all = |of: fn(&Record) -> &str| -> Vec<&str> {
        let set: BTreeSet<&str> = records.iter().map(of).filter(|text| !text.is_empty()).collect();
        set.into_iter().collect()
    };
    let count = |data: Data| records.iter().filter(|record| record.data == data).count();
    let failed: Vec<&Record> = records.iter().filter(|record| record.failure.is_some()).collect();
    let unsteady = records.iter().filter(|record| is_unsteady(record)).count();
    let busy = records.iter().filter(|record| record.others.is_some_and(|taken| taken > 0.2));
    let busy = busy.count();
    html! {
        dl {
            dt { "Machine" } dd { (machines(records).join("; ")) }
            dt { "Guest of" } dd { (all(|r| &r.setting.hypervisor).join(", ")) }
            dt { "Kernel" } dd { (all(|r| &r.setting.kernel).join(", ")) }
            dt { "Commit" } dd { (all(|r| &r.setting.commit).join(", ")) }
            dt { "Command" } dd { code { (all(|r| &r.setting.command).join("; ")) } }
            dt { "From" } dd { (records.iter().map(|r| r.at.as_str()).min().unwrap_or("")) }
            dt { "To" } dd { (records.iter().map(|r| r.at.as_str()).max().unwrap_or("")) }
            dt { "Runs" }
            dd {
                (count(Data::Measured)) " measured, " (count(Data::Predicted)) " predicted, "
                (count(Data::Simulated)) " simulated, " (count(Data::Computed)) " computed; "
                (failed.len()) " without figures"
            }
            dt { "Raw data" }
            dd { a href="samples.jsonl" { "samples.jsonl" } ", a run in each line" }
        }
        @if unsteady > 0 {
            p.warn {
                (unsteady) " of " (count(Data::Measured)) " measured runs were not steady: their "
                "second half carried a fifth more or less than the first."
            }
        }
        @if busy > 0 {
            p.warn {
                "Other programs took more than a fifth of a processor during " (busy)
                " measured runs."
            }
        }
        @if !failed.is_empty() {
            details {
                summary { (failed.len()) " runs without figures" }
                ul {
                    @for record in failed.iter().take(100) {
                        li {
                            (record.key().experiment) ": " (record.key().case) ": "
                            (record.failure.as_deref().unwrap_or(""))
                        }
                    }
                }
            }
        }
    }
}

/// Did the second half of a run carry a fifth more or less than the first?
fn is_unsteady(record: &Record) -> bool {
    record.drift.is_some_and(|drift| !(0.8..=1.25).contains(&drift))
}

fn tally(verdicts: &[Verdict]) -> Markup {
    html! {
        p.tally {
            (verdicts.len()) " claims: "
            @for (n, outcome) in Outcome::ALL.into_iter().enumerate() {
                @if n > 0 { ", " }
                (verdicts.iter().filter(|verdict| verdict.outcome == outcome).count()) " "
                (badge(outcome))
            }
        }
    }
}

fn badge(outcome: Outcome) -> Markup {
    let class = match outcome {
        Outcome::Holds => "holds",
        Outcome::DoesNotHold => "fails",
        Outcome::Undecided => "open",
        Outcome::NotTestable => "none",
    };
    html! { span class=(format!("badge {class}")) { (outcome) } }
}

fn section(
    experiment: &Experiment,
    verdicts: &[Verdict],
    contents: &Contents,
    machine: &str,
) -> Markup {
    let records = &contents.records;
    let figures = experiment.figures.iter().flat_map(|figure| {
        let grid = experiment.grid(&figure.grid);
        let sheet = grid.map(|grid| Sheet::of(records, &experiment.name, grid, machine));
        sheet.map(|sheet| panels(experiment, figure, &sheet)).unwrap_or_default()
    });
    html! {
        section {
            h2 { (experiment.name) ": " (experiment.title) }
            @if !experiment.paper.is_empty() { p.paper { (experiment.paper) } }
            @if !verdicts.is_empty() { (claims(verdicts)) }
            (needed(verdicts, &contents.needed))
            @for panel in figures { (figure(&panel)) }
        }
    }
}

fn claims(verdicts: &[Verdict]) -> Markup {
    let header = ["claim", "source", "the paper", "here", "90 %", "data", "outcome", "why"];
    html! {
        div.wide {
            button.csv { "copy as CSV" }
            table {
                thead { tr { @for name in header { th { (name) } } } }
                tbody {
                    @for verdict in verdicts {
                        tr {
                            td title=(verdict.test) { (verdict.statement) }
                            td { (verdict.source) }
                            td { (verdict.paper) }
                            td.number { (verdict.value.map_or(String::new(), digits)) }
                            td.number { (interval(verdict)) }
                            td { (verdict.data.map_or("", Data::name)) }
                            td { (badge(verdict.outcome)) }
                            td { (why(verdict)) }
                        }
                    }
                }
            }
        }
        details {
            summary { "The tests in numbers" }
            ol { @for verdict in verdicts { li { (verdict.statement) ": " code { (verdict.test) } } } }
        }
    }
}

/// The most changes that are shown of a claim.
const CHANGES: usize = 3;

/// What the model says must be different for claims that do not hold.
fn needed(verdicts: &[Verdict], needed: &[Needed]) -> Markup {
    let failed = verdicts.iter().filter(|verdict| verdict.outcome == Outcome::DoesNotHold);
    let known: Vec<(&Verdict, &Needed)> = failed
        .filter_map(|verdict| Some((verdict, needed.iter().find(|one| one.is_of(verdict))?)))
        .collect();
    html! {
        @if !known.is_empty() {
            details {
                summary { "What must be different for a claim to come out, by the model" }
                p {
                    "The simulator has both sides of the claim, with the costs that the planner "
                    "fitted to this machine, or with the paper's. Each cost is changed alone; the "
                    "least changes are shown with which the claim comes out. What the simulator "
                    "charges nothing for is not among them."
                }
                ul { @for (verdict, needed) in known { li { (verdict.statement) ": " (words(needed)) } } }
            }
        }
    }
}

/// What a search found, in words.
pub fn words(needed: &Needed) -> String {
    let Some(found) = &needed.found else { return format!("not searched: {}.", needed.why) };
    let as_is = digits(found.as_is);
    if found.comes_out {
        return format!(
            "the model gives {as_is}, with which it comes out: what decides here is something that \
             the model does not charge for."
        );
    }
    if found.changes.is_empty() {
        return format!(
            "the model gives {as_is} as it is, and no cost by itself changes that enough."
        );
    }
    let change = |change: &Change| match change.to {
        To::Times(factor) => format!("{} × {}", change.cost, digits(factor)),
        To::Ns(ns) => format!("{} = {} ns instead of 0", change.cost, digits(ns)),
    };
    let changes: Vec<String> = found.changes.iter().take(CHANGES).map(change).collect();
    let more = match found.changes.len().saturating_sub(CHANGES) {
        0 => String::new(),
        more => format!(" ({more} more do with larger changes)"),
    };
    format!("the model gives {as_is} as it is; it comes out with {}{more}.", changes.join(", or "))
}

fn interval(verdict: &Verdict) -> String {
    match (verdict.low, verdict.high) {
        (Some(low), Some(high)) => format!("{} to {}", digits(low), digits(high)),
        _ => String::new(),
    }
}

fn why(verdict: &Verdict) -> String {
    let mut parts = vec![verdict.why.clone()];
    if verdict.left_out > 0 {
        parts.push(format!(
            "{} of {} runs were made in another state or at another pace of the machine",
            verdict.left_out,
            verdict.left_out + verdict.pairs
        ));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("; ")
}

/// A figure with its table.
pub fn figure(panel: &Panel) -> Markup {
    html! {
        figure {
            @match &panel.svg {
                Ok(svg) => (PreEscaped(themed(svg))),
                Err(why) => p.warn { (panel.title) ": " (why) },
            }
            figcaption {
                @if !panel.source.is_empty() { "The paper's " (panel.source) ". " }
                @for note in &panel.notes { (note) " " }
            }
            @if !panel.rows.is_empty() {
                details {
                    summary { "Figures in numbers" }
                    div.wide {
                        button.csv { "copy as CSV" }
                        table {
                            thead { tr { @for name in &panel.header { th { (name) } } } }
                            tbody {
                                @for row in &panel.rows {
                                    tr { @for cell in row { td { (cell) } } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// What differs between the folders of these names, as HTML.
pub fn comparison(names: &[String; 2], differences: &[Difference]) -> String {
    let points = |of: fn(&Difference) -> f64| differences.iter().map(of).enumerate();
    let at = |n: usize| n as f64 + 1.0;
    let medians = points(|one| one.ratio.median).map(|(n, y)| (at(n), y)).collect();
    let ends = points(|one| one.ratio.low).zip(differences);
    let ends = ends.map(|((n, low), one)| (at(n), low, one.ratio.high)).collect();
    let series = Series::new("times", medians).intervals(ends);
    let title = format!("{} against {}", names[1], names[0]);
    let drawing = Drawing::new(&title, "row of the table", "times").at_y(1.0, "no difference");
    let header =
        ["row", "experiment", "case", "metric", "times", "low, 95 %", "high, 95 %", "runs"];
    let row = |(n, one): (usize, &Difference)| {
        let ratio = [one.ratio.median, one.ratio.low, one.ratio.high].map(digits);
        let words = [&one.experiment, &one.case, &one.metric].map(Clone::clone);
        let mut row = vec![(n + 1).to_string()];
        row.extend(words.into_iter().chain(ratio));
        row.push(format!("{} and {}", one.runs.0, one.runs.1));
        row
    };
    let panel = Panel {
        svg: drawing.draw(&[series]).map_err(|_| "nothing differs".to_owned()),
        source: String::new(),
        header: header.map(str::to_owned).to_vec(),
        rows: differences.iter().enumerate().map(row).collect(),
        notes: Vec::new(),
        title,
    };
    page(&panel.title, &html! { h1 { (panel.title) } (figure(&panel)) })
}

/// A figure in the page's colours, light or dark.
fn themed(svg: &str) -> String {
    svg.replace("\"#FFFFFF\"", "\"var(--paper)\"").replace("\"#000000\"", "\"currentColor\"")
}

#[cfg(test)]
mod tests;
