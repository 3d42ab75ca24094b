//! Checks of the workspace's structure, which `cargo run -p anabranch-structure` (or
//! `.ci/run structure`) makes:
//!
//! - no file has more than 500 lines, and no function more than 60;
//! - nothing allows `too_many_arguments`;
//! - all crates but those that need `unsafe` forbid it;
//! - the modules of a crate make no circle: among modules that stand side by side,
//!   whatever is used from one to another goes one way;
//! - manifests say what crates.io wants to know, and name no library of their own;
//! - no item of a list in the documentation has more than 80 words;
//! - files, headings and Rust's names that the documentation names are there, and so is what the
//!   changes that it shows begin from.
//!
//! What is wrong today and has to go is in `allowed.txt`. An entry there that nothing
//! needs any more is an error, too.
#![forbid(unsafe_code)]

mod bullets;
mod circles;
mod diffs;
mod manifests;
mod names;
mod sizes;
mod tree;
mod unsafety;

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Items of lists that are too long.
pub use bullets::bullets;
/// Whether a crate's modules make circles, for the crate in this directory.
pub use circles::circles;
/// Changes in the documentation that do not fit.
pub use diffs::diffs;
/// What a manifest lacks.
pub use manifests::manifest;
/// What the documentation names and is not there.
pub use names::{names, words};
/// What is too large in a file.
pub use sizes::sizes;
/// Whether a crate forbids `unsafe`, as all but a few do.
pub use unsafety::unsafety;

/// All findings in the workspace at `root`, in order.
///
/// # Errors
/// Files that cannot be read or parsed.
pub fn findings(root: &Path) -> io::Result<BTreeSet<String>> {
    let (mut found, mut known) = (BTreeSet::new(), BTreeSet::new());
    for folder in ["crates", "tests", "fuzz/fuzz_targets", "bench", "examples"] {
        for file in rust_files(&root.join(folder))? {
            let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            let text = std::fs::read_to_string(&file)?;
            known.extend(words(&name, &text)?);
            if !["bench/", "examples/"].iter().any(|other| name.starts_with(other)) {
                found.extend(sizes(&name, &text)?);
            }
        }
    }
    let mut programs = 0;
    for folder in ["crates", "tests"] {
        for package in entries(&root.join(folder))? {
            let has = |path| package.join(path).exists();
            programs += usize::from(folder == "crates" && (has("src/main.rs") || has("src/bin")));
            let manifest_file = package.join("Cargo.toml");
            if !manifest_file.exists() {
                continue;
            }
            let name = package.strip_prefix(root).unwrap_or(&package).display().to_string();
            for root in ["src/lib.rs", "src/main.rs"].map(|file| package.join(file)) {
                if root.exists() {
                    found.extend(unsafety(&name, &std::fs::read_to_string(root)?));
                }
            }
            found.extend(circles(&name, &package)?);
            found.extend(manifest(&name, &std::fs::read_to_string(manifest_file)?));
        }
    }
    // As README has it: no more words are needed to say which program is meant.
    if programs != 1 {
        found.insert(format!("programs: `cargo run` means one, and crates/ has {programs}"));
    }
    let guide = entries(&root.join("docs"))?;
    for file in ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "deploy/README.md"]
        .map(|name| root.join(name))
        .iter()
        .chain(&guide)
    {
        if file.extension().is_some_and(|extension| extension == "md") && file.exists() {
            let name = file.strip_prefix(root).unwrap_or(file).display().to_string();
            let text = std::fs::read_to_string(file)?;
            found.extend(bullets(&name, &text));
            found.extend(names(root, &name, &text, &known));
            found.extend(diffs(root, &name, &text));
        }
    }
    Ok(found)
}

/// What is found and not allowed, and what is allowed and not found.
pub fn complaints(found: &BTreeSet<String>, allowed: &str) -> Vec<String> {
    let allowed: BTreeSet<&str> =
        allowed.lines().map(str::trim).filter(|l| !l.is_empty() && !l.starts_with('#')).collect();
    let new = found.iter().filter(|finding| !allowed.contains(key(finding))).cloned();
    let keys: BTreeSet<&str> = found.iter().map(|finding| key(finding)).collect();
    let stale = allowed.iter().filter(|entry| !keys.contains(*entry));
    new.chain(stale.map(|entry| format!("{entry}: allowed, but no longer found: strike it")))
        .collect()
}

/// What an entry of `allowed.txt` says of a finding: all up to the figures.
fn key(finding: &str) -> &str {
    finding.split(" (").next().unwrap_or(finding)
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    if !folder.exists() {
        return Ok(Vec::new());
    }
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    paths.sort();
    Ok(paths)
}

fn rust_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in entries(folder)? {
        if path.is_dir() && path.file_name().is_none_or(|name| name != "target") {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(files)
}

/// A syntax error as one of reading.
fn unreadable(file: &str, error: &syn::Error) -> io::Error {
    io::Error::other(format!("{file}: {error}"))
}

#[cfg(test)]
mod tests;
