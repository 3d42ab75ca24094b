//! [`Domain`]: everything that one exclusive reference must reach for a packet
//! to go its whole way. Organizations replicate it by unit of concurrency
//! (Yates 3.1), lock it, or move it into a thread; it does not know which.

mod ahead;
mod flushes;
mod host_shared;
mod migrate;
mod past_layers;

use flushes::Flushes;
pub use host_shared::HostShared;

use crate::application::{Application, Call};
use crate::config::{Config, Unit};
use crate::connections::{Connections, OwnedTable};
use crate::counters::Counters;
use crate::down::{Below, Down};
use crate::express::Plain;
use crate::ip::icmp::{self, Kind};
use crate::ip::{self, Ip, SharedReassembly, Up};
use crate::link::{self, Link};
use crate::observe::{Layer, Observer};
use crate::published::Seen;
use crate::transport::{self, Cx, Transport};
use crate::{Departures, DropReason, Egress};
use std::sync::Arc;
use wire::filter;
use wire::icmpv4::Unreachable;
use wire::steering::Steered;
use wire::{Endpoint, FlowKey, Instant, Packet};

/// A domain: the state of all layers, and the application on top.
///
/// A round of its owner is: [`Domain::call`] for each call, [`Domain::input`]
/// for each packet, [`Domain::on_timeout`] if [`Domain::next_timeout`] has
/// come, then [`Domain::serve`], which lets connections send and the application act.
/// Each may add to the egress, which the owner then hands to the device.
pub struct Domain<A: Application, C = OwnedTable<<A as Application>::Connection>> {
    /// Which of the host's units this is.
    pub unit: Unit,
    /// The application.
    pub app: A,
    /// What it has counted.
    pub counters: Counters,
    pub(crate) link: Link,
    pub(crate) ip: Ip,
    transport: Transport<A>,
    pub(crate) conns: C,
    replies: Vec<Packet>,
    failed: Vec<Packet>,
    misrouted: Vec<Packet>,
    /// Flows that are asked for: empty but in [`Domain::look_ahead`].
    expected: Vec<wire::FlowKey>,
    /// What sockets want to send that the device has no room for.
    flushes: Flushes<A>,
    /// What was read of the last frame that may go the express way. It stays here, since most of
    /// it is the same for all.
    plain: Plain,
    seen: Seen<Config>,
    /// [`Call::Reset`] has been done. It stands here, and not with those who make calls:
    /// only the holder of the domain knows which call came before and which after.
    over: bool,
}

opaque_debug!([A: Application, C] Domain<A, C>, "Domain");

impl<A: Application> Domain<A> {
    /// A domain with a table of its own.
    pub fn new(config: Arc<Config>, unit: Unit, app: A) -> Domain<A> {
        let conns = OwnedTable::new(unit.index, &config);
        Domain::with_connections(config, unit, app, conns)
    }
}

impl<A: Application, C: Connections<A::Connection>> Domain<A, C> {
    /// A domain whose connections are reached by `conns`.
    pub fn with_connections(config: Arc<Config>, unit: Unit, app: A, conns: C) -> Domain<A, C> {
        if unit.answers_for_host() {
            config.join_solicited();
        }
        Domain {
            unit,
            app,
            counters: Counters::default(),
            seen: Seen::new(&config.host),
            link: Link::new(config.clone(), unit),
            ip: Ip::new(config.clone(), unit),
            transport: Transport::new(config, unit),
            conns,
            replies: Vec::new(),
            failed: Vec::new(),
            misrouted: Vec::new(),
            expected: Vec::new(),
            flushes: Flushes::default(),
            plain: Plain::EMPTY,
            over: false,
        }
    }

    /// Puts datagrams together from fragments with all units that share
    /// `reassembly`.
    #[must_use]
    pub fn reassembling(mut self, reassembly: SharedReassembly) -> Self {
        self.ip.reassembly = reassembly.into();
        self
    }

    /// Its connections are shared with other contexts, whose frames may be under way.
    #[must_use]
    pub fn departing(mut self, departures: Departures) -> Self {
        self.transport.share_departures(departures);
        self
    }

    /// What contexts have made and handed on that share their connections.
    #[inline]
    pub fn departures(&self) -> Option<&Departures> {
        self.transport.departures()
    }

    /// What is to be reported by [`Departures::handed_on`] once the device has the frames that were
    /// made since the last time; `None` if there are none.
    #[inline]
    pub fn take_report(&mut self) -> Option<u64> {
        self.transport.take_report()
    }

    /// Is there nothing to do but to wait until frames of other contexts have left?
    #[inline]
    pub fn is_held_back(&self) -> bool {
        self.transport.is_held_back()
    }

    /// What the host is configured for.
    #[cfg(test)]
    pub(crate) fn config(&self) -> &Config {
        &self.transport.config
    }

    /// The connections.
    pub fn connections(&self) -> &C {
        &self.conns
    }
    /// The connections, for an organization that prepares the way to one.
    pub fn connections_mut(&mut self) -> &mut C {
        &mut self.conns
    }
    /// Hands coalesced segments that still wait to their connection.
    #[inline]
    pub fn end_batch(&mut self, now: Instant) {
        let (transport, mut cx) = self.cx(now);
        transport.end_batch(&mut cx);
    }
    /// The transport layer, and what goes with everything that it is given.
    #[inline]
    pub(crate) fn cx(&mut self, now: Instant) -> (&mut Transport<A>, Cx<'_, A, C>) {
        let Domain { transport, conns, app, counters, .. } = self;
        (transport, Cx { conns, app, counters, now })
    }
    /// Has [`Call::Reset`] been done? Calls that come after it do nothing.
    pub fn is_over(&self) -> bool {
        self.over
    }
    /// Bytes of memory that fragments hold.
    #[cfg(test)]
    pub(crate) fn ip_bytes(&mut self) -> usize {
        self.ip.reassembly.bytes()
    }
    /// Places in the queue by age of datagrams that wait for fragments.
    #[cfg(test)]
    pub(crate) fn reassembly_names(&mut self) -> usize {
        self.ip.reassembly.names()
    }
    /// Neighbours whose address is known.
    #[cfg(test)]
    pub(crate) fn neighbours(&mut self) -> usize {
        self.link.known()
    }
    /// The link layer.
    #[cfg(test)]
    pub(crate) fn link(&mut self) -> &mut Link {
        &mut self.link
    }
    /// Names of connections that were told to hold less.
    #[cfg(test)]
    pub(crate) fn pressed(&self) -> usize {
        self.transport.share.pressed()
    }
    /// Entries of the timer wheel.
    #[cfg(test)]
    pub(crate) fn timer_entries(&self) -> usize {
        self.transport.timers.len()
    }
    /// Connections in TIME-WAIT.
    pub fn time_wait_len(&self) -> usize {
        self.conns.time_wait_len()
    }

    /// ② ③ ④ Takes a frame that arrived by the interface in its `meta`.
    #[inline]
    pub fn input(&mut self, frame: Packet, now: Instant, egress: &mut Egress) {
        self.input_observed(frame, now, egress, &mut ());
    }

    /// As [`Domain::input`], with an observer that is told how far the frame has come.
    /// It names every step, and is compiled into each loop over packets.
    #[inline(always)]
    pub fn input_observed(
        &mut self,
        frame: Packet,
        now: Instant,
        egress: &mut Egress,
        observer: &mut impl Observer,
    ) {
        self.conns.go_on();
        let Some(frame) = self.express(frame, now) else {
            self.send_replies(now, egress);
            return observer.mark(Layer::Transport);
        };
        let frame = match self.look() {
            true => frame,
            false => match self.past_ip(frame, now) {
                Some(frame) => frame,
                None => {
                    self.send_replies(now, egress);
                    return observer.mark(Layer::Transport);
                }
            },
        };
        let Domain { link, ip, counters, replies, .. } = self;
        let datagram = link::input(frame, link, now, counters, egress);
        observer.mark(Layer::Link);
        let Some(datagram) = datagram else { return };
        let up = ip::input(datagram, ip, now, counters, replies);
        observer.mark(Layer::Ip);
        let Some(up) = up else { return self.send_replies(now, egress) };
        match up {
            Up::Tcp(segment) => self.segment(segment, now),
            Up::Udp(datagram) => self.datagram(datagram, now),
            Up::Error(error) => self.error(&error, now),
            Up::Raw(datagram) => transport::raw_input(datagram, &mut self.app, &mut self.counters),
        }
        self.send_replies(now, egress);
        observer.mark(Layer::Transport);
    }

    /// Looks whether the host has another configuration. Plain segments do not wait for it:
    /// it is looked for when what came with them is served.
    /// Returns whether it has.
    #[inline]
    fn look(&mut self) -> bool {
        let newer = self.seen.newer();
        let is_newer = newer.is_some();
        if let Some(config) = newer {
            self.configure(config);
        }
        is_newer
    }

    #[cold]
    fn configure(&mut self, config: Arc<Config>) {
        self.plain.forget();
        if self.unit.answers_for_host() {
            config.join_solicited();
        }
        self.link.configure(config.clone());
        self.ip.configure(config.clone());
        self.transport.configure(config);
    }

    /// ④ Takes a packet that another unit has put together from fragments and
    /// found to be this one's ([`Domain::take_misrouted`]).
    pub fn input_misrouted(&mut self, mut packet: Packet, now: Instant, egress: &mut Egress) {
        packet.meta_mut().reassembled = false;
        match packet.meta().protocol {
            wire::protocol::TCP => self.segment(packet, now),
            _ => self.datagram(packet, now),
        }
        self.send_replies(now, egress);
    }

    /// Packets that turned out to be another unit's, with that unit's index.
    pub fn take_misrouted(&mut self) -> impl Iterator<Item = (u16, Packet)> {
        let (steering, count) = (self.ip.config.steering, self.unit.count);
        self.misrouted.drain(..).map(move |packet| {
            let hash = flow_of(&packet).map_or(0, |flow| steering.flow(&flow));
            ((hash % u32::from(count)) as u16, packet)
        })
    }

    /// Is the packet another unit's, as far as that is known here? Only one that was put
    /// together from fragments can be. Where connections migrate, each such packet is,
    /// since the organization knows where its flow is.
    #[inline]
    pub fn is_foreign(&self, packet: &Packet) -> bool {
        packet.meta().reassembled
            && (self.transport.residence.is_transient()
                || flow_of(packet)
                    .is_some_and(|flow| !self.unit.has(self.ip.config.steering.flow(&flow))))
    }

    #[inline]
    fn segment(&mut self, segment: Packet, now: Instant) {
        if self.is_foreign(&segment) {
            return self.misrouted.push(segment);
        }
        let (transport, mut cx) = self.cx(now);
        transport::tcp_input(segment, transport, &mut cx);
    }

    fn datagram(&mut self, datagram: Packet, now: Instant) {
        if self.is_foreign(&datagram) {
            return self.misrouted.push(datagram);
        }
        let Domain { transport, app, ip, counters, replies, .. } = self;
        if let Some(unclaimed) = transport::udp_input(datagram, transport, app, counters) {
            let why = Unreachable::Port;
            replies.extend(icmp::unreachable(unclaimed, why, ip, now, counters));
        }
    }

    fn error(&mut self, error: &icmp::Error, now: Instant) {
        let (transport, mut cx) = self.cx(now);
        transport.error(error, &mut cx);
    }

    /// Sends the answers that the layers have made.
    #[inline]
    fn send_replies(&mut self, now: Instant, egress: &mut Egress) {
        if !(self.replies.is_empty() && self.transport.down.is_empty()) {
            self.send_all_replies(now, egress);
        }
    }

    #[inline(never)]
    fn send_all_replies(&mut self, now: Instant, egress: &mut Egress) {
        let Domain { ip, link, transport, counters, replies, .. } = self;
        let mut down = Down { ip, link, egress, now, observer: () };
        for packet in replies.drain(..).chain(transport.down.drain(..)) {
            down.send(packet, counters);
        }
    }

    /// Does what a call asks for; what follows from it comes with
    /// [`Domain::serve`].
    pub fn call(&mut self, call: Call<A>, now: Instant, egress: &mut Egress) {
        self.over |= matches!(call, Call::Reset);
        self.look();
        let call = match call {
            Call::FlushUdp(socket) => return self.flush_socket(socket, now, egress),
            call => call,
        };
        let Domain { transport, conns, app, ip, counters, .. } = self;
        transport.call(call, &mut Cx { conns, app, counters, now }, &mut ip.routes);
        self.send_replies(now, egress);
    }

    /// Lets the connections that stand on the ready list send, each up to its
    /// quota, until `room` packets are on their way. Unless it is endless, what goes by one of
    /// several interfaces is no more than `egress` has room for there. Returns whether there is
    /// more to do at once.
    #[inline]
    pub fn serve(&mut self, now: Instant, egress: &mut Egress, room: usize) -> bool {
        self.serve_observed(now, egress, room, &mut ())
    }

    /// As [`Domain::serve`], with an observer.
    #[inline]
    pub fn serve_observed(
        &mut self,
        now: Instant,
        egress: &mut Egress,
        room: usize,
        observer: &mut impl Observer,
    ) -> bool {
        // RFC 9293 MUST-59
        self.look();
        self.flush(now, egress);
        let Domain { transport, conns, app, ip, link, counters, .. } = self;
        let mut cx = Cx { conns, app, counters, now };
        transport.end_batch(&mut cx);
        let mut down = Down { ip, link, egress, now, observer: &mut *observer };
        let more = transport.serve(&mut cx, room, &mut down);
        // Answers to SYNs that have waited for the round.
        self.send_replies(now, egress);
        let more = more || self.flushes.may_go(egress);
        let mut called = false;
        while let Some(call) = self.app.next_call() {
            called = true;
            if self.transport.residence.does(&call, self.unit) {
                self.call(call, now, egress);
            } else {
                self.transport.residence.keep_call(call);
            }
        }
        observer.mark(Layer::Transport);
        more || called
    }

    /// The earliest time at which [`Domain::on_timeout`] has something to do.
    #[inline]
    pub fn next_timeout(&self) -> Option<Instant> {
        let below = Instant::earlier(self.link.next_timeout(), self.ip.next_timeout());
        let above = self.app.next_timeout();
        let here = self.transport.next_timeout(&self.conns);
        Instant::earlier(Instant::earlier(here, above), below)
    }

    /// Lets time pass.
    pub fn on_timeout(&mut self, now: Instant, egress: &mut Egress) {
        let Domain { transport, conns, app, ip, link, counters, failed, replies, .. } = self;
        let mut cx = Cx { conns, app, counters, now };
        transport.end_batch(&mut cx);
        transport.on_timeout(&mut cx);
        // The host joins the group of an address before it asks whether another has that.
        link.on_timeout(now, counters, egress, failed);
        ip.on_timeout(now, counters, replies);
        for packet in std::mem::take(&mut self.failed) {
            let kind = Kind::Unreachable(Unreachable::Host);
            if let Some(error) = icmp::about(&packet, kind) {
                self.error(&error, now);
            }
        }
        self.send_replies(now, egress);
    }

    /// Counts a packet that its owner could not hand on to the unit it belongs
    /// to. `counted`: it has come in by [`Domain::input`] before.
    pub fn drop_foreign(&mut self, counted: bool) {
        self.counters.packets_in += u64::from(!counted);
        self.counters.drop(DropReason::MailboxFull);
    }
}

/// The flow of a packet whose IP header has been taken off.
pub fn flow_of(packet: &Packet) -> Option<FlowKey> {
    let meta = packet.meta();
    let ports = packet.front().first_chunk::<4>()?;
    let port = |at: usize| u16::from_be_bytes([ports[at], ports[at + 1]]);
    Some(FlowKey {
        local: Endpoint { address: meta.destination, port: port(2) },
        remote: Endpoint { address: meta.source, port: port(0) },
    })
}

/// The unit, of `count`, that a packet with its transport header in front belongs to. A
/// datagram that was put together may belong to another unit than its fragments.
#[inline]
pub fn unit_above_ip(config: &Config, packet: &Packet, count: u16) -> u16 {
    if count == 1 {
        return 0;
    }
    let hash = flow_of(packet).map_or(0, |flow| config.steering.flow(&flow));
    (hash % u32::from(count)) as u16
}

/// The unit that a frame belongs to, of `count`; `None` if it is for all.
#[inline]
pub fn unit_of(config: &Config, frame: &Packet, count: u16) -> Option<u16> {
    if count == 1 {
        return Some(0);
    }
    let interface = &config.interfaces[frame.meta().interface as usize];
    let steer = |front: &[u8]| match interface.is_ethernet {
        true => config.steering.frame(front),
        false => config.steering.datagram(front),
    };
    let mut steered = steer(frame.front());
    if steered == Steered::Any && frame.front().len() < frame.len().min(filter::FRONT) {
        // What an ICMP error quotes need not lie in one piece with its header.
        let mut front = [0; filter::FRONT];
        let len = frame.copy_front(&mut front);
        steered = steer(&front[..len]);
    }
    match steered {
        Steered::Flow(hash) => Some((hash % u32::from(count)) as u16),
        Steered::Any => Some(0),
        Steered::Broadcast => None,
    }
}
