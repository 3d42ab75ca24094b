//! Claims and their outcomes, for people at a terminal.

use crate::table::{render_left, short, thousands};
use lab::notebook::verdict::{Outcome, Verdict};

/// All claims with their outcomes, and how many have which; empty if there are none.
pub fn table(all: &[Verdict]) -> String {
    if all.is_empty() {
        return String::new();
    }
    let header = ["experiment", "claim", "outcome", "value", "90 %", "of"];
    let rows: Vec<Vec<String>> = all.iter().map(row).collect();
    let mut text = render_left(3, &header, &rows);
    for verdict in all.iter().filter(|verdict| verdict.outcome == Outcome::NotTestable) {
        text +=
            &format!("not testable: {}, {}: {}\n", verdict.experiment, verdict.source, verdict.why);
    }
    let count = |outcome| all.iter().filter(|verdict| verdict.outcome == outcome).count();
    let counts = Outcome::ALL.map(|outcome| format!("{} {outcome}", count(outcome)));
    text += &format!("{} claims: {}", all.len(), counts.join(", "));
    text
}

fn row(verdict: &Verdict) -> Vec<String> {
    let interval = verdict.low.zip(verdict.high);
    vec![
        verdict.experiment.clone(),
        shortened(&verdict.statement),
        verdict.outcome.to_string(),
        verdict.value.map_or_else(|| "-".to_owned(), number),
        interval
            .map_or_else(String::new, |(low, high)| format!("{} to {}", number(low), number(high))),
        verdict.data.map_or("", |data| data.name()).to_owned(),
    ]
}

/// The most characters of a statement in a table.
const WIDTH: usize = 72;

/// A statement as long as fits into a table.
pub fn shortened(text: &str) -> String {
    if text.chars().count() <= WIDTH {
        return text.to_owned();
    }
    let start: String = text.chars().take(WIDTH - 1).collect();
    format!("{}…", start.trim_end())
}

fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 1000.0 => thousands(value),
        _ => short(value),
    }
}
