//! Domains that threads own: the loop of an owner, its mailbox, and the handle
//! by which the others post to it. No lock, no atomic, is passed by a packet
//! that comes up in the unit that it belongs to.

use crate::worker::{self, BACKLOG, LAST_WORDS, Queues, Sleeper};
use crate::{Clock, Running, Setup, StartError, refuse};
use crossbeam_queue::{ArrayQueue, SegQueue};
use net::{Application, Call, Config, Counters, Domain, Egress, Unit};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering, fence};
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;
use wire::{Instant, Packet};

/// Frames that may wait in a mailbox; beyond, they are dropped, as a device
/// whose ring is full would.
const FRAMES: usize = 1024;

/// What owners send each other.
enum Frame {
    /// A frame that came up in the wrong unit, or is for all.
    Whole(Packet),
    /// A packet put together from fragments, of this unit's flow.
    Reassembled(Packet),
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
    let mailboxes: Arc<[Mailbox<A>]> = (0..count)
        .map(|_| {
            Ok(Mailbox {
                messages: SegQueue::new(),
                frames: ArrayQueue::new(FRAMES),
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
        let unit = Unit::of(index as u16, count);
        let mut owner = Owner {
            domain: Domain::new(setup.config.clone(), unit, (setup.application)(unit)),
            config: setup.config.clone(),
            clock: setup.clock,
            egress: Egress::new(setup.config.interfaces.len()),
            queues,
            mailboxes: mailboxes.clone(),
            received: Vec::new(),
        };
        let spawned =
            std::thread::Builder::new().name(format!("ana-unit-{index}")).spawn(move || {
                if pin {
                    worker::pin(index);
                }
                owner.run();
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
}

impl<A: Application> Owner<A> {
    fn mailbox(&self) -> &Mailbox<A> {
        &self.mailboxes[self.domain.unit.index as usize]
    }

    fn run(&mut self) {
        let mut stopping = None;
        loop {
            let now = self.clock.now();
            let (called, stop) = self.calls(now);
            if stop {
                stopping = Some(now);
            }
            let received = worker::receive(&mut self.queues.receivers, &mut self.received);
            self.frames(now);
            if self.domain.next_timeout().is_some_and(|at| at <= now) {
                self.domain.on_timeout(now, &mut self.egress);
            }
            let room = BACKLOG.saturating_sub(self.egress.len());
            let more = self.domain.serve(now, &mut self.egress, room);
            self.resteer();
            worker::transmit(&mut self.queues.transmitters, &mut self.egress);
            self.wake();
            if let Some(since) = stopping
                && ((!more && self.egress.is_empty()) || now.since(since) > LAST_WORDS)
            {
                return self.end(now);
            }
            if !called && received == 0 && !more {
                if self.egress.is_empty() {
                    self.sleep();
                } else {
                    // The device is full: let its other end run.
                    std::thread::yield_now();
                }
            }
        }
    }

    /// Connections that had no chance to say their last words end without.
    fn end(&mut self, now: Instant) {
        crate::end(&mut self.domain, now, &mut self.egress);
        for _ in 0..self.domain.take_resteered().count() {
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
        while let Some(frame) = self.mailbox().frames.pop() {
            any = true;
            match frame {
                Frame::Whole(frame) => self.domain.input(frame, now, &mut self.egress),
                Frame::Reassembled(p) => self.domain.input_resteered(p, now, &mut self.egress),
            }
        }
        (any, false)
    }

    /// Processes the frames received, or hands them to the unit they belong to.
    #[inline]
    fn frames(&mut self, now: Instant) {
        let unit = self.domain.unit;
        for frame in self.received.drain(..) {
            match net::domain::unit_of(&self.config, &frame, unit.count) {
                Some(index) if index == unit.index => {}
                Some(index) => {
                    if !post(&self.mailboxes[index as usize], Frame::Whole(frame)) {
                        self.domain.drop_foreign(false);
                    }
                    continue;
                }
                None => {
                    for index in (0..unit.count).filter(|i| *i != unit.index) {
                        let copy = Frame::Whole(frame.clone());
                        if !post(&self.mailboxes[index as usize], copy) {
                            self.domain.drop_foreign(false);
                        }
                    }
                }
            }
            self.domain.input(frame, now, &mut self.egress);
        }
    }

    fn resteer(&mut self) {
        let mut full = 0;
        for (index, packet) in self.domain.take_resteered() {
            if !post(&self.mailboxes[index as usize], Frame::Reassembled(packet)) {
                full += 1;
            }
        }
        for _ in 0..full {
            self.domain.drop_foreign(true);
        }
    }
}

fn post<A: Application>(mailbox: &Mailbox<A>, frame: Frame) -> bool {
    let posted = mailbox.frames.push(frame).is_ok();
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
                if matches!(frame, Frame::Reassembled(_)) {
                    Counters::drop(&mut last, net::Drop::MailboxFull);
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
