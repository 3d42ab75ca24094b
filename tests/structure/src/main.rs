//! `cargo run -p anabranch-structure [ROOT]`: prints what is wrong with the
//! workspace's structure, and fails if anything is.
#![forbid(unsafe_code)]

use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let root = std::env::args_os().nth(1).map_or(here.join("../.."), PathBuf::from);
    let allowed = std::fs::read_to_string(here.join("allowed.txt")).unwrap_or_default();
    let found = match root.canonicalize().and_then(|root| anabranch_structure::findings(&root)) {
        Ok(found) => found,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let complaints = anabranch_structure::complaints(&found, &allowed);
    complaints.iter().for_each(|complaint| eprintln!("{complaint}"));
    println!(
        "{} findings, {} of them allowed",
        found.len(),
        found.len().saturating_sub(complaints.len())
    );
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
