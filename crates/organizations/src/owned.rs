//! Domains that threads own: the loop of an owner, its mailbox, and the handle
//! by which the others post to it. No lock, no atomic, is passed by a packet
//! that comes up in the unit that it belongs to.

use crate::instrument::{QueueWatch, Stamp, Watch};
use crate::worker::{self, BACKLOG, LAST_WORDS, Queues, Sleeper};
use crate::{Clock, Running, Setup, StartError, refuse};
use net::{Application, Call, Config, Counters, Domain, Egress, Layer, Observer, Unit};
use std::sync::Arc;
use sync::system::Mutex;
use sync::system::atomic::{AtomicBool, Ordering, fence};
use sync::system::mpsc;
use sync::system::thread::JoinHandle;
use sync::system::{ArrayQueue, SegQueue};
use wire::{Instant, Packet};

/// Frames that may wait in a mailbox; beyond, they are dropped, as a device
/// whose ring is full would.
const FRAMES: usize = 1024;

/// What owners send each other.
struct Frame {
    /// It is a frame that came up in the wrong unit, or is for all; and not a
    /// packet put together from fragments, of this unit's flow.
    whole: bool,
    packet: Packet,
    stamp: Stamp,
}

enum Message<A: Application> {
    Call(Call<A>),
    Report(mpsc::Sender<Counters>),
    Stop,
}

/// What others put before an owner.
struct Mailbox<A: Application> {
    messages: SegQueue<Message<A>>,
    frames: ArrayQueue<Frame>,
    queue: QueueWatch,
    sleeper: Sleeper,
}

impl<A: Application> Mailbox<A> {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.frames.is_empty()
    }
}

/// The handle on all owners.
struct Owners<A: Application> {
    mailboxes: Arc<[Mailbox<A>]>,
    threads: Mutex<Vec<JoinHandle<Counters>>>,
    stopped: AtomicBool,
    /// Nobody looks into the mailboxes any more.
    ended: AtomicBool,
    /// What the owners had counted when they stopped.
    last: Mutex<Counters>,
}

/// Starts one thread a processor, each owner of one domain.
pub(crate) fn start<A: Application + 'static>(
    mut setup: Setup<A>,
    pin: bool,
) -> Result<Arc<dyn Running<A>>, StartError>
where
    A::Connection: 'static,
    A::Listener: 'static,
    A::Udp: 'static,
{
    crate::check_queues(&setup)?;
    let count = setup.processors as u16;
    let instruments = setup.instruments.clone();
    let mailboxes: Arc<[Mailbox<A>]> = (0..count)
        .map(|_| {
            Ok(Mailbox {
                messages: SegQueue::new(),
                frames: ArrayQueue::new(FRAMES),
                queue: QueueWatch::of(instruments.as_ref(), || "mailbox".to_owned()),
                sleeper: Sleeper::new()?,
            })
        })
        .collect::<std::io::Result<_>>()?;
    let owners = Arc::new(Owners {
        mailboxes: mailboxes.clone(),
        threads: Mutex::new(Vec::new()),
        stopped: AtomicBool::new(false),
        ended: AtomicBool::new(false),
        last: Mutex::new(Counters::default()),
    });
    let queues = worker::deal(std::mem::take(&mut setup.devices), setup.processors);
    for (index, queues) in queues.into_iter().enumerate() {
        let unit = Unit::new(index as u16, count);
        let application = (setup.application)(unit);
        let (config, clock) = (setup.config.clone(), setup.clock);
        let (mailboxes, instruments) = (mailboxes.clone(), instruments.clone());
        let name = format!("ana-unit-{index}");
        let spawned = sync::system::thread::Builder::new().name(name.clone()).spawn(move || {
            if pin {
                worker::pin(index);
            }
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
                stamp: Stamp::NONE,
                handed: 0,
            };
            owner.run(&mut Watch::of(instruments.as_ref(), || name));
            owner.domain.counters
        });
        match spawned {
            Ok(thread) => owners.threads.lock().push(thread),
            Err(error) => {
                owners.stop();
                return Err(error.into());
            }
        }
    }
    Ok(owners)
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
    /// Of this round's packets, if they are followed.
    stamp: Stamp,
    /// Packets that were handed to other owners in this round.
    handed: u64,
}

impl<A: Application> Owner<A> {
    fn mailbox(&self) -> &Mailbox<A> {
        &self.mailboxes[self.domain.unit.index as usize]
    }

    fn run(&mut self, watch: &mut Watch) {
        let mut stopping = None;
        loop {
            watch.begin();
            // Before the calls: one that was made before a frame came (to listen
            // on the port of its SYN) is done before that goes up.
            let posted = self.mailbox().frames.len();
            let received = worker::receive(&mut self.queues.receivers, &mut self.received);
            watch.received(&self.received);
            self.stamp = watch.stamp();
            let now = self.clock.now();
            let (called, stop) = self.calls(now);
            if stop {
                stopping = Some(now);
            }
            self.posted(posted, now, watch);
            let more = match watch.observer() {
                Some(observer) => self.layers(now, observer),
                None => self.layers(now, &mut ()),
            };
            watch.handed(std::mem::take(&mut self.handed));
            worker::transmit_watched(&mut self.queues.transmitters, &mut self.egress, watch);
            self.wake();
            watch.lap(Layer::Presentation);
            watch.end();
            if let Some(since) = stopping
                && ((!more && self.egress.is_empty()) || now.since(since) > LAST_WORDS)
            {
                return self.end(now);
            }
            if called || received > 0 || posted > 0 {
                continue;
            }
            if !self.egress.is_empty() {
                // The device is full: let its other end run.
                sync::system::thread::yield_now();
            } else if !more {
                self.sleep();
                watch.slept();
            }
        }
    }

    /// What the packets in hand have to go through. Returns whether connections
    /// remain that have something to do.
    #[inline]
    fn layers(&mut self, now: Instant, observer: &mut impl Observer) -> bool {
        self.frames(now, observer);
        if self.domain.next_timeout().is_some_and(|at| at <= now) {
            self.domain.on_timeout(now, &mut self.egress);
        }
        let room = BACKLOG.saturating_sub(self.egress.len());
        let more = self.domain.serve_observed(now, &mut self.egress, room, observer);
        self.resteer();
        more
    }

    /// Connections that had no chance to say their last words end without.
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

    fn sleep(&mut self) {
        let deadline = self.domain.next_timeout();
        let mailbox = &self.mailboxes[self.domain.unit.index as usize];
        mailbox
            .sleeper
            .sleep(&mut self.queues.receivers, &self.clock, || (!mailbox.is_empty(), deadline));
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

    /// Takes in the first `count` frames that other owners have handed over.
    fn posted(&mut self, count: usize, now: Instant, watch: &mut Watch) {
        for _ in 0..count {
            let Some(Frame { packet, whole, stamp }) = self.mailbox().frames.pop() else { break };
            self.mailbox().queue.left(stamp);
            watch.follow(stamp);
            watch.lap(Layer::Handoff);
            let Owner { domain, egress, .. } = self;
            match (whole, watch.observer()) {
                (false, _) => domain.input_misrouted(packet, now, egress),
                (true, None) => domain.input(packet, now, egress),
                (true, Some(observer)) => domain.input_observed(packet, now, egress, observer),
            }
        }
        self.mailbox().queue.taken(count);
    }

    /// Processes the frames received, or hands them to the unit they belong to.
    #[inline]
    fn frames(&mut self, now: Instant, observer: &mut impl Observer) {
        let unit = self.domain.unit;
        let mut received = std::mem::take(&mut self.received);
        for frame in received.drain(..) {
            match net::domain::unit_of(&self.config, &frame, unit.count) {
                Some(index) if index == unit.index => {}
                Some(index) => {
                    if !self.post(index, frame, true) {
                        self.domain.drop_foreign(false);
                    }
                    observer.lap(Layer::Handoff);
                    continue;
                }
                None => {
                    for index in (0..unit.count).filter(|i| *i != unit.index) {
                        if !self.post(index, frame.clone(), true) {
                            self.domain.drop_foreign(false);
                        }
                    }
                    observer.lap(Layer::Handoff);
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

fn post<A: Application>(mailbox: &Mailbox<A>, packet: Packet, whole: bool, stamp: Stamp) -> bool {
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

    /// Calls that came too late.
    fn refuse_all(&self) {
        for mailbox in &*self.mailboxes {
            while let Some(message) = mailbox.messages.pop() {
                if let Message::Call(call) = message {
                    refuse(call);
                }
            }
        }
    }

    fn report(&self) -> Counters {
        let (to, from) = mpsc::channel();
        for unit in 0..self.mailboxes.len() {
            self.send(unit, Message::Report(to.clone()));
        }
        std::mem::drop(to);
        let mut sum = Counters::default();
        for _ in 0..self.mailboxes.len() {
            if let Ok(counters) = from.recv() {
                sum.add(&counters);
            }
        }
        sum
    }
}

impl<A: Application> Running<A> for Owners<A> {
    fn units(&self) -> u16 {
        self.mailboxes.len() as u16
    }

    fn call(&self, unit: u16, call: Call<A>) {
        if self.stopped.load(Ordering::Acquire) {
            return refuse(call);
        }
        self.send(usize::from(unit), Message::Call(call));
        // Either the thread that ends the mailboxes sees the call, or this one
        // sees that they have ended.
        fence(Ordering::SeqCst);
        if self.ended.load(Ordering::Relaxed) {
            self.refuse_all();
        }
    }

    fn counters(&self) -> Counters {
        // Under the lock, so that the owners do not end meanwhile.
        let last = self.last.lock();
        if self.stopped.load(Ordering::Acquire) { last.clone() } else { self.report() }
    }

    fn stop(&self) {
        let mut last = self.last.lock();
        if self.stopped.load(Ordering::Acquire) {
            return;
        }
        self.stopped.store(true, Ordering::Release);
        for unit in 0..self.mailboxes.len() {
            self.send(unit, Message::Stop);
        }
        for counters in crate::join(self.threads.lock().drain(..)) {
            last.add(&counters);
        }
        for mailbox in &*self.mailboxes {
            while let Some(frame) = mailbox.frames.pop() {
                // It was counted in where it came up.
                if !frame.whole {
                    Counters::drop(&mut last, net::DropReason::MailboxFull);
                }
            }
        }
        self.ended.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        self.refuse_all();
    }
}

impl<A: Application> std::ops::Drop for Owners<A> {
    fn drop(&mut self) {
        self.stop();
    }
}
