//! Waits that end in a failure rather than in a hang.

use anabranch::Stack;
use platform::{self, Instant};
use std::sync::LazyLock;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The time limit of a case: many times what it takes on a slow machine. `ANABRANCH_PATIENCE` says
/// another one, in seconds.
static PATIENCE: LazyLock<Duration> = LazyLock::new(|| {
    let seconds = std::env::var("ANABRANCH_PATIENCE").map_or(120, |seconds| {
        seconds.parse().unwrap_or_else(|_| panic!("ANABRANCH_PATIENCE is {seconds:?}: say seconds"))
    });
    Duration::from_secs(seconds)
});

/// Runs `case` in a thread of its own.
///
/// # Panics
/// If `case` panics, or exceeds the time limit. In the latter case its thread is left
/// behind.
pub fn within(name: &str, case: impl FnOnce() + Send + 'static) {
    let (done, wait) = channel();
    let run = move || {
        case();
        let _ = done.send(());
    };
    let thread = std::thread::Builder::new().name(name.into()).spawn(run).expect("a thread");
    if wait.recv_timeout(*PATIENCE) == Err(RecvTimeoutError::Timeout) {
        panic!("{name} hangs");
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

/// Waits until window probes have gone between `stack` and a peer whose window is
/// closed, in either direction: packets come and go, and none has data.
///
/// Begin with a connection over which data flows until the window closes.
///
/// # Panics
/// If the window does not close.
pub fn until_probed(stack: &Stack) {
    const HEADERS: u64 = 100;
    let (mut last, mut probes) = (stack.counters(), 0);
    until("the window closes and is probed", || {
        let now = stack.counters();
        let came = now.packets_in - last.packets_in;
        let went = now.packets_out - last.packets_out;
        if came == 0 || went == 0 {
            return false;
        }
        let bytes = now.bytes_in - last.bytes_in + now.bytes_out - last.bytes_out;
        probes = if bytes <= HEADERS * (came + went) { probes + 1 } else { 0 };
        last = now;
        probes == 3
    });
}

/// Polls until `so` is true.
///
/// # Panics
/// If `so` stays false for too long; `what` says what was waited for.
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let end = Instant::now() + *PATIENCE / 3;
    while !so() {
        assert!(Instant::now() < end, "not in time: {what}");
        platform::thread::sleep(Duration::from_millis(1));
    }
}
