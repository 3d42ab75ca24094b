//! What servers for names answer, by UDP and TCP, against what asks them.
#![no_main]

#[path = "../../crates/anabranch/src/dns/client/ask.rs"]
mod ask;
#[path = "../../crates/anabranch/src/dns/client/ask/tests/play.rs"]
mod play;

use std::net::SocketAddr;
use tokio::runtime::Builder;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let servers = [[10, 0, 0, 1], [10, 0, 0, 2]].map(|server| SocketAddr::from((server, 53)));
    // One for each run, so that no task outlives it.
    let runtime = Builder::new_current_thread().build().expect("a runtime");
    let asked = ask::lookup(play::Play::new(bytes), &servers, "host.test");
    play::check(&runtime.block_on(asked), ask::MOST_ADDRESSES);
});
