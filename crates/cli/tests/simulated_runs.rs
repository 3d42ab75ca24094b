//! Experiments of which nothing is measured.

mod common;

use common::anabranch;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

const SIMULATED: &str = "name = \"simulated\"\n[[grid]]\nfrom = \"simulator\"\n\
    costs = \"schmidt1996\"\norganization = \"group-locks\"\ndirection = \"receive\"\n\
    processors = [8, 16, 20]\n";

/// The figures would be the same on a quiet machine, so nobody is told to run it again.
#[test]
fn a_busy_machine_is_nothing_to_what_is_simulated() {
    let place = tempfile::tempdir().expect("a folder");
    let file = place.path().join("simulated.toml");
    std::fs::write(&file, SIMULATED).expect("room");
    let out = place.path().join("out");
    let (busy, processors) = (AtomicBool::new(true), lab::affinity::processors());
    let output = thread::scope(|scope| {
        for _ in 0..processors {
            scope.spawn(|| {
                while busy.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let words = format!("lab run {} --out {}", file.display(), out.display());
        let output = anabranch(&words).output();
        busy.store(false, Ordering::Relaxed);
        output
    });
    let output = output.expect("the command runs");
    let error = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.success() && !error.contains("busy machine"), "{error}");
}
