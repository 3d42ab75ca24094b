//! ④ ⑤ ⑥ The transport layer's thread: connections, and the application where
//! they are.

use super::{ANSWERS, BATCH, FromIp, FromTransport, PipelineCtx, ip, packets};
use crate::runtime::handle::refuse;
use crate::runtime::worker::DRAIN_TIMEOUT;
use instrument::{Layer, ThreadTimer, TraceStamp, observed};
use net::down::Below;
use net::ip::Routes;
use net::observe::Observer;
use net::published::Seen;
use net::transport::{self, Cx, Transport};
use net::{Application, Blocked, Call, Counters, Interfaces, OwnedTable};
use platform::atomic::Ordering;
use std::collections::VecDeque;
use wire::{Instant, Packet};

/// What goes with packets where the connections are this thread's.
type Connected<'a, A> = Cx<'a, A, OwnedTable<<A as Application>::Connection>>;

/// The state of the transport layer, and its thread's batches.
pub(super) struct TransportLayer<A: Application> {
    ctx: PipelineCtx<A>,
    transport: Transport<A>,
    conns: OwnedTable<A::Connection>,
    app: A,
    routes: Routes,
    seen: Seen<net::Config>,
    counters: Counters,
    from_ip: Vec<FromIp>,
    /// On the way to IP, for lack of room still here.
    down: VecDeque<FromTransport>,
    /// Sockets with datagrams to send when there is room.
    flushes: VecDeque<A::Udp>,
    /// Those that wait for an interface.
    held: Vec<(u16, A::Udp)>,
    /// The interfaces that connections and sockets wait for.
    blocked: Blocked,
    /// There was no credit: connections wait for it.
    waits: bool,
    /// There was no room for all calls that the application makes of its own.
    cut: bool,
    over: bool,
}

/// What connections send by: packets gather until the turns are over.
struct Down<'a, O> {
    packets: &'a mut VecDeque<FromTransport>,
    /// The interfaces that have no room.
    full: Interfaces,
    observer: O,
}

impl<O: Observer> Below for Down<'_, O> {
    /// Frames are made elsewhere: none can be repeated.
    #[inline]
    fn send(&mut self, packet: Packet, _: &mut Counters) -> Option<u16> {
        self.packets.push_back(FromTransport::Packet(packet));
        None
    }

    fn repeat(&mut self, _: u16, _: impl FnOnce(&Packet) -> Packet, _: &mut Counters) {}

    #[inline(always)]
    fn mark(&mut self, layer: net::Layer) {
        self.observer.mark(layer);
    }

    #[inline]
    fn room_by(&self, interface: usize) -> usize {
        if self.full.has(interface) { 0 } else { usize::MAX }
    }
}

impl<A: Application> TransportLayer<A> {
    pub(super) fn new(ctx: PipelineCtx<A>, app: A) -> TransportLayer<A> {
        TransportLayer {
            transport: Transport::new(ctx.config.clone(), ctx.unit),
            conns: OwnedTable::new(ctx.unit.index, &ctx.config),
            app,
            routes: Routes::new(&ctx.config),
            seen: Seen::new(&ctx.config.host),
            ctx,
            counters: Counters::default(),
            from_ip: Vec::new(),
            down: VecDeque::new(),
            flushes: VecDeque::new(),
            held: Vec::new(),
            blocked: Blocked::default(),
            waits: false,
            cut: false,
            over: false,
        }
    }

    /// Runs until the stack stops.
    pub(super) fn run(mut self, timer: &mut ThreadTimer) -> Counters {
        let _end = End(self.ctx.clone());
        let mut stopping = None;
        loop {
            // Before the calls: one that was made before a peer sent something
            // is done before that comes.
            timer.begin();
            let (taken, stamp) = self.ctx.pipeline().up_to_transport.take(&mut self.from_ip, BATCH);
            timer.mark(if taken > 0 { Layer::Receive } else { Layer::Poll });
            timer.follow(stamp);
            let now = self.ctx.clock.now();
            let stop = stopping.is_none() && self.ctx.pipeline().stop.load(Ordering::Acquire);
            self.look();
            let mut called = self.calls(now);
            called |= self.marks();
            if stop {
                self.call(Call::Reset, now);
                stopping = Some(now);
            }
            self.input(now);
            if self.transport.next_timeout(&self.conns).is_some_and(|at| at <= now) {
                let (transport, mut cx) = self.cx(now);
                transport.end_batch(&mut cx);
                transport.on_timeout(&mut cx);
            }
            timer.mark(Layer::Transport);
            let more = self.turns(now, timer);
            self.hand_up(timer);
            timer.end();
            if let Some(since) = stopping
                && ((!more && self.down.is_empty()) || now.since(since) > DRAIN_TIMEOUT)
            {
                return self.end(now, timer);
            }
            if taken == 0 && !called && (!more || self.waits) {
                self.sleep(stopping.map(|at| at + DRAIN_TIMEOUT));
                timer.slept();
            }
        }
    }

    /// Looks whether the host has another configuration.
    fn look(&mut self) {
        if let Some(config) = self.seen.newer() {
            self.routes = Routes::new(&config);
            self.transport.configure(config);
        }
    }

    /// Does what is asked of the unit. Returns whether there was anything.
    fn calls(&mut self, now: Instant) -> bool {
        let mut any = false;
        // Those that come while these are done wait for the next round.
        for _ in 0..self.ctx.pipeline().calls.len() {
            let Some(call) = self.ctx.pipeline().calls.pop() else { break };
            any = true;
            match call {
                call if self.over => refuse(call),
                Call::Look => {
                    self.call(Call::Look, now);
                    // The link's thread does what is due, and that may be sooner than it knows.
                    self.ctx.pipeline().link.notify();
                }
                call => self.call(call, now),
            }
        }
        any
    }

    /// Sends marks after what has been sent. Returns whether there were any.
    fn marks(&mut self) -> bool {
        let before = self.down.len();
        while let Some(mark) = self.ctx.pipeline().marks.pop() {
            self.down.push_back(FromTransport::Mark(mark));
        }
        self.down.len() > before
    }

    fn call(&mut self, call: Call<A>, now: Instant) {
        if let Call::Reset = call {
            self.over = true;
            self.flushes.clear();
            self.held.clear();
        }
        let call = match call {
            Call::FlushUdp(socket) => return self.flushes.push_back(socket),
            call => call,
        };
        let TransportLayer { transport, conns, app, routes, counters, .. } = self;
        transport.call(call, &mut Cx { conns, app, counters, now }, routes);
        self.down.extend(self.transport.take_down().map(FromTransport::Packet));
    }

    /// Lets sockets send until so many packets are on their way.
    fn flush_all(&mut self, room: usize, now: Instant) {
        while self.down.len() < room
            && let Some(socket) = self.flushes.pop_front()
        {
            self.flush(socket, room, now);
        }
    }

    /// Sends what a socket has, until it goes by an interface that has no room, or IP has none.
    /// Its user may go on sending as fast as it is sent.
    fn flush(&mut self, socket: A::Udp, room: usize, now: Instant) {
        let TransportLayer { ctx, transport, conns, app, routes, counters, .. } = self;
        let full = ctx.pipeline().full.get().datagrams;
        let left = room.saturating_sub(self.down.len());
        let mut cx = Cx { conns, app, counters, now };
        let is_full = |interface: u16, more| full.has(interface.into()) || more >= left;
        match transport.flush(&socket, &mut cx, routes, is_full) {
            Some(interface) if full.has(interface.into()) => self.held.push((interface, socket)),
            Some(_) => self.flushes.push_back(socket),
            None => {}
        }
        self.down.extend(self.transport.take_down().map(FromTransport::Packet));
    }

    /// Sockets whose interface has room may send again.
    #[cold]
    fn release(&mut self) {
        let full = self.ctx.pipeline().full.get().datagrams;
        for (interface, socket) in std::mem::take(&mut self.held) {
            if full.has(interface.into()) {
                self.held.push((interface, socket));
            } else {
                self.flushes.push_back(socket);
            }
        }
    }

    /// The transport layer, and what goes with everything that it is given.
    fn cx(&mut self, now: Instant) -> (&mut Transport<A>, Connected<'_, A>) {
        let TransportLayer { transport, conns, app, counters, .. } = self;
        (transport, Cx { conns, app, counters, now })
    }

    /// ④ Takes what has come from IP.
    fn input(&mut self, now: Instant) {
        for message in std::mem::take(&mut self.from_ip) {
            let (transport, mut cx) = self.cx(now);
            match message {
                FromIp::Tcp(segment) => transport::tcp_input(segment, transport, &mut cx),
                FromIp::Udp(datagram) => {
                    let Cx { app, counters, .. } = cx;
                    if let Some(datagram) = transport::udp_input(datagram, transport, app, counters)
                    {
                        self.answer(FromTransport::Unclaimed(datagram));
                    }
                }
                FromIp::Error(error) => transport.error(&error, &mut cx),
                FromIp::Raw(datagram) => transport::raw_input(datagram, cx.app, cx.counters),
                FromIp::Report(mut report) => {
                    transport.end_batch(&mut cx);
                    report.sum.add(cx.counters);
                    // The one that asked may have gone.
                    let _ = report.to.send(report.sum);
                }
            }
        }
        let (transport, mut cx) = self.cx(now);
        transport.end_batch(&mut cx);
        let answers: Vec<Packet> = self.transport.take_down().collect();
        for answer in answers {
            self.answer(FromTransport::Packet(answer));
        }
    }

    /// Sends an answer of the layer's own, or drops it where there is no room: no way up
    /// waits for a way down.
    fn answer(&mut self, answer: FromTransport) {
        if self.down.len() < ANSWERS {
            self.down.push_back(answer);
        } else {
            self.counters.out_dropped += 1;
        }
    }

    /// ⑤ ⑥ Lets connections and sockets send, as far as IP has room. Returns whether
    /// there is more to send.
    fn turns(&mut self, now: Instant, timer: &mut ThreadTimer) -> bool {
        self.offer(TraceStamp::NONE);
        let room = match self.down.is_empty() {
            true => self.ctx.pipeline().down_to_ip.credit(),
            false => 0,
        };
        if !self.held.is_empty() {
            self.release();
        }
        // Sockets and connections have a half each, at least.
        self.flush_all(room.div_ceil(2), now);
        let left = room.saturating_sub(self.down.len());
        let mut more = observed!(timer, observer => self.serve(now, left, observer));
        self.flush_all(room, now);
        let mut cut = true;
        while cut && self.down.len() < room {
            match self.app.next_call() {
                Some(Call::FlushUdp(socket)) => {
                    self.flush(socket, room, now);
                    more = true;
                }
                Some(call) => {
                    self.call(call, now);
                    more = true;
                }
                // The end of the round in which there was no room for more calls.
                None if self.cut => self.cut = false,
                None => cut = false,
            }
        }
        self.cut = cut;
        timer.mark(Layer::Transport);
        timer.handed(self.down.len() as u64);
        self.offer(timer.stamp());
        timer.mark(Layer::Handoff);
        self.waits = room == 0;
        self.blocked = Blocked::default();
        self.transport.note_blocked(&mut self.blocked.connections);
        let datagrams = &mut self.blocked.datagrams;
        self.held.iter().for_each(|(interface, _)| datagrams.insert((*interface).into()));
        more || self.cut || !self.flushes.is_empty()
    }

    fn serve(&mut self, now: Instant, room: usize, observer: &mut impl Observer) -> bool {
        let TransportLayer { ctx, transport, conns, app, counters, down: packets, .. } = self;
        let mut cx = Cx { conns, app, counters, now };
        let full = ctx.pipeline().full.get().connections;
        let more = transport.serve(&mut cx, room, &mut Down { packets, full, observer });
        // Answers to SYNs that have waited for the round.
        packets.extend(transport.take_down().map(FromTransport::Packet));
        more
    }

    fn offer(&mut self, stamp: TraceStamp) {
        let dropped = self.ctx.pipeline().down_to_ip.offer(&mut self.down, stamp);
        self.counters.out_dropped += dropped as u64;
    }

    /// Hands what the application has gathered to the presentation, and sleeps
    /// until that has room.
    fn hand_up(&mut self, timer: &mut ThreadTimer) {
        if self.app.has_wakes() {
            let mut wakes = A::Wakes::default();
            self.app.take_wakes(&mut wakes);
            let mut batch = VecDeque::from([wakes]);
            if self.ctx.pipeline().to_presentation.put_all(&mut batch, timer.stamp()) {
                timer.slept();
            }
            timer.mark(Layer::Handoff);
        }
    }

    /// `end` is when it gives up what is left to send, if it is to stop.
    fn sleep(&self, end: Option<Instant>) {
        let pipeline = self.ctx.pipeline();
        let timeout = self.transport.next_timeout(&self.conns);
        let waits = self.waits || !self.down.is_empty();
        let ready = || {
            let comes = !pipeline.up_to_transport.is_empty()
                || !pipeline.calls.is_empty()
                || !pipeline.marks.is_empty()
                || (end.is_none() && pipeline.stop.load(Ordering::Acquire));
            if let Some(at) = timeout {
                pipeline.deadline.set(at, &pipeline.link);
            }
            let goes = (waits && pipeline.down_to_ip.credit() > 0)
                || !self.blocked.except(pipeline.full.get()).none();
            (comes || goes, end)
        };
        pipeline.transport.sleep(ready, |at| at.since(self.ctx.clock.now()));
    }

    /// Connections that could not send FIN or RST in time are dropped.
    fn end(mut self, now: Instant, timer: &mut ThreadTimer) -> Counters {
        for message in self.ctx.pipeline().up_to_transport.close() {
            ip::lost(&message, &mut self.counters);
        }
        // One turn is enough for a connection that was aborted; the bound is for
        // applications that go on asking.
        for _ in 0..8 {
            if !self.serve(now, usize::MAX, &mut ()) {
                break;
            }
        }
        self.offer(TraceStamp::NONE);
        let is_mark = |message: &_| matches!(message, FromTransport::Mark(_));
        self.counters.out_dropped += packets(&self.down, is_mark);
        while self.ctx.pipeline().marks.pop().is_some() {}
        self.hand_up(timer);
        self.counters
    }
}

/// Lets the neighbours go on when the thread ends, however it does.
struct End<A: Application>(PipelineCtx<A>);

impl<A: Application> std::ops::Drop for End<A> {
    fn drop(&mut self) {
        let pipeline = self.0.pipeline();
        pipeline.up_to_transport.close();
        pipeline.down_to_ip.finish();
        pipeline.to_presentation.finish();
    }
}
