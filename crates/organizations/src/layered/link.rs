//! ① ② ⑧ ⑨ The link layer's thread, with the devices' queues.

use super::{FromLink, PipelineCtx, Report, ToLink, packets};
use crate::runtime::worker::{BATCH, DRAIN_TIMEOUT, rest, transmit_counted};
use device::{Device, Receive, Transmit};
use instrument::{Layer, ThreadTimer};
use net::link::{self, Link};
use net::published::Seen;
use net::{Application, Counters, DropReason, Egress};
use std::collections::VecDeque;
use wire::{Instant, Packet};

/// The queues of the devices that one pipeline has.
#[derive(Default)]
pub(super) struct Queues {
    receivers: Vec<Box<dyn Receive>>,
    /// The interface of each of `receivers`.
    interfaces: Vec<u16>,
    /// One for each interface.
    transmitters: Vec<Box<dyn Transmit>>,
    /// Halves that are not used, but would close the device's queue.
    _spare: Vec<Box<dyn Transmit>>,
}

/// Deals the queues of all devices to `count` pipelines, so that none is left
/// that nobody reads: pipeline `n` gets queues `n`, `n + count`, ... Where the
/// number of queues is a multiple of `count`, what a device steers to a queue is
/// the pipeline's that has it.
pub(super) fn deal(devices: Vec<Device>, count: usize) -> Vec<Queues> {
    let mut dealt: Vec<Queues> = (0..count).map(|_| Queues::default()).collect();
    for (interface, device) in devices.into_iter().enumerate() {
        for (index, queue) in device.queues.into_iter().enumerate() {
            let to = &mut dealt[index % count];
            to.receivers.push(queue.receive);
            to.interfaces.push(interface as u16);
            if to.transmitters.len() == interface {
                to.transmitters.push(queue.transmit);
            } else {
                to._spare.push(queue.transmit);
            }
        }
    }
    dealt
}

/// The state of the link layer, and its thread's batches.
pub(super) struct LinkLayer<A: Application> {
    ctx: PipelineCtx<A>,
    link: Link,
    seen: Seen<net::Config>,
    counters: Counters,
    queues: Queues,
    received: Vec<Packet>,
    from_ip: Vec<ToLink>,
    failed: Vec<Packet>,
    /// On the way to IP.
    up: VecDeque<FromLink>,
    egress: Egress,
}

impl<A: Application> LinkLayer<A> {
    pub(super) fn new(ctx: PipelineCtx<A>, queues: Queues) -> LinkLayer<A> {
        LinkLayer {
            link: Link::new(ctx.config.clone(), ctx.unit),
            seen: Seen::new(&ctx.config.host),
            egress: Egress::new(ctx.config.interfaces.len()),
            ctx,
            counters: Counters::default(),
            queues,
            received: Vec::new(),
            from_ip: Vec::new(),
            failed: Vec::new(),
            up: VecDeque::new(),
        }
    }

    /// Runs until IP has ended and what it sent has gone.
    pub(super) fn run(mut self, timer: &mut ThreadTimer) -> Counters {
        // When IP ended.
        let mut ended = None;
        loop {
            timer.begin();
            let received = self.receive();
            timer.received(&self.received);
            let now = self.ctx.clock.now();
            if let Some(config) = self.seen.newer() {
                self.link.configure(config);
            }
            let mut busy = received > 0;
            busy |= self.frames(now);
            self.on_timeout(now);
            let pipeline = self.ctx.pipeline();
            pipeline.deadline.ring_if_due(now, &pipeline.transport);
            busy |= self.output(now) > 0;
            timer.mark(Layer::Link);
            transmit_counted(&mut self.queues.transmitters, &mut self.egress, timer);
            let pipeline = self.ctx.pipeline();
            pipeline.full.set(self.egress.without_room(), &pipeline.transport);
            busy |= self.reports();
            self.hand_up(timer);
            let queue = &self.ctx.pipeline().to_link;
            if queue.is_finished() {
                let since = *ended.get_or_insert(now);
                let gone = self.egress.is_empty() && queue.is_empty();
                if gone || now.since(since) > DRAIN_TIMEOUT {
                    return self.end();
                }
            }
            timer.end();
            if busy {
                continue;
            }
            let full = !self.egress.is_empty();
            rest(full, full, timer, |_| self.sleep());
        }
    }

    /// ① Receives a batch by every queue.
    fn receive(&mut self) -> usize {
        let Queues { receivers, interfaces, .. } = &mut self.queues;
        let received = &mut self.received;
        for (receiver, interface) in receivers.iter_mut().zip(interfaces) {
            let start = received.len();
            receiver.receive(received, BATCH);
            for packet in &mut received[start..] {
                packet.meta_mut().interface = *interface;
            }
        }
        received.len()
    }

    /// ② Takes the frames received, or hands them to the pipeline they belong to;
    /// and those that other pipelines have handed here. Were there any of these?
    fn frames(&mut self, now: Instant) -> bool {
        let unit = self.ctx.unit;
        for frame in std::mem::take(&mut self.received) {
            match net::domain::unit_of(&self.ctx.config, &frame, unit.count) {
                Some(index) if index == unit.index => self.input(frame, now),
                Some(index) => self.post(index, frame),
                None => {
                    for index in (0..unit.count).filter(|index| *index != unit.index) {
                        self.post(index, frame.clone());
                    }
                    self.input(frame, now);
                }
            }
        }
        let posted = self.ctx.pipeline().frames.len().min(BATCH);
        for _ in 0..posted {
            let Some(frame) = self.ctx.pipeline().frames.pop() else { break };
            self.input(frame, now);
        }
        posted > 0
    }

    fn input(&mut self, frame: Packet, now: Instant) {
        let LinkLayer { link, counters, egress, up, .. } = self;
        up.extend(link::input(frame, link, now, counters, egress).map(FromLink::Datagram));
    }

    fn post(&mut self, index: u16, frame: Packet) {
        if !self.ctx.pipelines[usize::from(index)].post(frame) {
            self.counters.packets_in += 1;
            self.counters.drop(DropReason::MailboxFull);
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        if self.link.next_timeout().is_some_and(|at| at <= now) {
            let LinkLayer { link, counters, egress, failed, up, .. } = self;
            link.on_timeout(now, counters, egress, failed);
            up.extend(failed.drain(..).map(FromLink::Failed));
        }
    }

    /// ⑧ Takes what has come from IP, as far as the devices have room. Returns
    /// how much that was.
    fn output(&mut self, now: Instant) -> usize {
        let room = self.egress.room();
        let LinkLayer { ctx, link, counters, egress, from_ip, .. } = self;
        let (taken, _) = ctx.pipeline().to_link.take(from_ip, room);
        for message in from_ip.drain(..) {
            match message {
                ToLink::Packet(datagram) => link::output(datagram, link, now, counters, egress),
                ToLink::Mark(mark) => drop(mark),
            }
        }
        counters.out_dropped += egress.trim() as u64;
        taken
    }

    /// Sends the counters on their way up, where they were asked for. Returns whether
    /// they were.
    fn reports(&mut self) -> bool {
        let mut any = false;
        while let Some(to) = self.ctx.pipeline().reports.pop() {
            any = true;
            let sum = self.counters.clone();
            self.up.push_back(FromLink::Report(Box::new(Report { sum, to })));
        }
        any
    }

    /// Hands everything to IP, and sleeps until that has room.
    fn hand_up(&mut self, timer: &mut ThreadTimer) {
        timer.handed(self.up.len() as u64);
        let stamp = timer.stamp();
        if self.ctx.pipeline().up_to_ip.put_all(&mut self.up, stamp) {
            timer.slept();
        }
        timer.mark(Layer::Handoff);
        // IP has ended.
        for message in self.up.drain(..) {
            if let FromLink::Datagram(_) = message {
                self.counters.drop(DropReason::MailboxFull);
            }
        }
    }

    fn sleep(&mut self) {
        let LinkLayer { ctx, link, queues, .. } = self;
        let pipeline = ctx.pipeline();
        pipeline.link.sleep(&mut queues.receivers, &ctx.clock, || {
            let work = !pipeline.frames.is_empty()
                || !pipeline.reports.is_empty()
                || !pipeline.to_link.is_empty()
                || pipeline.to_link.is_finished();
            // Now that it would be woken: what is due may have become so by others.
            (work, Instant::earlier(link.next_timeout(), pipeline.deadline.get()))
        });
    }

    /// What the devices do not take now is lost, as at the end of any host.
    fn end(mut self) -> Counters {
        let is_mark = |message: &_| matches!(message, ToLink::Mark(_));
        self.counters.out_dropped += packets(&self.ctx.pipeline().to_link.close(), is_mark);
        self.counters
    }
}
