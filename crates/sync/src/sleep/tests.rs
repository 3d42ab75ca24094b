use super::*;
use std::sync::atomic::AtomicUsize;

#[test]
fn one_signal_a_sleep() {
    let flag = SleepFlag::new();
    assert!(!flag.should_wake(), "awake at first");
    flag.prepare();
    assert!(flag.should_wake());
    assert!(!flag.should_wake(), "signalled already");
    flag.prepare();
    flag.awake();
    assert!(!flag.should_wake(), "it did not sleep after all");
}

/// Hangs if a wake-up is lost.
#[test]
fn every_message_is_seen_by_a_worker_that_sleeps_whenever_it_can() {
    const POSTERS: usize = 3;
    const MESSAGES: usize = if cfg!(miri) { 20 } else { 5_000 };
    let flag = SleepFlag::new();
    let posted = AtomicUsize::new(0);
    let worker = std::thread::current();
    std::thread::scope(|scope| {
        for _ in 0..POSTERS {
            scope.spawn(|| {
                for _ in 0..MESSAGES {
                    posted.fetch_add(1, std::sync::atomic::Ordering::Release);
                    if flag.should_wake() {
                        worker.unpark();
                    }
                }
            });
        }
        let mut seen = 0;
        while seen < POSTERS * MESSAGES {
            seen += posted.swap(0, std::sync::atomic::Ordering::Acquire);
            flag.prepare();
            if seen < POSTERS * MESSAGES && posted.load(std::sync::atomic::Ordering::Acquire) == 0 {
                std::thread::park();
            }
            flag.awake();
        }
    });
}
