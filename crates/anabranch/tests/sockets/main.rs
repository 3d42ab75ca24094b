//! The library as its users see it: names, ends, errors, readiness.
#![cfg(not(shuttle))]

mod connections;
mod dhcp;
mod dhcp6;
mod discovery;
#[cfg(feature = "dns")]
mod dns;
mod ends;
mod fast_open;
mod fragments;
mod groups;
mod host;
mod names;
mod options;
mod posted;
mod shared_bytes;
mod start;
mod tasks;
mod thread_locals;
mod ttl;
mod watched;

use anabranch::Stack;
use anabranch::device::{fault, memory};
use std::time::Duration;

/// The server's address.
const SERVER: &str = "10.0.0.1";
/// The client's address.
const CLIENT: &str = "10.0.0.2";
/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// Two stacks back to back: a server and a client.
fn pair() -> (Stack, Stack) {
    pair_over("")
}

/// Two stacks back to back, with these faults on the client's side.
fn pair_over(faults: &str) -> (Stack, Stack) {
    pair_of(memory::Config::default(), faults)
}

/// The same, by these devices.
fn pair_of(devices: memory::Config, faults: &str) -> (Stack, Stack) {
    let (left, mut right) = memory::pair(devices);
    if !faults.is_empty() {
        right = fault::wrap(right, &faults.parse().expect("faults"), 1);
    }
    let start =
        |device, address: &str| Stack::builder().device(device).address(format!("{address}/24"));
    // The server goes last, and nobody is left to acknowledge its FINs.
    let server = start(left, SERVER).drain(Duration::ZERO).start();
    (server.expect("a stack"), start(right, CLIENT).start().expect("a stack"))
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.expect("a runtime").block_on(future)
}
