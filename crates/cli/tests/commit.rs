//! The commit that results name is the one that the program was built from, also when only a commit
//! came between two builds: `build.rs`, in a small package of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program in `at`; what it printed.
fn run(at: &Path, program: &str, words: &[&str]) -> String {
    let mut command = Command::new(program);
    // The settings of whoever runs the test are not those of the package.
    command.env_remove("CARGO_TARGET_DIR").env_remove("GIT_DIR").env_remove("GIT_WORK_TREE");
    let output = command.args(words).current_dir(at).output().expect("a program that runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program} {words:?}: {error}");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

fn git(at: &Path, words: &[&str]) -> String {
    let who = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
    run(at, "git", &[&who[..], words].concat())
}

fn commit(at: &Path) {
    git(at, &["commit", "--quiet", "--allow-empty", "--message", "further"]);
}

/// What a program that is built now takes for its commit.
fn built(at: &Path) -> String {
    run(at, env!("CARGO"), &["build", "--quiet", "--offline"]);
    run(at, "target/debug/small", &[])
}

fn is_of_head(at: &Path) -> bool {
    let built = built(at);
    built.len() == 12 && git(at, &["rev-parse", "HEAD"]).starts_with(&built)
}

/// A repository with the package in it.
fn package(at: &Path) -> PathBuf {
    let at = at.join("small");
    std::fs::create_dir_all(at.join("src")).expect("a directory");
    let write = |name: &str, text: &str| std::fs::write(at.join(name), text).expect("a file");
    write(
        "Cargo.toml",
        "[package]\nname = \"small\"\nversion = \"1.0.0\"\nedition = \"2024\"\n[workspace]\n",
    );
    write("build.rs", include_str!("../build.rs"));
    write("src/main.rs", "fn main() { println!(\"{}\", env!(\"ANABRANCH_COMMIT\")); }\n");
    write(".gitignore", "target\n");
    git(&at, &["init", "--quiet", "--initial-branch=main"]);
    git(&at, &["add", "."]);
    commit(&at);
    at
}

#[test]
fn the_commit_is_that_of_the_build() {
    if Command::new("git").arg("--version").output().is_err() {
        eprintln!("skipped: there is no git");
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let at = package(directory.path());
    // No log of branches tells of a change.
    git(&at, &["config", "core.logAllRefUpdates", "false"]);
    assert!(is_of_head(&at), "at first");
    commit(&at);
    assert!(is_of_head(&at), "after a commit");
    git(&at, &["pack-refs", "--all"]);
    assert!(is_of_head(&at), "with packed branches");
    commit(&at);
    assert!(is_of_head(&at), "after a commit on a packed branch");
    git(&at, &["checkout", "--quiet", "-b", "a/branch", "HEAD~1"]);
    assert!(is_of_head(&at), "on another branch");
    git(&at, &["checkout", "--quiet", "--detach", "HEAD~1"]);
    assert!(is_of_head(&at), "without a branch");
    git(&at, &["worktree", "add", "--quiet", "-b", "beside", "../beside"]);
    let beside = directory.path().join("beside");
    assert!(is_of_head(&beside), "in a worktree");
    commit(&beside);
    assert!(is_of_head(&beside), "after a commit in a worktree");
    commit(&at);
    assert!(is_of_head(&at) && is_of_head(&beside), "each of its own");
}
