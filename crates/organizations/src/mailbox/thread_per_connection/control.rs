//! The unit that has all that belongs to no connection with a thread.

use super::connection::Resident;
use super::flow_table::{Place, Registry, Tenancy};
use super::migration::{self, Tenant};
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
/// Units whose first thread instruments watch: they remember each that they have
/// ever watched.
const WATCHED: u16 = 512;
/// How long no thread is asked for after the system has given none.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection that leaves.
type Leaving<A> = Box<Connection<<A as Application>::Connection>>;
type Make<A> = Box<dyn FnMut(Unit) -> A + Send>;

/// A thread and the home that it owns.
pub(super) struct Home<A: Application> {
    owner: Owner<A>,
    registry: Arc<Registry<A>>,
    host_shared: HostShared,
    application: Make<A>,
    pin: bool,
    /// Since when the system gives no more threads, and how many there were.
    short: Option<(Instant, usize)>,
}

impl<A: Application + 'static> Home<A> {
    pub(super) fn new(
        owner: Owner<A>,
        registry: Arc<Registry<A>>,
        host_shared: HostShared,
        application: Make<A>,
        pin: bool,
    ) -> Home<A> {
        Home { owner, registry, host_shared, application, pin, short: None }
    }

    pub(super) fn run(mut self, watch: ThreadTimer) {
        self.owner.enlist(watch);
        loop {
            let mut mail = self.owner.open_mail();
            let now = self.owner.now();
            let is_short = self.is_short_of_threads(now);
            self.owner.domain.set_refusal(is_short.then_some(super::NO_THREAD));
            while let Some(message) = self.owner.letters.messages.pop_front() {
                self.obey(message, now);
            }
            while let Some(frame) = self.owner.letters.frames.pop_front() {
                self.owner.input(frame, now);
            }
            let mut reassembled = Vec::new();
            let round = self.owner.speak(now, |_, packet| {
                reassembled.push(packet);
                true
            });
            mail |= !reassembled.is_empty();
            reassembled.into_iter().for_each(|packet| self.reassembled(packet, now));
            mail |= self.hand_over(now);
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
            && (self.registry.live() < live || now.since(since) > PATIENCE)
        {
            self.short = None;
        }
        self.short.is_some() || self.registry.is_full()
    }

    /// Does what a message asks, or has it done where the socket is.
    fn obey(&mut self, message: Message<A>, now: Instant) {
        let Message::Call(call) = message else { return self.owner.obey(message, now) };
        let call = match call {
            Call::BindUdp(local, socket) if !self.owner.domain.is_over() => {
                return self.bind(local, socket, now);
            }
            Call::UnbindUdp(local) => match self.registry.port(&local) {
                Some(place) => {
                    self.registry.unregister(Tenancy::Port(local), place.index);
                    return drop(place.mailbox.send(Message::Call(Call::UnbindUdp(local))));
                }
                None => Call::UnbindUdp(local),
            },
            Call::FlushUdp(socket) => {
                let local = A::bound_to(&socket);
                match local.and_then(|local| self.registry.port(&local)) {
                    Some(place) => {
                        return drop(place.mailbox.send(Message::Call(Call::FlushUdp(socket))));
                    }
                    None => Call::FlushUdp(socket),
                }
            }
            call => call,
        };
        self.owner.obey(Message::Call(call), now);
    }

    /// A socket of UDP gets a thread, if there is one.
    fn bind(&mut self, local: Endpoint, socket: A::Udp, now: Instant) {
        let tenancy = Tenancy::Port(local);
        let place = match A::bound_to(&socket) {
            Some(bound) if bound == local => self.settle(tenancy).ok(),
            _ => None,
        };
        let call = Message::Call(Call::BindUdp(local, socket));
        let Some(place) = place else { return self.owner.obey(call, now) };
        self.move_in(vec![Tenant { tenancy, place, message: call }], now);
    }

    /// Sends tenants to their threads.
    fn move_in(&mut self, tenants: Vec<Tenant<A>>, now: Instant) {
        let Owner { shared, letters, .. } = &mut self.owner;
        let taken = &mut letters.frames;
        for message in migration::move_in(&self.registry, &shared.config, tenants, taken) {
            match message {
                Message::Call(call) => refuse(call),
                Message::Adopt(connection) => {
                    self.refuse(connection, ConnectError::Stopped, now);
                }
                _ => {}
            }
        }
    }

    /// A datagram that the home has put together goes to its connection, which may
    /// have moved out.
    fn reassembled(&mut self, packet: Packet, now: Instant) {
        let protocol = packet.meta().protocol;
        let tuple = net::domain::flow_of(&packet).map(|flow| FiveTuple { protocol, flow });
        let mailbox =
            tuple.and_then(|tuple| self.registry.with(&tuple, |place| place.mailbox.clone()));
        let frame = Frame::reassembled(packet);
        let Some(mailbox) = mailbox else { return self.owner.input(frame, now) };
        let posted = match mailbox.post(frame) {
            // It has just ended: what is left of it is in our mailbox, and the
            // frame comes behind that.
            Posted::Closed(frame) => self.owner.mailbox.post(frame),
            posted => posted,
        };
        if !matches!(posted, Posted::Done) {
            self.owner.domain.drop_foreign(true);
        }
    }

    /// Lets the connections move out that have been established. Returns whether
    /// there were any.
    fn hand_over(&mut self, now: Instant) -> bool {
        let leaving = self.owner.domain.take_leaving();
        let mut tenants = Vec::new();
        for id in &leaving {
            let Some(connection) = self.owner.domain.extract(*id, now) else { continue };
            let tenancy = Tenancy::Flow(connection.flow);
            match self.settle(tenancy) {
                Ok(place) => {
                    tenants.push(Tenant { tenancy, place, message: Message::Adopt(connection) });
                }
                Err(_) => {
                    self.short = Some((now, self.registry.live()));
                    self.refuse(connection, ConnectError::Refused(super::NO_THREAD), now);
                }
            }
        }
        if !tenants.is_empty() {
            self.move_in(tenants, now);
        }
        !leaving.is_empty()
    }

    fn refuse(&mut self, gone: Leaving<A>, why: ConnectError, now: Instant) {
        let Owner { domain, egress, .. } = &mut self.owner;
        domain.refuse(gone, why, now, egress);
    }

    /// A thread for a tenant.
    fn settle(&mut self, tenancy: Tenancy) -> std::io::Result<Place<A>> {
        let (place, generation) = self.registry.reserve()?;
        let spawned = self.spawn(&place, generation, tenancy);
        self.registry.occupy(place, spawned)
    }

    fn spawn(
        &mut self,
        place: &Place<A>,
        generation: u32,
        tenancy: Tenancy,
    ) -> std::io::Result<JoinHandle<()>> {
        let shared = self.owner.shared.clone();
        let unit = Unit::any(place.index, 1);
        let app = (self.application)(unit);
        let domain = Domain::for_guests(shared.config.clone(), unit, generation, app);
        // As its frames come up, so they leave.
        let hash = match tenancy {
            Tenancy::Flow(flow) => shared.config.steering.flow(&flow) as usize,
            Tenancy::Port(port) => usize::from(port.port),
        };
        let processor = hash % shared.processors.len();
        let owner =
            Owner::new(shared, domain.sharing(&self.host_shared), place.mailbox.clone(), processor);
        let watched = place.index <= WATCHED && generation == 0;
        let thread = Spawn {
            name: format!("ana-conn-{}", place.index),
            stack: Some(STACK),
            pin: self.pin.then_some(processor),
            instruments: owner.shared.instruments.clone().filter(|_| watched),
        };
        let resident = Resident::new(owner, self.registry.clone(), place.index, tenancy);
        thread.start(move |watch| resident.run(watch))
    }
}
