use super::super::tests::{config, end};
use super::*;
use crate::mailbox::Shared;
use crate::mailbox::thread_per_connection::flow_table::UnitHandle;
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

/// A connection that is on its way to the first unit of a table.
struct Move {
    caller: Caller,
    table: Arc<FlowTable<Caller>>,
    handle: UnitHandle<Caller>,
    id: ConnId,
    flow: FlowKey,
    connection: Message<Caller>,
    thread: ConnectionThread<Caller>,
}

fn a_move() -> Move {
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
    let (id, flow) = caller.0.lock().expect("no panic").opened.take().expect("a name");
    let connection = Message::Adopt(control.extract(id, now).expect("it is there"));

    let table = Arc::new(FlowTable::new(&config, 0));
    let (handle, generation) = table.reserve().expect("room");
    let unit = Unit::any(handle.index, 1);
    let guests = Domain::for_guests(config, unit, generation, caller.clone());
    let owner = Owner::new(shared, guests, handle.mailbox.clone(), 0);
    let key = ConnKey::Flow(flow);
    let thread = ConnectionThread::new(owner, table.clone(), handle.index, key);
    Move { caller, table, handle, id, flow, connection, thread }
}

#[test]
fn who_comes_to_a_thread_that_was_stopped_is_told_so() {
    let Move { caller, table, handle, flow, connection, thread, .. } = a_move();
    assert!(handle.mailbox.send(Message::Stop).is_ok());
    table.register(ConnKey::Flow(flow), &handle);
    assert!(handle.mailbox.send(connection).is_ok());
    thread.run(ThreadTimer::off());

    assert_eq!(caller.0.lock().expect("no panic").failed, [ConnectError::Stopped]);
    assert!(table.with_flow(&flow, |_| ()).is_none());
    assert_eq!(table.live(), 0);
}

/// The program may still name a connection that was in the unit before. The thread took that for
/// its own, had none, and ended; so the one that came found it gone, and was reset.
#[test]
fn a_call_for_one_that_was_there_before_does_not_end_the_thread() {
    let Move { caller, table, handle, id, flow, connection, thread } = a_move();
    assert!(handle.mailbox.send(Message::Call(Call::Notify(id))).is_ok());
    let running = std::thread::spawn(move || thread.run(ThreadTimer::off()));
    // Time to end.
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert!(handle.mailbox.send(connection).is_ok(), "it is still there");
    table.register(ConnKey::Flow(flow), &handle);
    assert!(handle.mailbox.send(Message::Stop).is_ok());
    running.join().expect("it ends");
    let opened = caller.0.lock().expect("no panic").opened;
    assert!(opened.is_some_and(|(_, its)| its == flow), "it has taken it in");
}
