//! Domains that threads own: the loop of an owner, its mailbox, and the handle by which
//! the others post to it. A packet that comes up in its own unit passes no lock and no
//! atomic.

pub mod processor_per_connection;
pub mod uniprocessor;

use crate::runtime::handle::{Family, Handle, refuse, told, told_within};
use crate::runtime::routing::Router;
use crate::runtime::sleeper::Sleeper;
use crate::runtime::threads::Threads;
use crate::runtime::worker::{self, DRAIN_TIMEOUT, FRAMES, Queues, Watch};
use crate::{Clock, Running, Setup, StartError};
use instrument::{Layer, QueueWatch, RoundObserver, ThreadTimer, TraceStamp, observed};
use net::{Application, Call, Config, Counters, Domain, Egress, Unit};
use platform::mpsc;
use platform::{ArrayQueue, Mutex, SegQueue};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use wire::{Instant, Packet};

/// What owners send each other.
struct Frame {
    /// A whole frame, which came up in the wrong unit or is for all units. If not: a
    /// packet put together from fragments, of a flow of this unit.
    whole: bool,
    packet: Packet,
    stamp: TraceStamp,
}

enum Message<A: Application> {
    Call(Call<A>),
    Report(mpsc::Sender<Counters>),
    Stop,
}

/// The mailbox of an owner.
struct Mailbox<A: Application> {
    messages: SegQueue<Message<A>>,
    frames: ArrayQueue<Frame>,
    queue: QueueWatch,
    sleeper: Sleeper,
    /// What the owner had counted when it last had nothing to do.
    counted: Mutex<Counters>,
}

impl<A: Application> Mailbox<A> {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.frames.is_empty()
    }
}

/// All owners, as others reach them.
struct Owners<A: Application> {
    mailboxes: Arc<[Mailbox<A>]>,
    router: Router,
    threads: Threads,
    delayed_ack: Duration,
}

/// Starts one thread a processor, each owner of one domain.
pub(crate) fn start<A: Application + 'static>(
    mut setup: Setup<A>,
) -> Result<Arc<dyn Running<A>>, StartError> {
    crate::runtime::check::refuse_surplus(&setup)?;
    let count = setup.processors as u16;
    let mailbox = |_| {
        Ok(Mailbox {
            messages: SegQueue::new(),
            frames: ArrayQueue::new(FRAMES),
            queue: QueueWatch::new(setup.instruments.as_ref(), || "mailbox".to_owned()),
            sleeper: Sleeper::new()?,
            counted: Mutex::default(),
        })
    };
    let mailboxes: Arc<[Mailbox<A>]> = (0..count).map(mailbox).collect::<std::io::Result<_>>()?;
    let handle = Handle::new(Owners {
        mailboxes: mailboxes.clone(),
        router: Router::new(&setup.config, mailboxes.len()),
        threads: Threads::new(&setup),
        delayed_ack: setup.config.tcp.delayed_ack,
    });
    let queues = worker::deal(std::mem::take(&mut setup.devices), setup.processors);
    let options = std::mem::take(&mut setup.options);
    for (index, queues) in queues.into_iter().enumerate() {
        let unit = Unit::new(index as u16, count);
        let application = (setup.application)(unit);
        let (config, clock, mailboxes) = (setup.config.clone(), setup.clock, mailboxes.clone());
        let watch = Watch::new(&options, setup.processors, &clock);
        let run = move |mut timer: ThreadTimer| {
            // Made here: allocators keep apart what threads ask for, so that no cache
            // line has something of two owners.
            let mut owner = Owner {
                domain: Domain::new(config.clone(), unit, application),
                egress: Egress::new(config.interfaces.len()),
                config,
                clock,
                queues,
                mailboxes,
                received: Vec::new(),
                stamp: TraceStamp::NONE,
                handed: 0,
            };
            owner.run(&mut timer, watch);
            owner.domain.counters
        };
        handle.family.threads.spawn(format!("ana-unit-{index}"), index, run)?;
    }
    Ok(handle)
}

/// A thread and the domain that it owns.
struct Owner<A: Application> {
    domain: Domain<A>,
    config: Arc<Config>,
    clock: Clock,
    queues: Queues,
    egress: Egress,
    mailboxes: Arc<[Mailbox<A>]>,
    received: Vec<Packet>,
    /// The stamp of this round's packets, if they are followed.
    stamp: TraceStamp,
    /// Packets that were handed to other owners in this round.
    handed: u64,
}

impl<A: Application> Owner<A> {
    fn mailbox(&self) -> &Mailbox<A> {
        &self.mailboxes[self.domain.unit.index as usize]
    }

    fn run(&mut self, timer: &mut ThreadTimer, mut watch: Watch) {
        let mut stopping = None;
        loop {
            timer.begin();
            // Before the calls: one that was made before a frame came (to listen
            // on the port of its SYN) is done before that goes up.
            let posted = self.mailbox().frames.len();
            let received = worker::receive(&mut self.queues.receivers, &mut self.received);
            timer.received(&self.received);
            self.stamp = timer.stamp();
            let now = self.clock.now();
            let (called, stop) = self.calls(now);
            if stop {
                stopping = Some(now);
            }
            self.posted(posted, now, timer);
            let mut more = observed!(timer, observer => self.layers(now, observer));
            timer.handed(std::mem::take(&mut self.handed));
            worker::transmit_counted(&mut self.queues.transmitters, &mut self.egress, timer);
            self.domain.counters.out_dropped += self.egress.trim() as u64;
            let goes_on = self.domain.may_go_on(&self.egress);
            more |= goes_on;
            self.wake();
            timer.mark(Layer::Presentation);
            timer.end();
            if let Some(since) = stopping
                && ((!more && self.egress.is_empty()) || now.since(since) > DRAIN_TIMEOUT)
            {
                return self.end(now);
            }
            if called || received > 0 || posted > 0 {
                watch.found(now);
                continue;
            }
            if !more && self.egress.is_empty() && watch.looks_on(now) {
                continue;
            }
            // No connection has a turn while so much of theirs waits for the device.
            let busy = goes_on || (more && self.egress.room() > 0);
            worker::rest(!self.egress.is_empty(), busy, timer, |most| self.sleep(most));
        }
    }

    /// Brings the packets received through all layers. Returns whether connections
    /// remain that have something to do.
    #[inline]
    fn layers(&mut self, now: Instant, observer: &mut impl RoundObserver) -> bool {
        self.frames(now, observer);
        if self.domain.next_timeout().is_some_and(|at| at <= now) {
            self.domain.on_timeout(now, &mut self.egress);
        }
        let room = self.egress.room();
        let more = self.domain.serve_observed(now, &mut self.egress, room, observer);
        self.resteer();
        more
    }

    /// Connections that could not send FIN or RST in time are dropped.
    fn end(&mut self, now: Instant) {
        crate::end(&mut self.domain, now, &mut self.egress);
        for _ in 0..self.domain.take_misrouted().count() {
            self.domain.drop_foreign(true);
        }
        self.wake();
    }

    fn wake(&mut self) {
        let mut wakes = A::Wakes::default();
        self.domain.app.take_wakes(&mut wakes);
        A::wake(wakes);
    }

    /// Sleeps, for so long at most.
    fn sleep(&mut self, most: Option<Duration>) {
        let most = most.map(|most| self.clock.now() + most);
        let deadline = Instant::earlier(self.domain.next_timeout(), most);
        let mailbox = &self.mailboxes[self.domain.unit.index as usize];
        mailbox.counted.lock().clone_from(&self.domain.counters);
        let also = self.domain.app.wait_fd();
        let also = also.as_deref().map(AsFd::as_fd);
        mailbox.sleeper.sleep_at(also, &mut self.queues.receivers, &self.clock, || {
            (!mailbox.is_empty(), deadline)
        });
    }

    /// Does what is asked of the unit. Returns whether there was anything, and
    /// whether to stop.
    fn calls(&mut self, now: Instant) -> (bool, bool) {
        let mut any = false;
        // Those that come while these are done wait for the next round.
        for _ in 0..self.mailbox().messages.len() {
            let Some(message) = self.mailbox().messages.pop() else { break };
            any = true;
            match message {
                Message::Call(call) if self.domain.is_over() => refuse(call),
                Message::Call(call) => self.domain.call(call, now, &mut self.egress),
                Message::Report(to) => {
                    let _ = to.send(self.domain.counters.clone());
                }
                Message::Stop => {
                    self.domain.call(Call::Reset, now, &mut self.egress);
                    return (true, true);
                }
            }
        }
        (any, false)
    }

    /// Takes the first `count` frames that other owners have posted.
    fn posted(&mut self, count: usize, now: Instant, timer: &mut ThreadTimer) {
        for _ in 0..count {
            let Some(Frame { packet, whole, stamp }) = self.mailbox().frames.pop() else { break };
            self.mailbox().queue.left(stamp);
            timer.follow(stamp);
            timer.mark(Layer::Handoff);
            let Owner { domain, egress, .. } = self;
            if whole {
                observed!(timer, observer => domain.input_observed(packet, now, egress, observer));
            } else {
                domain.input_misrouted(packet, now, egress);
            }
        }
        self.mailbox().queue.taken(count);
    }

    /// Processes the frames received, or hands them to the unit they belong to.
    #[inline]
    fn frames(&mut self, now: Instant, observer: &mut impl RoundObserver) {
        let unit = self.domain.unit;
        let mut received = std::mem::take(&mut self.received);
        self.domain.look_ahead(received.iter());
        for frame in received.drain(..) {
            match net::domain::unit_of(&self.config, &frame, unit.count) {
                Some(index) if index == unit.index => {}
                Some(index) => {
                    if !self.post(index, frame, true) {
                        self.domain.drop_foreign(false);
                    }
                    observer.spent_on(Layer::Handoff);
                    continue;
                }
                None => {
                    for index in (0..unit.count).filter(|i| *i != unit.index) {
                        if !self.post(index, frame.clone(), true) {
                            self.domain.drop_foreign(false);
                        }
                    }
                    observer.spent_on(Layer::Handoff);
                }
            }
            self.domain.input_observed(frame, now, &mut self.egress, observer);
        }
        self.received = received;
    }

    fn resteer(&mut self) {
        let mut full = 0;
        for (index, packet) in self.domain.take_misrouted() {
            let posted = post(&self.mailboxes[index as usize], packet, false, self.stamp);
            self.handed += u64::from(posted);
            full += u32::from(!posted);
        }
        for _ in 0..full {
            self.domain.drop_foreign(true);
        }
    }

    fn post(&mut self, unit: u16, packet: Packet, whole: bool) -> bool {
        let posted = post(&self.mailboxes[unit as usize], packet, whole, self.stamp);
        self.handed += u64::from(posted);
        posted
    }
}

fn post<A: Application>(
    mailbox: &Mailbox<A>,
    packet: Packet,
    whole: bool,
    stamp: TraceStamp,
) -> bool {
    let Mailbox { frames, queue, .. } = mailbox;
    let stamp = queue.put(stamp, || frames.len() + 1);
    let posted = frames.push(Frame { whole, packet, stamp }).is_ok();
    queue.dropped(usize::from(!posted));
    mailbox.sleeper.notify();
    posted
}

impl<A: Application> Owners<A> {
    fn send(&self, unit: usize, message: Message<A>) {
        let mailbox = &self.mailboxes[unit];
        mailbox.messages.push(message);
        mailbox.sleeper.notify();
    }

    /// Asks all what they have counted.
    fn ask(&self) -> mpsc::Receiver<Counters> {
        let (to, from) = mpsc::channel();
        for unit in 0..self.mailboxes.len() {
            self.send(unit, Message::Report(to.clone()));
        }
        from
    }
}

impl<A: Application> Family<A> for Owners<A> {
    fn call(&self, call: Call<A>) {
        self.router.route(call, |unit, call| self.send(usize::from(unit), Message::Call(call)));
    }

    fn unseen(&self) -> Option<Call<A>> {
        let mut messages =
            self.mailboxes.iter().flat_map(|mailbox| std::iter::from_fn(|| mailbox.messages.pop()));
        messages.find_map(|message| match message {
            Message::Call(call) => Some(call),
            _ => None,
        })
    }

    fn has_caller(&self) -> bool {
        self.threads.has_caller()
    }

    fn glimpse(&self) -> Counters {
        let mut sum = Counters::default();
        self.mailboxes.iter().for_each(|mailbox| sum.add(&mailbox.counted.lock()));
        sum
    }

    fn counters(&self) -> Counters {
        told(&self.ask(), || self.threads.any_ended())
    }

    fn counters_within(&self, patience: Duration) -> Counters {
        told_within(&self.ask(), patience)
    }

    fn delayed_ack(&self) -> Duration {
        self.delayed_ack
    }

    fn stop(&self) -> Counters {
        for unit in 0..self.mailboxes.len() {
            self.send(unit, Message::Stop);
        }
        let mut last = self.threads.join();
        for mailbox in &*self.mailboxes {
            while let Some(frame) = mailbox.frames.pop() {
                // It was counted where it came up.
                if !frame.whole {
                    Counters::drop(&mut last, net::DropReason::MailboxFull);
                }
            }
        }
        last
    }
}
