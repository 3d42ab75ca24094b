//! `anabranch lab report`: what the results in a folder give.

use super::png::Painter;
use super::{claims, failure, plots};
use crate::failure::Failure;
use crate::say::say;
use lab::notebook::agree;
use lab::notebook::chart::{Panel, panels};
use lab::notebook::folder::{Contents, read, write};
use lab::notebook::page;
use lab::notebook::sheet::{Sheet, machines};
use std::path::{Path, PathBuf};

/// The report's name in a folder.
pub const REPORT: &str = "report.html";

/// Of what to report.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The folder
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// Where the report goes; claims and figures go beside it [default: DIR/report.html]
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

impl Args {
    /// Reports.
    ///
    /// # Errors
    /// [`Failure`], if there are no results, or the report cannot be written.
    pub fn run(&self) -> Result<(), Failure> {
        let usual = self.folder.join(REPORT);
        report(&self.folder, self.html.as_deref().unwrap_or(&usual))
    }
}

/// Writes the report of the results in `folder` to `html`, and says what they give.
///
/// # Errors
/// [`Failure`], if there are none, or it cannot be written.
pub fn report(folder: &Path, html: &Path) -> Result<(), Failure> {
    let contents = read(folder).map_err(failure)?;
    let verdicts = agree::all(&contents);
    let drawn = drawn(&contents);
    for (_, panel) in &drawn {
        if let Some(plot) = plots::plot(panel) {
            say(plot);
        }
    }
    say(claims::table(&verdicts).trim_end());
    write(html, page::report(&contents).as_bytes()).map_err(failure)?;
    let beside = html.parent().unwrap_or(Path::new("."));
    let text = serde_json::to_string_pretty(&verdicts).map_err(Failure::failed)? + "\n";
    write(&beside.join("claims.json"), text.as_bytes()).map_err(failure)?;
    let figures = beside.join("figures");
    let made = std::fs::create_dir_all(&figures);
    made.map_err(|error| {
        let figures = figures.display();
        Failure::failed(format!("cannot make {figures}: {error}: name another place with --html"))
    })?;
    let painter = Painter::new();
    for (name, panel) in &drawn {
        if let Ok(svg) = &panel.svg {
            let file = figures.join(name);
            write(&file.with_extension("svg"), svg.as_bytes()).map_err(failure)?;
            let png = painter.png(svg).map_err(Failure::failed)?;
            write(&file.with_extension("png"), &png).map_err(failure)?;
        }
    }
    say(format_args!("The report is {}", html.display()));
    Ok(())
}

/// All figures, with the names of their files, which have endings still to come.
fn drawn(contents: &Contents) -> Vec<(String, Panel)> {
    let mut all = Vec::new();
    let kinds = machines(&contents.records);
    for (n, machine) in kinds.iter().enumerate() {
        let of = if kinds.len() > 1 { format!("machine{}-", n + 1) } else { String::new() };
        for experiment in &contents.session.experiments {
            let figures = experiment.figures.iter().flat_map(|figure| {
                let grid = experiment.grid(&figure.grid)?;
                let sheet = Sheet::of(&contents.records, &experiment.name, grid, machine);
                Some(panels(experiment, figure, &sheet))
            });
            for (number, panel) in figures.flatten().enumerate() {
                all.push((format!("{of}{}-{:02}", experiment.name, number + 1), panel));
            }
        }
    }
    all
}
