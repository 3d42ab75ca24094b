//! The end of a tunnel: any address, any port, in every organization and behind the
//! kernel.
#![cfg(not(shuttle))]

mod any_address;
mod bounded;
mod ends;
mod memory;
mod raw;
mod served;
mod sessions;
mod tunnel;

use anabranch::Stack;
use anabranch::device::{Medium, memory as link};
use std::time::Duration;

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);
/// The client's addresses.
const CLIENT_V6: &str = "2001:db8::2";
const CLIENT: &str = "10.0.0.2";

/// Both ends of a link without Ethernet.
fn wire(queues: usize) -> (anabranch::device::Device, anabranch::device::Device) {
    let config = link::Config::default().with_medium(Medium::Ip).with_queues(queues);
    link::pair(config)
}

/// A client whose way to everywhere is `device`.
fn client(device: anabranch::device::Device, processors: usize) -> Stack {
    let builder = Stack::builder()
        .device(device)
        .address(format!("{CLIENT}/24"))
        .address(format!("{CLIENT_V6}/64"));
    let builder = builder.organization("processor-per-connection").processors(processors);
    let builder = builder.route("default via 10.0.0.1").route("::/0 via 2001:db8::1");
    builder.start().expect("a stack")
}

/// Runs a future on this thread.
fn block_on<F: Future>(future: F) -> F::Output {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let future = async { tokio::time::timeout(PATIENCE, future).await.expect("it hangs") };
    runtime.expect("a runtime").block_on(future)
}
