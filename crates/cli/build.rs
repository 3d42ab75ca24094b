//! Tells the program which commit it is built from, so that results can be made again.

use std::path::{Path, PathBuf};
use std::process::Command;

fn git(words: &[&str]) -> Option<String> {
    let output = Command::new("git").args(words).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Where `name` is, a file of the repository; in a worktree git knows.
fn path(name: &str) -> Option<PathBuf> {
    git(&["rev-parse", "--git-path", name]).map(PathBuf::from)
}

/// Has the program built again when what is at `path` changes.
fn watch(path: &Path) {
    println!("cargo:rerun-if-changed={}", path.display());
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // Another branch is checked out; the branch has another commit; branches are packed.
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]).and_then(|branch| path(&branch));
    let packed = path("packed-refs").filter(|packed| packed.exists());
    path("HEAD").iter().chain(&packed).for_each(|path| watch(path));
    if let Some(branch) = branch {
        // A branch whose commit is among the packed ones has no file of its own until there is
        // another: then its directory changes.
        branch.ancestors().find(|path| path.exists()).into_iter().for_each(watch);
    }
    // Without git, the version has to do.
    let version = concat!("version ", env!("CARGO_PKG_VERSION")).to_owned();
    let commit = git(&["rev-parse", "--short=12", "HEAD"]).unwrap_or(version);
    println!("cargo:rustc-env=ANABRANCH_COMMIT={commit}");
}
