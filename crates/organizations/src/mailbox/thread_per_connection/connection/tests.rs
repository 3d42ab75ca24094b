use super::super::tests::{config, end};
use super::*;
use crate::mailbox::{Mailbox, Shared};
use crate::{Clock, Options, Setup};
use net::application::ConnectError;
use net::{ConnId, Datagram, Domain, Egress, Unit};
use std::sync::Mutex;
use tcp::{Events, Tcb};
use wire::{Endpoint, FlowKey};

/// Notes what becomes of its connections.
#[derive(Clone, Default)]
struct Caller(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    opened: Option<(ConnId, FlowKey)>,
    failed: Vec<ConnectError>,
}

impl Application for Caller {
    type Connection = ();
    type Listener = ();
    type Udp = Endpoint;
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<()> {
        None
    }
    fn opened(&mut self, (): &mut (), id: ConnId, flow: &FlowKey) {
        self.0.lock().expect("no panic").opened = Some((id, *flow));
    }
    fn connect_failed(&mut self, (): (), error: ConnectError) {
        self.0.lock().expect("no panic").failed.push(error);
    }
    fn ready(&mut self, (): &mut (), _: &mut Tcb, _: Events, _: Instant) -> bool {
        false
    }
    fn closed(&mut self, (): (), _: &mut Tcb) {}
    fn datagram(&mut self, _: &Endpoint, _: Datagram) -> bool {
        true
    }
}

#[test]
fn who_comes_to_a_thread_that_was_stopped_is_told_so() {
    let (config, caller) = (config(), Caller::default());
    let mut setup = Setup {
        config: config.clone(),
        processors: 1,
        devices: Vec::new(),
        options: Options::default(),
        application: Box::new(|_| Caller::default()),
        clock: Clock::start(),
        instruments: None,
    };
    let (shared, _) = Shared::new::<Caller>(&mut setup, "thread-per-connection").expect("room");
    let mut control = Domain::new(config.clone(), Unit::ONLY, caller.clone());
    let (now, mut egress) = (Instant::from_millis(1), Egress::new(1));
    let call = Call::Connect { remote: end(2, 80), local: None, connection: () };
    control.call(call, now, &mut egress);
    let (id, flow) = caller.0.lock().expect("no panic").opened.expect("a name");
    let connection = control.extract(id, now).expect("it is there");

    let table = Arc::new(FlowTable::new(&config, 0));
    let (handle, generation) = table.reserve().expect("room");
    let mailbox: Arc<Mailbox<Caller>> = handle.mailbox.clone();
    assert!(mailbox.send(Message::Stop).is_ok());
    table.register(ConnKey::Flow(flow), &handle);
    assert!(mailbox.send(Message::Adopt(connection)).is_ok());
    let unit = Unit::any(handle.index, 1);
    let guests = Domain::for_guests(config, unit, generation, caller.clone());
    let owner = Owner::new(shared, guests, mailbox, 0);
    ConnectionThread::new(owner, table.clone(), handle.index, ConnKey::Flow(flow))
        .run(ThreadTimer::off());

    assert_eq!(caller.0.lock().expect("no panic").failed, [ConnectError::Stopped]);
    assert!(table.with_flow(&flow, |_| ()).is_none());
    assert_eq!(table.live(), 0);
}
