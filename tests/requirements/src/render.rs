//! The document.

use crate::list::{Level, Note, Rfc, Row};
use crate::tags::Place;
use crate::{Found, Places};
use std::fmt::Write;

const HEAD: &str = "\
# What RFCs require, and what the stack does

This file is made by `cargo run -p anabranch-requirements` from the lists in
`tests/requirements/rfc` and from comments at code and tests; a test fails while it is not
up to date. The words of a requirement are ours, and shorter than the RFC's. A test is named
where it looks for what the row requires, or for a part of that. \"No test of its own\" means
just that: others may pass through the code, and none looks for this.

";

/// The tables for all lists, with what was found.
pub fn document(rfcs: &[Rfc], places: &Places) -> String {
    let nothing = Found::default();
    let found = |rfc: &Rfc, row: &Row| {
        places.get(&(rfc.number, row.key.clone())).unwrap_or(&nothing).clone()
    };
    let mut out = String::from(HEAD);
    out.push_str("| RFC | requirements | tested | code, no test of its own | deviate | nothing in the code | not the stack's |\n");
    out.push_str("|---|---|---|---|---|---|---|\n");
    for rfc in rfcs {
        let mut counts = [0; 5];
        for row in &rfc.rows {
            counts[class(row, &found(rfc, row))] += 1;
        }
        let [tested, untested, deviate, nothing, none] = counts;
        let (number, all) = (rfc.number, rfc.rows.len());
        let _ = writeln!(
            out,
            "| [{number}](#rfc-{number}) | {all} | {tested} | {untested} | {deviate} | {nothing} | {none} |"
        );
    }
    for rfc in rfcs {
        let _ = write!(out, "\n## RFC {}\n\n{}\n\n", rfc.number, rfc.title);
        out.push_str("| key | | requirement | code | test |\n|---|---|---|---|---|\n");
        for row in &rfc.rows {
            line(&mut out, row, &found(rfc, row));
        }
    }
    out
}

/// Which column of the summary a requirement counts in.
fn class(row: &Row, found: &Found) -> usize {
    match &row.note {
        Some(Note::Deviates(_)) => 2,
        Some(Note::None(_)) => 4,
        None if found.code.is_empty() && found.tests.is_empty() => 3,
        None if found.tests.is_empty() => 1,
        None => 0,
    }
}

fn line(out: &mut String, row: &Row, found: &Found) {
    let level = match row.level {
        Level::Must => "must",
        Level::Should => "should",
    };
    let (mut text, mut none) = (row.text.clone(), false);
    match &row.note {
        Some(Note::Deviates(why)) => text = format!("{text}. **Deviates:** {why}"),
        Some(Note::None(why)) => {
            (text, none) = (format!("{text}. *Not the stack's:* {why}"), true);
        }
        None => {}
    }
    let cell = |places: &[Place], lacks: &str| match places {
        [] if none => "–".to_owned(),
        [] => lacks.to_owned(),
        _ => places.iter().map(cite).collect::<Vec<_>>().join("<br>"),
    };
    let code = cell(&found.code, "nothing of its own");
    let tests = cell(&found.tests, "no test of its own");
    let _ = writeln!(out, "| {} | {level} | {text} | {code} | {tests} |", row.key);
}

/// A place, as a link.
fn cite(place: &Place) -> String {
    let short = place
        .file
        .trim_start_matches("crates/")
        .trim_start_matches("tests/packetdrill/scripts/")
        .replace("/src/", "/");
    let short = short.trim_end_matches(".rs").trim_end_matches("/mod").trim_end_matches("/tests");
    match &place.item {
        Some(item) => format!("[{short}](../{}) `{item}`", place.file),
        None => format!("[{short}](../{})", place.file),
    }
}
