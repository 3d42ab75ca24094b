//! Tells the program which commit it is built from, so that results can be made again.

use std::process::Command;

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn main() {
    // Each commit and each checkout adds a line to it.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"]) {
        println!("cargo:rerun-if-changed={log}");
    }
    println!("cargo:rerun-if-changed=build.rs");
    // Without git, the version has to do.
    let version = concat!("version ", env!("CARGO_PKG_VERSION")).to_owned();
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or(version);
    println!("cargo:rustc-env=ANABRANCH_COMMIT={commit}");
}
