//! `cargo run -p anabranch-requirements [--check]`: writes `docs/conformance.md`, or says
//! whether it is up to date.
#![forbid(unsafe_code)]

use std::io;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let check = std::env::args().nth(1).is_some_and(|word| word == "--check");
    match run(check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(check: bool) -> io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    let (file, text) =
        (root.join("docs/conformance.md"), anabranch_requirements::conformance(&root)?);
    if !check {
        return std::fs::write(file, text);
    }
    if std::fs::read_to_string(file)? == text {
        return Ok(());
    }
    Err(io::Error::other(
        "docs/conformance.md is not up to date: run cargo run -p anabranch-requirements",
    ))
}
