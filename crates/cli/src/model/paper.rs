//! `anabranch model --paper thekkath1992`: the paper's figures and numbers.

use super::report::number;
use crate::failure::Failure;
use crate::files::Output;
use crate::say::say;
use crate::table::render_left;
use planner::Error;
use planner::thekkath1992::{self, Figure, MIXED, SAVING_LOADS, SMALL};
use std::path::Path;

const TITLE: &str = "\
C. A. Thekkath, D. L. Eager, E. D. Lazowska and H. M. Levy, \"A Performance Analysis of
Network I/O in Shared-Memory Multiprocessors\", University of Washington, TR 92-04-04,
1992: computed from its tables 1 and 2 by equation (5).

The mix of packet sizes was measured, but is not in the text. Assumed here:
60 % of 74 bytes, 20 % of 150, 10 % of 650, 10 % of 1514. Load is the part of the rate
that the unchanged machine can do. Figures 4 and 5 are of a simpler protocol whose
demands are not in the text; here they are of the experiment that is: software overhead
halved.";

/// Prints the figures and the numbers of the text, and draws the figures into
/// `directory`.
pub fn run(directory: Option<&Path>) -> Result<(), Failure> {
    let figures = thekkath1992::figures(MIXED).map_err(Failure::failed)?;
    if let Some(directory) = directory {
        std::fs::create_dir_all(directory).map_err(|error| {
            Failure::refused(format!(
                "cannot make {}: {error}: choose another --svg directory",
                directory.display()
            ))
        })?;
        for figure in &figures {
            let path = directory.join(format!("thekkath1992-figure-{}.svg", figure.number));
            let drawn = figure.svg().map_err(Failure::failed)?;
            Output::new("--svg", &path)?.write(&drawn)?;
        }
    }
    say(TITLE);
    for figure in &figures {
        say(format!("\n{}", residences(figure)));
    }
    say("\nWhat the text says in numbers:");
    say(claims().map_err(Failure::failed)?);
    for (mix, among) in [(MIXED, "in the assumed mix"), (SMALL, "among small packets only")] {
        say(format!("\nWhat changes save of the residence time, by load, {among}:"));
        say(savings(mix).map_err(Failure::failed)?);
    }
    say("\nup to: the load up to which it is as much as the paper says, where it says how much.");
    Ok(())
}

fn residences(figure: &Figure) -> String {
    let mut header = vec!["load".to_owned(), "packets/s".to_owned()];
    header.extend(figure.classes.iter().map(|name| format!("{name}, µs")));
    let row = |row: &thekkath1992::Row| {
        let mut cells = vec![format!("{:.0} %", 100.0 * row.load), number(row.rate_per_s)];
        cells.extend(row.residence_us.iter().map(|residence_us| number(*residence_us)));
        cells
    };
    let rows: Vec<_> = figure.rows.iter().map(row).collect();
    format!("Figure {}: {}\n{}", figure.number, figure.title, render_left(0, &header, &rows))
}

fn claims() -> Result<String, Error> {
    let header = ["", "what", "the paper", "its tables give", "follows"].map(str::to_owned);
    let row = |claim: thekkath1992::Claim| {
        vec![claim.section.into(), claim.what, claim.paper, claim.ours, yes(claim.follows)]
    };
    let rows: Vec<_> = thekkath1992::claims()?.into_iter().map(row).collect();
    Ok(render_left(usize::MAX, &header, &rows))
}

fn savings(mix: [f64; 4]) -> Result<String, Error> {
    let percent = |part: &f64| format!("{:.0} %", 100.0 * part);
    let mut header = ["", "what", "the paper", "follows", "up to"].map(str::to_owned).to_vec();
    header.extend(SAVING_LOADS.iter().map(percent));
    let rows = thekkath1992::savings(mix)?.into_iter().map(|saving| {
        let up_to = saving.up_to_load.as_ref().map_or("-".to_owned(), percent);
        let mut row = vec![saving.section.into(), saving.what, saving.paper.into()];
        row.extend([yes(saving.follows), up_to]);
        row.extend(saving.saved.iter().map(|part| format!("{:.1} %", 100.0 * part)));
        row
    });
    Ok(render_left(4, &header, &rows.collect::<Vec<_>>()))
}

fn yes(follows: bool) -> String {
    if follows { "yes" } else { "no" }.to_owned()
}
