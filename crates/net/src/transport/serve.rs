//! Connections in turn: the application is told what has happened, then the connection
//! sends, up to a quota, so that none starves.

use super::tcp_output::{self, SegmentTemplate};
use super::{Cx, Transport, fast_open};
use crate::application::Application;
use crate::config::InterfaceConfig;
use crate::connections::{ConnId, Connection, Connections};
use crate::down::Below;
use crate::observe::Layer;
use crate::way::Way;
use crate::{Counters, Departures, Interfaces};
use tcp::{State, Tcb, TransmitOffload};
use wire::{FlowKey, Instant};

/// Bytes of the largest headers of IP and TCP that stand in front of what a device segments.
const HEADERS: usize = wire::ipv6::LEN + 60;

/// So many wait for their turns where those in front have waited for more than a few batches, and
/// may have left the processor's cache since something happened to them.
const FAR: usize = 256;

/// What is left to do for a connection after its turn.
enum After {
    Nothing,
    Close,
    Leave,
}

impl<A: Application> Transport<A> {
    /// Lets the connections that stand on the ready list have their turn, or
    /// fewer once `room` packets are on their way down. They go `down`. Unless `room` is
    /// endless, what goes by one interface of several is no more than that has room for.
    /// Returns whether connections remain that have something to do, and may do it.
    pub fn serve<C: Connections<A::Connection>>(
        &mut self,
        cx: &mut Cx<'_, A, C>,
        room: usize,
        down: &mut impl Below,
    ) -> bool {
        self.share.ask();
        let conns = &mut *cx.conns;
        let here = |id: &_| conns.with_id(*id, |_| ()).is_some();
        for id in self.share.relieved(here) {
            cx.conns.with_id(id, |connection| self.ready.schedule_later(connection));
        }
        if C::SHARED && self.held_back.any() {
            self.held_back.release(cx.conns, |connection| self.ready.schedule(connection));
        }
        if self.blocked.any() {
            self.unblock(cx.conns, room, down);
        }
        let mut left = room;
        // A turn that is cut short would leave data written but not sent, to be
        // fetched into the cache again.
        let least = self.config.burst.min(room).max(1);
        let mut turns = self.ready.round();
        let far = self.ready.len() >= FAR;
        while left >= least
            && let Some(&id) = self.ready.pop(&mut turns)
        {
            if far {
                self.look_along(cx.conns);
            }
            left -= self.turn(id, cx, left, down).min(left);
        }
        self.ready.end_round();
        self.share.all_had_a_turn();
        self.take_early_syns(cx)
            || !self.ready.is_empty()
            || (C::SHARED && self.held_back.any())
            || self.may_go_on(|at| down.room_by(at))
    }

    /// Asks the memory for connections that have a turn soon.
    #[inline(never)]
    fn look_along<C: Connections<A::Connection>>(&self, conns: &C) {
        conns.look_along(|others| self.ready.ahead(others));
    }

    /// The connections are shared with other contexts, and these are what they send.
    pub(crate) fn share_departures(&mut self, departures: Departures) {
        self.held_back.share(departures);
    }

    /// Of the contexts that share connections.
    #[inline]
    pub(crate) fn departures(&self) -> Option<&Departures> {
        self.held_back.departures()
    }

    /// What is to be reported by [`Departures::handed_on`] once the device has the frames that were made
    /// since the last time; `None` if there are none.
    #[inline]
    pub(crate) fn take_report(&mut self) -> Option<u64> {
        self.held_back.take_report()
    }

    /// Is there nothing to do but to wait until other contexts' frames have left?
    #[inline]
    pub(crate) fn is_held_back(&self) -> bool {
        self.held_back.any() && self.ready.is_empty()
    }

    /// Do connections wait until an interface has room?
    #[inline]
    pub(crate) fn is_blocked(&self) -> bool {
        self.blocked.any()
    }

    /// The interfaces that they wait for.
    pub fn note_blocked(&self, interfaces: &mut Interfaces) {
        self.blocked.note(interfaces);
    }

    /// Has one of these room?
    #[inline]
    pub(crate) fn may_go_on(&self, room_by: impl Fn(usize) -> usize) -> bool {
        self.blocked.may_go(room_by)
    }

    /// Connections whose interface has room stand on the ready list again.
    #[cold]
    fn unblock<C: Connections<A::Connection>>(
        &mut self,
        conns: &mut C,
        room: usize,
        down: &impl Below,
    ) {
        let room_by = |at| if room == usize::MAX { room } else { down.room_by(at) };
        for id in self.blocked.take(room_by) {
            conns.with_id(id, |connection| {
                connection.waits_for_room = false;
                self.ready.schedule_later(connection);
            });
        }
    }

    #[inline]
    fn turn<C: Connections<A::Connection>>(
        &mut self,
        id: ConnId,
        cx: &mut Cx<'_, A, C>,
        room: usize,
        down: &mut impl Below,
    ) -> usize {
        let mut sent = 0;
        let transport = &mut *self;
        let Cx { conns, app, counters, now } = cx;
        let now = *now;
        let after = conns.with_id(id, |connection| {
            connection.scheduled = false;
            if transport.residence.is_transient() && connection.tcb.is_synchronized() {
                return After::Leave;
            }
            transport.share.press(connection);
            let events = connection.tcb.take_events();
            down.mark(Layer::Transport);
            let more = app.ready(&mut connection.user, &mut connection.tcb, events, now);
            down.mark(Layer::Application);
            // Where there is one interface, which is common, `room` is what that has.
            let (interface, quota) = match &transport.config.interfaces[..] {
                [_] => (0, transport.config.burst.min(room)),
                _ => transport.quota_by(connection, room, down),
            };
            let held = C::SHARED && quota > 0 && transport.held_back.holds(connection);
            if !held {
                sent = transport.transmit(connection, interface, now, quota, counters, down);
            }
            if C::SHARED && sent > 0 {
                transport.held_back.sent();
            }
            if transport.share.count(connection) {
                counters.orphans_reset += 1;
                connection.tcb.abort();
            }
            let unfinished = !held && sent == quota && connection.tcb.wants_transmit();
            if more || unfinished || connection.tcb.has_events() {
                if quota > 0 {
                    transport.ready.schedule_later(connection);
                } else {
                    transport.wait_for_room(connection, interface, more);
                }
            }
            let after = after(connection);
            if let After::Nothing = after {
                transport.arm(connection, now);
            }
            after
        });
        match after {
            Some(After::Close) => self.close(id, cx),
            Some(After::Leave) => self.residence.leave(id),
            Some(After::Nothing) | None => {}
        }
        sent
    }

    /// Has the connection looked at when its deadline comes, and, if what it has promised counts, when it
    /// may be silent.
    #[inline(always)]
    fn arm(&mut self, connection: &mut Connection<A::Connection>, now: Instant) {
        self.timers.arm(connection, now);
        if self.share.is_hard() && self.share.count_promise(connection) {
            self.timers.look_later(connection, now);
        }
    }

    /// By which of several interfaces a connection sends, and how many packets it may.
    #[inline(never)]
    fn quota_by(
        &self,
        connection: &Connection<A::Connection>,
        room: usize,
        down: &impl Below,
    ) -> (usize, usize) {
        let interface = self.interface_of(connection);
        let room_by = if room == usize::MAX { room } else { down.room_by(interface) };
        (interface, self.config.burst.min(room).min(room_by))
    }

    /// What a connection wants to send has no room at its interface. What it received was handed
    /// on, and if there is `more` to do of that kind, it does it next time.
    #[cold]
    fn wait_for_room(
        &mut self,
        connection: &mut Connection<A::Connection>,
        interface: usize,
        more: bool,
    ) {
        if connection.tcb.wants_transmit() {
            self.blocked.park(interface, connection);
        }
        if more || connection.tcb.has_events() {
            self.ready.schedule_later(connection);
        }
    }

    /// Sends what a connection has to send by its interface, `quota` packets at most.
    #[inline]
    pub(crate) fn transmit(
        &mut self,
        connection: &mut Connection<A::Connection>,
        interface: usize,
        now: Instant,
        quota: usize,
        counters: &mut Counters,
        down: &mut impl Below,
    ) -> usize {
        let interface = &self.config.interfaces[interface];
        let cut = A::may_be_cut(&connection.user) && connection.flow.local.address.v4().is_some();
        let offload = TransmitOffload {
            // What routers may cut has a name of its own each (RFC 6864 4.3), which the segments
            // that a device makes of one have not.
            segmentation: match cut {
                false => interface.segmentation.saturating_sub(HEADERS),
                true => 0,
            },
            want_sum: !interface.transmit_checksum,
        };
        let (ttl, tos) = (A::ttl(&connection.user), A::tos(&connection.user));
        let Connection { flow, tcb, way: taken, .. } = connection;
        let mut sent = 0;
        while sent < quota && tcb.wants_transmit() {
            let plain = match cut {
                false => {
                    down.plain((flow, &mut *taken), (ttl, tos), (&mut *tcb, offload), counters)
                }
                true => None,
            };
            let (repeat, by) = match plain {
                Some(plain) => (SegmentTemplate::of(&plain.pattern, interface), Some(plain.by)),
                None if !cut
                    && (tcb.may_poll_bare() || tcb.may_poll_syn())
                    && bare_way((flow, &mut *taken), (ttl, tos), tcb, counters, down) =>
                {
                    (None, None)
                }
                None => {
                    let way = (interface, (ttl, tos, cut), offload);
                    let Some(long) = long_way(flow, tcb, way, now, counters, down) else { break };
                    long
                }
            };
            sent += 1;
            if let (Some(repeat), Some((by, base))) = (repeat, by) {
                sent += tcb.transmit_alike(now, quota - sent, |next| {
                    down.repeat(by, |last| repeat.frame(last, base, next), counters);
                });
            }
        }
        sent
    }

    /// By which interface a connection sends: they differ in what their devices do. Where there
    /// is one, which is common, nothing is looked up.
    #[inline]
    pub(crate) fn interface_of(&self, connection: &Connection<A::Connection>) -> usize {
        if self.config.interfaces.len() == 1 {
            return 0;
        }
        let (local, remote) = (connection.flow.local.address, connection.flow.remote.address);
        if let Some(loopback) = self.config.loopback
            && self.config.is_ours(remote)
        {
            return loopback.into();
        }
        self.config
            .interfaces
            .iter()
            .position(|i| i.addresses.iter().any(|(a, _)| *a == local))
            .or_else(|| self.config.owner(local).map(usize::from))
            .unwrap_or(0)
    }

    /// Takes out a connection that has ended, or is in TIME-WAIT.
    pub(super) fn close<C: Connections<A::Connection>>(
        &mut self,
        id: ConnId,
        cx: &mut Cx<'_, A, C>,
    ) {
        let Some(mut connection) = cx.conns.close(id, cx.now) else { return };
        self.share.forget(&mut connection);
        // The control block stays where it is: it is large.
        let Connection { ref mut tcb, user, .. } = *connection;
        cx.counters.closed += 1;
        cx.app.closed(user, tcb);
        self.timers.clear_away(cx.conns);
    }

    /// Lets time pass: connections whose deadline has come get their time-out,
    /// and stand on the ready list.
    pub fn on_timeout<C: Connections<A::Connection>>(&mut self, cx: &mut Cx<'_, A, C>) {
        let (conns, app, now) = (&mut *cx.conns, &mut *cx.app, cx.now);
        conns.expire_time_wait(now);
        let (ready, share) = (&mut self.ready, &mut self.share);
        let fast_open = &self.config.fast_open;
        self.timers.expire(conns, now, |connection| {
            if connection.tcb.next_timeout().is_some_and(|at| at <= now) {
                connection.tcb.on_timeout(now);
                if connection.tcb.has_lost_fast_open() {
                    fast_open.lost(&connection.flow, now);
                }
                ready.schedule(connection);
            }
            if !connection.tcb.is_silent() {
                return false;
            }
            // In its turn, which is near, it would take the memory anew, unless it ends then.
            if connection.scheduled {
                return connection.tcb.state() != State::Closed;
            }
            connection.tcb.rest(now);
            app.rests(&mut connection.user);
            share.rests(connection);
            false
        });
    }
}

/// What the frame of a segment may be the template of, and the interface that it left by with
/// the sum that its template needs.
type Repeatable = (Option<SegmentTemplate>, Option<(u16, u64)>);

/// Sends the next segment of `tcb`, if it is one without data that is as nearly all are. Returns
/// whether it was.
#[inline(never)]
fn bare_way(
    flow: (&FlowKey, &mut Way),
    service: (u8, u8),
    tcb: &mut Tcb,
    counters: &mut Counters,
    down: &mut impl Below,
) -> bool {
    down.bare(flow, service, tcb, counters)
}

/// Sends the next segment of `tcb`, whatever it is, by an interface like this, with such a time
/// to live and type of service, which routers may cut or not; `None` if there is none.
#[inline(never)]
fn long_way(
    flow: &FlowKey,
    tcb: &mut Tcb,
    (interface, (ttl, tos, cut), offload): (&InterfaceConfig, (u8, u8, bool), TransmitOffload),
    now: Instant,
    counters: &mut Counters,
    down: &mut impl Below,
) -> Option<Repeatable> {
    let mut place = None;
    tcb.poll_transmit_to(&mut place, now, offload);
    let segment = place.as_mut()?;
    if segment.header.flags.syn()
        && let Some(option) = tcb.syn_option()
    {
        let mut packet = fast_open::packet(flow, segment, option, interface);
        let meta = packet.meta_mut();
        (meta.ttl, meta.tos, meta.may_be_cut) = (ttl, tos, cut);
        down.send(packet, counters);
        return Some((None, None));
    }
    let repeat = SegmentTemplate::new(segment, tcb.mss(), interface).filter(|_| !cut);
    let service = (ttl, if segment.ect { tos | wire::ipv4::ECT_0 } else { tos });
    if !cut && let Some(known) = down.express(flow, service, segment, counters) {
        return Some((repeat, Some(known)));
    }
    let (mut packet, base) = tcp_output::packet(flow, segment, interface);
    let meta = packet.meta_mut();
    (meta.ttl, meta.tos, meta.may_be_cut) = (ttl, meta.tos | tos, cut);
    let by = down.send(packet, counters).map(|by| (by, base.into()));
    Some((repeat, by))
}

#[inline]
fn after<U>(connection: &Connection<U>) -> After {
    let tcb = &connection.tcb;
    let over = match tcb.state() {
        State::Closed => true,
        // Once the application has had all data, only the memory of the flow
        // is needed.
        State::TimeWait => tcb.received() == 0,
        _ => false,
    };
    if over && !tcb.wants_transmit() && !tcb.has_events() { After::Close } else { After::Nothing }
}
