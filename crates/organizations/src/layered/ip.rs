//! ③ ⑦ The Internet layer's thread.

use super::{ANSWERS, BATCH, FromIp, FromLink, FromTransport, PipelineCtx, ToLink, packets};
use crate::runtime::worker::DRAIN_TIMEOUT;
use instrument::{Layer, ThreadTimer, TraceStamp};
use net::ip::icmp::{self, Kind};
use net::ip::{self, Ip, Up};
use net::published::Seen;
use net::{Application, Counters, DropReason};
use std::collections::VecDeque;
use wire::icmpv4::Unreachable;
use wire::{Instant, Packet};

/// The state of the Internet layer, and its thread's batches.
pub(super) struct IpLayer<A: Application> {
    ctx: PipelineCtx<A>,
    ip: Ip,
    seen: Seen<net::Config>,
    counters: Counters,
    from_link: Vec<FromLink>,
    from_transport: Vec<FromTransport>,
    replies: Vec<Packet>,
    /// On the way to the transport.
    up: VecDeque<FromIp>,
    /// On the way to the link, for lack of room still here.
    down: VecDeque<ToLink>,
}

impl<A: Application> IpLayer<A> {
    pub(super) fn new(ctx: PipelineCtx<A>) -> IpLayer<A> {
        IpLayer {
            ip: Ip::new(ctx.config.clone(), ctx.unit),
            seen: Seen::new(&ctx.config.host),
            ctx,
            counters: Counters::default(),
            from_link: Vec::new(),
            from_transport: Vec::new(),
            replies: Vec::new(),
            up: VecDeque::new(),
            down: VecDeque::new(),
        }
    }

    /// Runs until the transport has ended and what it sent has gone.
    pub(super) fn run(mut self, timer: &mut ThreadTimer) -> Counters {
        let _end = End(self.ctx.clone());
        // When the transport ended.
        let mut ended = None;
        loop {
            timer.begin();
            let (taken, stamp) = self.ctx.pipeline().up_to_ip.take(&mut self.from_link, BATCH);
            timer.mark(if taken > 0 { Layer::Receive } else { Layer::Poll });
            let now = self.ctx.clock.now();
            if let Some(config) = self.seen.newer() {
                self.ip.configure(config);
            }
            self.input(now);
            timer.mark(Layer::Ip);
            self.hand_up(stamp, timer);
            let sent = self.output(now, timer);
            if self.ip.next_timeout().is_some_and(|at| at <= now) {
                self.ip.on_timeout(now, &mut self.counters, &mut self.replies);
                self.answers();
            }
            let queue = &self.ctx.pipeline().down_to_ip;
            if queue.is_finished() {
                let since = *ended.get_or_insert(now);
                let gone = self.down.is_empty() && queue.is_empty();
                if gone || now.since(since) > DRAIN_TIMEOUT {
                    return self.end();
                }
            }
            timer.end();
            if taken == 0 && sent == 0 {
                self.sleep(ended.map(|at| at + DRAIN_TIMEOUT));
                timer.slept();
            }
        }
    }

    /// ③ Takes what has come from the link.
    fn input(&mut self, now: Instant) {
        let IpLayer { ip, counters, from_link, replies, up, .. } = self;
        for message in from_link.drain(..) {
            match message {
                FromLink::Datagram(datagram) => {
                    up.extend(match ip::input(datagram, ip, now, counters, replies) {
                        Some(Up::Tcp(segment)) => Some(FromIp::Tcp(segment)),
                        Some(Up::Udp(datagram)) => Some(FromIp::Udp(datagram)),
                        Some(Up::Error(error)) => Some(FromIp::Error(Box::new(error))),
                        Some(Up::Raw(datagram)) => Some(FromIp::Raw(datagram)),
                        None => None,
                    });
                }
                FromLink::Failed(datagram) => {
                    let kind = Kind::Unreachable(Unreachable::Host);
                    let error = icmp::about(&datagram, kind);
                    up.extend(error.map(|error| FromIp::Error(Box::new(error))));
                }
                FromLink::Report(mut report) => {
                    report.sum.add(counters);
                    up.push_back(FromIp::Report(report));
                }
            }
        }
        self.answers();
    }

    /// Sends what IP has answered.
    fn answers(&mut self) {
        for reply in std::mem::take(&mut self.replies) {
            self.answer(reply);
        }
    }

    /// Hands everything to the transport, and sleeps until it has room. A packet put
    /// together from fragments may be another pipeline's.
    fn hand_up(&mut self, stamp: TraceStamp, timer: &mut ThreadTimer) {
        let PipelineCtx { pipelines, unit, config, .. } = &self.ctx;
        if unit.count > 1 {
            for message in std::mem::take(&mut self.up) {
                let index = owner(&message, |packet| {
                    net::domain::unit_above_ip(config, packet, unit.count)
                });
                if index.is_none_or(|index| index == unit.index) {
                    self.up.push_back(message);
                } else if let Some(index) = index
                    && pipelines[usize::from(index)].up_to_transport.try_put(message).is_err()
                {
                    self.counters.drop(DropReason::MailboxFull);
                }
            }
        }
        timer.handed(self.up.len() as u64);
        if self.ctx.pipeline().up_to_transport.put_all(&mut self.up, stamp) {
            timer.slept();
        }
        timer.mark(Layer::Handoff);
        // The transport has ended.
        for message in self.up.drain(..) {
            lost(&message, &mut self.counters);
        }
    }

    /// ⑦ Takes what has come from the transport, as far as the link has room.
    /// Returns how much that was.
    fn output(&mut self, now: Instant, timer: &mut ThreadTimer) -> usize {
        self.offer(TraceStamp::NONE);
        if !self.down.is_empty() {
            return 0;
        }
        let pipeline = self.ctx.pipeline();
        if pipeline.down_to_ip.is_empty() {
            return 0;
        }
        let room = pipeline.to_link.credit().min(BATCH);
        let (taken, stamp) = pipeline.down_to_ip.take(&mut self.from_transport, room);
        for message in std::mem::take(&mut self.from_transport) {
            match message {
                FromTransport::Packet(packet) => self.send(packet),
                FromTransport::Mark(mark) => self.down.push_back(ToLink::Mark(mark)),
                FromTransport::Unclaimed(datagram) => {
                    let port = Unreachable::Port;
                    if let Some(error) =
                        icmp::unreachable(datagram, port, &mut self.ip, now, &mut self.counters)
                    {
                        self.send(error);
                    }
                }
            }
        }
        timer.mark(Layer::Ip);
        timer.handed(self.down.len() as u64);
        self.offer(stamp);
        timer.mark(Layer::Handoff);
        taken
    }

    fn send(&mut self, packet: Packet) {
        let down = &mut self.down;
        if ip::output(packet, &mut self.ip, &mut |datagram| {
            down.push_back(ToLink::Packet(datagram))
        })
        .is_err()
        {
            self.counters.out_dropped += 1;
        }
    }

    /// Sends an answer of IP's own, or drops it where there is no room: no way up waits
    /// for a way down.
    fn answer(&mut self, packet: Packet) {
        if self.down.len() < ANSWERS {
            self.send(packet);
        } else {
            self.counters.out_dropped += 1;
        }
    }

    fn offer(&mut self, stamp: TraceStamp) {
        let dropped = self.ctx.pipeline().to_link.offer(&mut self.down, stamp);
        self.counters.out_dropped += dropped as u64;
    }

    /// `end` is when it gives up what is left to send, if the transport has ended.
    fn sleep(&self, end: Option<Instant>) {
        let pipeline = self.ctx.pipeline();
        let deadline = [end, self.ip.next_timeout()].into_iter().flatten().min();
        let ready = || {
            let comes = !pipeline.up_to_ip.is_empty();
            let waits = !self.down.is_empty() || !pipeline.down_to_ip.is_empty();
            let goes = waits && pipeline.to_link.credit() > 0;
            let ends = end.is_none() && pipeline.down_to_ip.is_finished();
            (comes || goes || ends, deadline)
        };
        pipeline.ip.sleep(ready, |at| at.since(self.ctx.clock.now()));
    }

    /// What is left is lost, and counted so.
    fn end(mut self) -> Counters {
        let pipeline = self.ctx.pipeline();
        for message in pipeline.up_to_ip.close() {
            if let FromLink::Datagram(_) = message {
                self.counters.drop(DropReason::MailboxFull);
            }
        }
        let is_mark = |message: &_| matches!(message, FromTransport::Mark(_));
        let left = packets(&pipeline.down_to_ip.close(), is_mark);
        let is_mark = |message: &_| matches!(message, ToLink::Mark(_));
        self.counters.out_dropped += left + packets(&self.down, is_mark);
        self.counters
    }
}

/// The unit that a message is for, if that has to be found out.
fn owner(message: &FromIp, unit: impl Fn(&Packet) -> u16) -> Option<u16> {
    match message {
        FromIp::Tcp(packet) | FromIp::Udp(packet) if packet.meta().reassembled => {
            Some(unit(packet))
        }
        _ => None,
    }
}

/// Counts a message that the transport does not take any more.
pub(super) fn lost(message: &FromIp, counters: &mut Counters) {
    if let FromIp::Tcp(_) | FromIp::Udp(_) | FromIp::Raw(_) = message {
        counters.drop(DropReason::MailboxFull);
    }
}

/// Lets the neighbours go on when the thread ends, however it does.
struct End<A: Application>(PipelineCtx<A>);

impl<A: Application> std::ops::Drop for End<A> {
    fn drop(&mut self) {
        let pipeline = self.0.pipeline();
        pipeline.up_to_ip.close();
        pipeline.down_to_ip.close();
        pipeline.to_link.finish();
    }
}
