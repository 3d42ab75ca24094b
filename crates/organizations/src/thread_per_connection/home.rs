//! The unit that has all that belongs to no connection with a thread.

use super::registry::{Place, Registry};
use super::resident::Resident;
use super::sorter;
use crate::handed::{Frame, Mailbox, Message, Owner, Posted};
use crate::worker;
use net::application::ConnectError;
use net::{Application, Connection, Domain, SharedNeighbours, Unit};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use wire::{FlowKey, Instant, Packet};

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
    neighbours: SharedNeighbours,
    application: Make<A>,
    pin: bool,
    /// Since when the system gives no more threads, and how many there were.
    short: Option<(Instant, usize)>,
}

impl<A: Application + 'static> Home<A>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    pub(super) fn new(
        owner: Owner<A>,
        registry: Arc<Registry<A>>,
        neighbours: SharedNeighbours,
        application: Make<A>,
        pin: bool,
    ) -> Home<A> {
        Home { owner, registry, neighbours, application, pin, short: None }
    }

    pub(super) fn run(mut self) {
        self.owner.enlist(|| "ana-home".to_owned());
        loop {
            let mut mail = self.owner.open_mail();
            let now = self.owner.now();
            let is_short = self.is_short_of_threads(now);
            self.owner.domain.set_short_of_threads(is_short);
            while let Some(message) = self.owner.letters.messages.pop_front() {
                self.owner.obey(message, now);
            }
            while let Some(frame) = self.owner.letters.frames.pop_front() {
                self.input(frame, now);
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

    /// Takes a frame; or hands it to its connection, which has moved out since
    /// the frame was sorted.
    fn input(&mut self, frame: Frame, now: Instant) {
        let config = &self.owner.shared.config;
        let flow = sorter::flow_of(config, &frame.packet).filter(|_| frame.whole);
        match flow.and_then(|flow| self.mailbox_of(&flow)) {
            None => self.owner.input(frame, now),
            Some(mailbox) => self.pass_on(&mailbox, frame),
        }
    }

    fn mailbox_of(&self, flow: &FlowKey) -> Option<Arc<Mailbox<A>>> {
        self.registry.with_place(flow, |place| place.mailbox.clone())
    }

    fn pass_on(&mut self, mailbox: &Mailbox<A>, frame: Frame) {
        let counted = !frame.whole;
        match mailbox.post(frame) {
            Posted::Done => {}
            Posted::Full => self.owner.domain.drop_foreign(counted),
            // It has just ended: what is left of it is in our mailbox, and the
            // frame comes behind that.
            Posted::Closed(frame) => {
                if !matches!(self.owner.mailbox.post(frame), Posted::Done) {
                    self.owner.domain.drop_foreign(counted);
                }
            }
        }
    }

    fn reassembled(&mut self, packet: Packet, now: Instant) {
        let flow =
            net::domain::flow_of(&packet).filter(|_| packet.meta().protocol == wire::protocol::TCP);
        match flow.and_then(|flow| self.mailbox_of(&flow)) {
            None => self.owner.input(Frame::reassembled(packet), now),
            Some(mailbox) => self.pass_on(&mailbox, Frame::reassembled(packet)),
        }
    }

    /// Lets the connections move out that have been established. Returns whether
    /// there were any.
    fn hand_over(&mut self, now: Instant) -> bool {
        let leaving = self.owner.domain.take_leaving();
        let mut settled = Vec::new();
        for id in &leaving {
            let Some(connection) = self.owner.domain.extract(*id, now) else { continue };
            let flow = connection.flow;
            match self.settle(flow) {
                Ok(place) => {
                    self.registry.register(flow, &place);
                    settled.push((place, connection));
                }
                Err(_) => {
                    self.short = Some((now, self.registry.live()));
                    self.refuse(connection, ConnectError::NoThread, now);
                }
            }
        }
        self.send_after(&settled);
        for (place, connection) in settled {
            if let Err(Message::Adopt(connection)) = place.mailbox.send(Message::Adopt(connection))
            {
                self.refuse(connection, ConnectError::Stopped, now);
            }
        }
        !leaving.is_empty()
    }

    fn refuse(&mut self, gone: Leaving<A>, why: ConnectError, now: Instant) {
        let Owner { domain, egress, .. } = &mut self.owner;
        domain.refuse(gone, why, now, egress);
    }

    /// A thread for the connection with this flow.
    fn settle(&mut self, flow: FlowKey) -> std::io::Result<Place<A>> {
        let (place, generation) = self.registry.reserve()?;
        let spawned = self.spawn(&place, generation, flow);
        self.registry.occupy(place, spawned)
    }

    fn spawn(
        &mut self,
        place: &Place<A>,
        generation: u32,
        flow: FlowKey,
    ) -> std::io::Result<JoinHandle<()>> {
        let shared = self.owner.shared.clone();
        let unit = Unit::any(place.index, 1);
        let app = (self.application)(unit);
        let domain = Domain::for_guests(shared.config.clone(), unit, generation, app);
        // As its frames come up, so they leave.
        let hash = shared.config.steering.flow(&flow) as usize;
        let processor = hash % shared.processors.len();
        let owner = Owner::new(
            shared,
            domain.sharing_neighbours(&self.neighbours),
            place.mailbox.clone(),
            processor,
        );
        let resident = Resident::new(
            owner,
            self.registry.clone(),
            place.index,
            flow,
            place.index <= WATCHED && generation == 0,
        );
        let pin = self.pin.then_some(processor);
        let thread = std::thread::Builder::new().name(format!("ana-conn-{}", place.index));
        thread.stack_size(STACK).spawn(move || {
            if let Some(processor) = pin {
                worker::pin(processor);
            }
            resident.run();
        })
    }

    /// Frames that have come home before their connection left go after it, before
    /// those that its thread has got since.
    fn send_after(&mut self, settled: &[(Place<A>, Leaving<A>)]) {
        if settled.is_empty() {
            return;
        }
        let waiting = std::mem::take(&mut self.owner.mailbox.letters.lock().frames);
        let mut theirs: Vec<Vec<Frame>> = settled.iter().map(|_| Vec::new()).collect();
        let mut ours = Vec::new();
        for frame in waiting {
            let config = &self.owner.shared.config;
            let flow = sorter::flow_of(config, &frame.packet).filter(|_| frame.whole);
            let whose = settled.iter().position(|(_, c)| Some(c.flow) == flow);
            whose.map_or(&mut ours, |index| &mut theirs[index]).push(frame);
        }
        self.owner.mailbox.post_first(ours.into_iter());
        for ((place, _), frames) in settled.iter().zip(theirs) {
            place.mailbox.post_first(frames.into_iter());
        }
    }
}
