//! What RFCs require, where the code does it, and which test shows it: the tables of
//! `docs/conformance.md`, which `cargo run -p anabranch-requirements` writes.
//!
//! The requirements are in `rfc/NUMBER.txt`, one a line: a key, `must` or `should`, and what is
//! required, in words of our own. A line below it that is indented says how the stack deviates
//! (`deviates: …`) or why it has nothing to do (`none: …`). Keys are those of the RFC itself
//! (RFC 9293 has numbers), or the section and a number within it, as in `3.2/4`.
//!
//! A place in the code, or a test, names what it is for in a comment of its own:
//!
//! ```text
//! // RFC 9293 MUST-8, SHLD-1
//! ```
//!
//! A key that no list has is an error, and so is one at a test that is none.
#![forbid(unsafe_code)]

mod list;
mod render;
mod tags;

pub use list::{Rfc, Row};
pub use render::document;
pub use tags::{Place, tags};

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// A requirement: the number of the RFC, and the key.
pub type Key = (u16, String);

/// Where a requirement is met, and which tests show it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Places in the code.
    pub code: Vec<Place>,
    /// Tests.
    pub tests: Vec<Place>,
}

/// What all files say.
pub type Places = BTreeMap<Key, Found>;

/// The text of `docs/conformance.md` for the workspace at `root`.
///
/// # Errors
/// Files that cannot be read, lists that make no sense, and comments that name what no list
/// has.
pub fn conformance(root: &Path) -> io::Result<String> {
    let rfcs = lists(&root.join("tests/requirements/rfc"))?;
    let mut places = Places::new();
    for folder in ["crates", "tests"] {
        for file in files(&root.join(folder))? {
            let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            for (key, place) in tags(&name, &std::fs::read_to_string(&file)?)? {
                let found = places.entry(key).or_default();
                let of = if place.test { &mut found.tests } else { &mut found.code };
                if !of.contains(&place) {
                    of.push(place);
                }
            }
        }
    }
    let known = |(number, key): &Key| {
        rfcs.iter().any(|rfc| rfc.number == *number && rfc.rows.iter().any(|row| row.key == *key))
    };
    if let Some(((number, key), found)) = places.iter().find(|(key, _)| !known(key)) {
        let place = found.code.iter().chain(&found.tests).next();
        let place = place.map_or(String::new(), |place| place.file.clone());
        return Err(io::Error::other(format!("{place}: no list has RFC {number} {key}")));
    }
    Ok(document(&rfcs, &places))
}

fn lists(folder: &Path) -> io::Result<Vec<Rfc>> {
    let mut rfcs = Vec::new();
    for file in files(folder)? {
        let name = file.display().to_string();
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let number = stem.parse().map_err(|_| io::Error::other(format!("{name}: no number")))?;
        let rfc = Rfc::parse(number, &std::fs::read_to_string(&file)?)
            .map_err(|error| io::Error::other(format!("{name}: {error}")))?;
        rfcs.push(rfc);
    }
    rfcs.sort_by_key(|rfc| rfc.number);
    Ok(rfcs)
}

/// The files below `folder` that may have comments of the form, and the lists.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    let mut found = Vec::new();
    for path in entries {
        if path.is_dir() {
            if path.file_name().is_none_or(|name| name != "target") {
                found.extend(files(&path)?);
            }
        } else if ["rs", "pkt", "txt"].iter().any(|e| path.extension().is_some_and(|x| x == *e)) {
            found.push(path);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests;
