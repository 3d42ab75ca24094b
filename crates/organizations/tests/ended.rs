//! A thread of a stack that has ended by a panic of the stack's own: nobody who asks waits for it.

extern crate anabranch_organizations as organizations;

mod common;

use device::memory;
use net::application::ConnectError;
use net::{Application, ConnId, Datagram};
use organizations::Running;
use std::net::Ipv4Addr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use tcp::{Events, Tcb};
use wire::{Endpoint, FlowKey};

/// Longer than anything takes that does not hang.
const PATIENCE: Duration = Duration::from_secs(60);

/// One that panics when a connection cannot be opened.
struct App;

impl Application for App {
    type Connection = ();
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<()> {
        None
    }
    fn connect_failed(&mut self, (): (), error: ConnectError) {
        panic!("as is tried here: {error}");
    }
    fn opened(&mut self, (): &mut (), _: ConnId, _: &FlowKey) {}
    fn ready(&mut self, (): &mut (), _: &mut Tcb, _: Events, _: wire::Instant) -> bool {
        false
    }
    fn closed(&mut self, (): (), _: &mut Tcb) {}
    fn datagram(&mut self, (): &(), _: Datagram) -> bool {
        false
    }
    fn next_datagram(&mut self, (): &()) -> Option<Datagram> {
        None
    }
}

/// A stack on two processors, or on one.
fn start(name: &str, processors: usize) -> Arc<dyn Running<App>> {
    let (device, _peer) = memory::pair(memory::Config::default().with_queues(processors));
    common::start(name, device, processors, || App)
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
