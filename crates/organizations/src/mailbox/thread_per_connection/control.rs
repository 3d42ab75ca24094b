//! The control thread: its unit has all that belongs to no connection with a thread.

use super::connection::ConnectionThread;
use super::flow_table::{ConnKey, FlowTable, UnitHandle};
use super::migration::{self, Migrant};
use crate::mailbox::{Frame, Message, Owner, Posted};
use crate::runtime::handle::refuse;
use crate::runtime::threads::Spawn;
use instrument::ThreadTimer;
use net::application::ConnectError;
use net::{Application, Call, Connection, Domain, HostShared, Unit};
use platform::thread::JoinHandle;
use std::sync::Arc;
use std::time::Duration;
use wire::filter::FiveTuple;
use wire::{Endpoint, Instant, Packet};

/// Bytes of a connection's thread's stack: it runs the layers and one
/// application's upcalls, no deeper than a domain's owner does.
const STACK: usize = 256 * 1024;
/// Units whose first thread the instruments measure: they remember each that they have
/// ever measured.
const MEASURED: u16 = 512;
/// After the system has given no thread, none is asked for during this time.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection that leaves.
type Leaving<A> = Box<Connection<<A as Application>::Connection>>;
type Make<A> = Box<dyn FnMut(Unit) -> A + Send>;

/// The control thread, and the unit that it owns.
pub(super) struct ControlThread<A: Application> {
    owner: Owner<A>,
    table: Arc<FlowTable<A>>,
    host_shared: HostShared,
    application: Make<A>,
    pin: bool,
    /// When the system has given no more threads, and how many there were.
    short: Option<(Instant, usize)>,
}

impl<A: Application + 'static> ControlThread<A> {
    pub(super) fn new(
        owner: Owner<A>,
        table: Arc<FlowTable<A>>,
        host_shared: HostShared,
        application: Make<A>,
        pin: bool,
    ) -> ControlThread<A> {
        ControlThread { owner, table, host_shared, application, pin, short: None }
    }

    pub(super) fn run(mut self, timer: ThreadTimer) {
        self.owner.enlist(timer);
        loop {
            let mut mail = self.owner.drain_mailbox();
            let now = self.owner.now();
            let is_short = self.is_short_of_threads(now);
            self.owner.domain.set_refusal(is_short.then(|| self.table.refusal()));
            while let Some(message) = self.owner.inbox.messages.pop_front() {
                self.handle_message(message, now);
            }
            while let Some(frame) = self.owner.inbox.frames.pop_front() {
                self.owner.input(frame, now);
            }
            let mut reassembled = Vec::new();
            let round = self.owner.serve(now, |_, packet| {
                reassembled.push(packet);
                true
            });
            mail |= !reassembled.is_empty();
            reassembled.into_iter().for_each(|packet| self.reassembled(packet, now));
            mail |= self.migrate_established(now);
            if self.owner.is_over(round, now) {
                return self.owner.end(now);
            }
            if !mail {
                self.owner.sleep(round);
            }
        }
    }

    fn is_short_of_threads(&mut self, now: Instant) -> bool {
        // Another has ended, or time has passed: ask again.
        if let Some((since, live)) = self.short
            && (self.table.live() < live || now.since(since) > PATIENCE)
        {
            self.short = None;
        }
        self.short.is_some() || self.table.is_full()
    }

    /// Does what a message asks, or passes it on to the thread that has the socket.
    fn handle_message(&mut self, message: Message<A>, now: Instant) {
        let Message::Call(call) = message else { return self.owner.handle_message(message, now) };
        let call = match call {
            Call::BindUdp(local, socket) if !self.owner.domain.is_over() => {
                return self.bind(local, socket, now);
            }
            Call::UnbindUdp(local) => match self.table.port(&local) {
                Some(handle) => {
                    self.table.unregister(ConnKey::Port(local), handle.index);
                    return drop(handle.mailbox.send(Message::Call(Call::UnbindUdp(local))));
                }
                None => Call::UnbindUdp(local),
            },
            Call::FlushUdp(socket) => {
                let local = A::bound_to(&socket);
                let mut call = Message::Call(Call::FlushUdp(socket));
                if let Some(handle) = local.and_then(|local| self.table.port(&local)) {
                    match handle.mailbox.send(call) {
                        Ok(()) => return,
                        Err(back) => call = back,
                    }
                }
                // Of nobody, or of another socket, which has just gone: it is sent from here.
                return self.owner.handle_message(call, now);
            }
            call => call,
        };
        self.owner.handle_message(Message::Call(call), now);
    }

    /// Gives a UDP socket a thread, if there is one.
    fn bind(&mut self, local: Endpoint, socket: A::Udp, now: Instant) {
        let key = ConnKey::Port(local);
        let handle = match A::bound_to(&socket) {
            Some(bound) if bound == local => self.settle(key).ok(),
            _ => None,
        };
        let call = Message::Call(Call::BindUdp(local, socket));
        let Some(handle) = handle else { return self.owner.handle_message(call, now) };
        self.migrate_in(vec![Migrant { key, handle, message: call }], now);
    }

    /// Sends connections and sockets to their threads.
    fn migrate_in(&mut self, migrants: Vec<Migrant<A>>, now: Instant) {
        let Owner { shared, inbox, .. } = &mut self.owner;
        let taken = &mut inbox.frames;
        for message in migration::migrate_in(&self.table, &shared.config, migrants, taken) {
            match message {
                Message::Call(call) => refuse(call),
                Message::Adopt(connection) => {
                    self.refuse(connection, ConnectError::Stopped, now);
                }
                _ => {}
            }
        }
    }

    /// A datagram that was put together here goes to its connection, which may have
    /// migrated.
    fn reassembled(&mut self, packet: Packet, now: Instant) {
        let protocol = packet.meta().protocol;
        let tuple = net::domain::flow_of(&packet).map(|flow| FiveTuple { protocol, flow });
        let mailbox =
            tuple.and_then(|tuple| self.table.with(&tuple, |handle| handle.mailbox.clone()));
        let frame = Frame::reassembled(packet);
        let Some(mailbox) = mailbox else { return self.owner.input(frame, now) };
        let posted = match mailbox.post(frame) {
            // The connection has just ended: what is left of it is in our mailbox, and
            // the frame comes behind that.
            Posted::Closed(frame) => self.owner.mailbox.post(frame),
            posted => posted,
        };
        if !matches!(posted, Posted::Done) {
            self.owner.domain.drop_foreign(true);
        }
    }

    /// Sends the connections that have been established to their threads. Returns
    /// whether there were any.
    fn migrate_established(&mut self, now: Instant) -> bool {
        let leaving = self.owner.domain.take_leaving();
        let mut migrants = Vec::new();
        for id in &leaving {
            let Some(connection) = self.owner.domain.extract(*id, now) else { continue };
            let key = ConnKey::Flow(connection.flow);
            match self.settle(key) {
                Ok(handle) => {
                    migrants.push(Migrant { key, handle, message: Message::Adopt(connection) });
                }
                Err(_) => {
                    self.short = Some((now, self.table.live()));
                    let why = ConnectError::Refused(self.table.refusal());
                    self.refuse(connection, why, now);
                }
            }
        }
        if !migrants.is_empty() {
            self.migrate_in(migrants, now);
        }
        !leaving.is_empty()
    }

    fn refuse(&mut self, gone: Leaving<A>, why: ConnectError, now: Instant) {
        let Owner { domain, egress, .. } = &mut self.owner;
        domain.refuse(gone, why, now, egress);
    }

    /// A thread for a connection or a socket.
    fn settle(&mut self, key: ConnKey) -> std::io::Result<UnitHandle<A>> {
        let (handle, generation) = self.table.reserve()?;
        let spawned = self.spawn(&handle, generation, key);
        self.table.occupy(handle, spawned)
    }

    fn spawn(
        &mut self,
        handle: &UnitHandle<A>,
        generation: u32,
        key: ConnKey,
    ) -> std::io::Result<JoinHandle<()>> {
        let shared = self.owner.shared.clone();
        let unit = Unit::any(handle.index, 1);
        let app = (self.application)(unit);
        let domain = Domain::for_guests(shared.config.clone(), unit, generation, app);
        // Its frames leave by the processor that they come up by.
        let hash = match key {
            ConnKey::Flow(flow) => shared.config.steering.flow(&flow) as usize,
            ConnKey::Port(port) => usize::from(port.port),
        };
        let processor = hash % shared.processors.len();
        let owner = Owner::new(
            shared,
            domain.sharing(&self.host_shared),
            handle.mailbox.clone(),
            processor,
        );
        let measured = handle.index <= MEASURED && generation == 0;
        let spawn = Spawn {
            name: format!("ana-conn-{}", handle.index),
            stack: Some(STACK),
            pin: self.pin.then_some(processor),
            instruments: owner.shared.instruments.clone().filter(|_| measured),
            clock: owner.shared.clock,
        };
        let thread = ConnectionThread::new(owner, self.table.clone(), handle.index, key);
        spawn.start(move |timer| thread.run(timer))
    }
}
