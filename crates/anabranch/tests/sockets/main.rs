//! The library as its users see it: names, ends, errors, readiness.
#![cfg(not(shuttle))]

mod ends;

use anabranch::Stack;
use anabranch::device::memory;
use std::time::Duration;

/// The server's address.
const SERVER: &str = "10.0.0.1";
/// The client's address.
const CLIENT: &str = "10.0.0.2";
/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two stacks back to back: a server and a client.
fn pair() -> (Stack, Stack) {
    let (left, right) = memory::pair(memory::Config::default());
    let start = |device, address: &str| {
        let stack = Stack::builder().device(device).address(format!("{address}/24"));
        stack.start().expect("a stack")
    };
    (start(left, SERVER), start(right, CLIENT))
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(future)
}
