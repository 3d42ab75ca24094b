//! Runs scripts of packetdrill against the stack, under several organizations, and
//! compares what became of them with what is expected.
//!
//! ```text
//! anabranch-packetdrill-scripts --library target/debug/libanabranch_packetdrill.so \
//!     --expectations tests/packetdrill/own.txt tests/packetdrill/scripts
//! ```
//!
//! packetdrill itself is not part of this project: it is looked for in `PATH`, or where
//! the environment variable `PACKETDRILL` says.
#![forbid(unsafe_code)]

pub mod expectations;
pub mod prepare;
pub mod report;
pub mod run;

use std::path::{Path, PathBuf};
use std::{fs, io};

/// The scripts in a folder and the folders in it, by name.
///
/// # Errors
/// If a folder cannot be read.
pub fn scripts(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "pkt") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// packetdrill, if it is installed.
pub fn packetdrill() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("PACKETDRILL").filter(|path| !path.is_empty()) {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("packetdrill")).find(|path| path.is_file())
}
