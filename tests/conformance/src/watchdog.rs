//! Waits that end in a failure rather than in a hang.

use platform::{self, Instant};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How long a case may take: many times what it takes on a slow machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// Runs `case` in a thread of its own.
///
/// # Panics
/// If `case` does, or has not ended after some minutes; its thread is then left
/// behind.
pub fn within(name: &str, case: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    let run = move || {
        case();
        let _ = done.send(());
    };
    let thread = std::thread::Builder::new().name(name.into()).spawn(run).expect("a thread");
    if wait.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
        panic!("{name} hangs");
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Looks again and again whether `so`.
///
/// # Panics
/// If it does not become so: `what` is the message.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE / 3;
    while !so() {
        assert!(Instant::now() < end, "in vain: {what}");
        platform::thread::sleep(Duration::from_millis(1));
    }
}
