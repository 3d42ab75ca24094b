//! A thread that owns a domain, and gets its packets by a mailbox.

use super::{Frame, Inbox, Mailbox, Message, Shared};
use crate::runtime::handle::refuse;
use crate::runtime::transmitter::Share;
use crate::runtime::worker::{BATCH, DRAIN_TIMEOUT};
use instrument::{Layer, ThreadTimer, observed};
use net::application::ConnectError;
use net::{Application, Blocked, Call, Domain, Egress, Interfaces};
use std::os::fd::AsFd;
use std::sync::Arc;
use wire::{Instant, Packet};

/// The owner of a domain. The organization has the loop; these are its steps.
pub(crate) struct Owner<A: Application> {
    pub(crate) shared: Arc<Shared>,
    /// In a box: stacks are touched page by page, and there may be thousands.
    pub(crate) domain: Box<Domain<A>>,
    pub(crate) mailbox: Arc<Mailbox<A>>,
    /// The processor by whose queues it sends.
    pub(crate) processor: usize,
    /// Of the frames that wait for that one's devices.
    share: Arc<Share>,
    /// What was in the mailbox.
    pub(crate) inbox: Inbox<A>,
    pub(crate) egress: Egress,
    pub(crate) timer: ThreadTimer,
    /// Frames taken from the mailbox in this round.
    taken: usize,
    /// When it was told to stop.
    stopping: Option<Instant>,
}

/// How a round has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Round {
    /// There is more to do at once.
    Busy,
    /// There is more to do once a device of these has taken some of what waits for it.
    Full(Blocked),
    /// There is nothing to do.
    Idle,
}

impl<A: Application> Owner<A> {
    pub(crate) fn new(
        shared: Arc<Shared>,
        domain: Domain<A>,
        mailbox: Arc<Mailbox<A>>,
        processor: usize,
    ) -> Owner<A> {
        let egress = Egress::new(shared.config.interfaces.len());
        let share = Share::new(shared.config.interfaces.len(), Some(mailbox.parker.clone()));
        let inbox = Inbox::default();
        let timer = ThreadTimer::off();
        Owner {
            shared,
            domain: Box::new(domain),
            mailbox,
            processor,
            share,
            inbox,
            egress,
            timer,
            taken: 0,
            stopping: None,
        }
    }

    /// The calling thread, which `timer` is for, is the owner's from now on.
    pub(crate) fn enlist(&mut self, timer: ThreadTimer) {
        self.mailbox.parker.enlist();
        self.timer = timer;
    }

    /// The time.
    pub(crate) fn now(&self) -> Instant {
        self.shared.clock.now()
    }

    /// Takes what is in the mailbox. Returns whether there was anything.
    pub(crate) fn drain_mailbox(&mut self) -> bool {
        self.timer.begin();
        let processor = self.shared.processors.of_unit(self.processor);
        processor.transmitter.note(&self.share, &mut self.egress);
        self.mailbox.take(&mut self.inbox);
        !self.inbox.messages.is_empty() || !self.inbox.frames.is_empty()
    }

    /// Does what a message asks.
    pub(crate) fn handle_message(&mut self, message: Message<A>, now: Instant) {
        match message {
            Message::Call(call) if self.domain.is_over() => refuse(call),
            Message::Call(call) => self.domain.call(call, now, &mut self.egress),
            Message::Adopt(connection) => {
                // There is none with its flow, and room for one.
                let _ = self.domain.adopt(connection);
            }
            Message::Keep(closed_flow) => self.domain.keep_closed_flow(closed_flow, now),
            Message::Stop => {
                self.stopping = Some(now);
                self.domain.call(Call::Reset, now, &mut self.egress);
            }
        }
    }

    /// Takes all packets that the inbox has.
    pub(crate) fn frames(&mut self, now: Instant) {
        while !self.inbox.frames.is_empty() {
            let ahead = self.inbox.frames.len().min(BATCH);
            self.domain.look_ahead(self.inbox.frames.range(..ahead).map(|frame| &frame.packet));
            for _ in 0..ahead {
                let Some(frame) = self.inbox.frames.pop_front() else { break };
                self.input(frame, now);
            }
        }
    }

    /// Takes a packet.
    #[inline]
    pub(crate) fn input(&mut self, frame: Frame, now: Instant) {
        let Frame { packet, whole, stamp } = frame;
        let Owner { domain, egress, timer, shared, .. } = self;
        self.taken += 1;
        shared.queue.left(stamp);
        timer.follow(stamp);
        timer.mark(Layer::Handoff);
        if whole {
            observed!(timer, observer => domain.input_observed(packet, now, egress, observer));
        } else {
            domain.input_misrouted(packet, now, egress);
        }
    }

    /// Lets time pass and connections have their turns, and sends what they made; packets
    /// of others go to `elsewhere`, which returns whether it could hand them on.
    pub(crate) fn serve(
        &mut self,
        now: Instant,
        mut elsewhere: impl FnMut(u16, Packet) -> bool,
    ) -> Round {
        let Owner { shared, domain, egress, timer, share, .. } = self;
        shared.queue.taken(std::mem::take(&mut self.taken));
        let processor = shared.processors.of_unit(self.processor);
        if domain.next_timeout().is_some_and(|at| at <= now) {
            domain.on_timeout(now, egress);
        }
        let room = egress.room();
        let more = observed!(timer, observer => domain.serve_observed(now, egress, room, observer));
        let blocked = domain.blocked_by();
        let mut lost = 0;
        for (unit, packet) in domain.take_misrouted() {
            lost += u32::from(!elsewhere(unit, packet));
        }
        (0..lost).for_each(|_| domain.drop_foreign(true));
        if !egress.is_empty() {
            processor.transmitter.begin().send(share, egress, timer);
            if processor.transmitter.any_wait() {
                processor.sleeper.notify();
            }
        }
        self.mailbox.counters.lock().clone_from(&self.domain.counters);
        let round = match more {
            true if processor.transmitter.takes_more(share) => Round::Busy,
            true => Round::Full(Blocked { connections: Interfaces::ALL, ..blocked }),
            false if blocked.none() => Round::Idle,
            false => Round::Full(blocked),
        };
        self.wake();
        self.timer.mark(Layer::Presentation);
        self.timer.end();
        round
    }

    fn wake(&mut self) {
        let mut wakes = A::Wakes::default();
        self.domain.app.take_wakes(&mut wakes);
        A::wake(wakes);
    }

    /// Is the owner to end now, after a round that ended so?
    pub(crate) fn is_over(&self, round: Round, now: Instant) -> bool {
        let out = &self.shared.processors.of_unit(self.processor).transmitter;
        self.stopping.is_some_and(|since| {
            (round == Round::Idle && !out.any_wait()) || now.since(since) > DRAIN_TIMEOUT
        })
    }

    /// Sleeps until the mailbox has something, a timer is due or, after a round that ended
    /// so, there is room to send. If the mailbox has something already, it does not: a look
    /// there costs much less than a round that finds nothing.
    pub(crate) fn sleep(&mut self, round: Round) {
        let out = &self.shared.processors.of_unit(self.processor).transmitter;
        if round == Round::Busy || !self.mailbox.is_empty() {
            return;
        }
        if let Round::Full(by) = round
            && !out.wait_for_room(&self.share, by)
        {
            return;
        }
        self.inbox.shrink();
        if self.stopping.is_some() {
            // Nobody tells us when the device takes what waits.
            return platform::thread::yield_now();
        }
        let deadline = self.domain.next_timeout();
        let also = self.domain.app.wait_fd();
        self.mailbox.parker.sleep(also.as_deref().map(AsFd::as_fd), || {
            if let Some(at) = deadline {
                self.shared.wake_by(self.processor, &self.mailbox.parker, at);
            }
            // There may be room since: whoever made it has seen nobody asleep.
            !self.mailbox.is_empty() || (round != Round::Idle && self.mailbox.parker.has_room())
        });
        self.timer.slept();
    }

    /// Connections that could not send FIN or RST in time are dropped.
    pub(crate) fn end(&mut self, now: Instant) {
        crate::end(&mut self.domain, now, &mut self.egress);
        let mut lost = self.domain.take_misrouted().count();
        let Inbox { messages, frames, .. } = self.mailbox.close();
        for message in messages {
            match message {
                Message::Call(call) => refuse(call),
                Message::Adopt(connection) => {
                    self.domain.refuse(connection, ConnectError::Stopped, now, &mut self.egress);
                }
                _ => {}
            }
        }
        self.egress.clear();
        // Whole frames were not counted in yet.
        lost += frames.iter().filter(|frame| !frame.whole).count();
        (0..lost).for_each(|_| self.domain.drop_foreign(true));
        self.mailbox.counters.lock().clone_from(&self.domain.counters);
        self.wake();
    }
}

impl<A: Application> Drop for Owner<A> {
    fn drop(&mut self) {
        self.shared.deadlines_of(self.processor).forget(&self.mailbox.parker);
    }
}
