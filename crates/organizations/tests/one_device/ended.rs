//! A thread of a stack that has ended by a panic of the stack's own: nobody who asks waits for it.

use crate::App;
use device::memory;
use organizations::Running;
use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use wire::Endpoint;

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// A stack on two processors, or on one.
fn start(name: &str, processors: usize) -> Arc<dyn Running<App>> {
    let (device, _peer) = memory::pair(memory::Config::default().with_queues(processors));
    crate::start(name, device, processors)
}

#[test]
fn what_was_counted_is_told_though_a_thread_has_ended() {
    for organization in organizations::CATALOG {
        let processors = if organization.single { 1 } else { 2 };
        let running = start(organization.name, processors);
        // There is no way there. Where the caller does what it asks for, it panics itself.
        let nowhere = Endpoint { address: Ipv4Addr::new(192, 0, 2, 1).into(), port: 80 };
        let connect = || running.connect(nowhere, None, ());
        let _ = catch_unwind(AssertUnwindSafe(connect));
        std::thread::sleep(Duration::from_millis(50));
        let (told, tells) = mpsc::channel();
        let asked = running.clone();
        std::thread::spawn(move || told.send(asked.counters()).is_ok());
        assert!(tells.recv_timeout(PATIENCE).is_ok(), "{} does not answer", organization.name);
    }
}
