//! Threads that end while the process has no descriptors left. It is a process of its own, for
//! that is of a whole process.

extern crate anabranch_instrument as instrument;

use instrument::{Instruments, ThreadTimer};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::sync::Arc;

#[test]
fn threads_that_end_without_descriptors_have_ended() {
    let instruments = Arc::new(Instruments::every(1));
    let before = instruments.snapshot();
    let usual = getrlimit(Resource::Nofile);
    let none = Rlimit { current: Some(0), maximum: usual.maximum };
    setrlimit(Resource::Nofile, none).expect("less is allowed");
    for _ in 0..1000 {
        let ours = instruments.clone();
        let run = move || ThreadTimer::new(Some(&ours), || "short".to_owned()).sent(1);
        std::thread::spawn(run).join().expect("no panic");
    }
    setrlimit(Resource::Nofile, usual).expect("it was allowed");
    let report = instruments.snapshot().since(&before);
    assert!(report.threads.len() <= 600, "{} are still told apart", report.threads.len());
    assert_eq!(report.threads.iter().map(|thread| thread.packets_out).sum::<u64>(), 1000);
}
