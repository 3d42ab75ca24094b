//! Calls from above.

use super::{Cx, Transport};
use crate::application::{Application, Call, ConnectError};
use crate::connections::{ConnId, Connection, Connections, OpenError};
use crate::ip::{Route, Routes};
use tcp::Tcb;
use wire::tcp::mss_for;
use wire::{Address, Endpoint, FlowKey, Seq};

/// How many ports are tried: an accepted connection may have the flow of one.
const TRIES: u32 = 32;

/// How far the numbers of a flow that is opened again stand from the old ones: a window
/// without scaling, as Linux has it.
const WINDOW: u32 = 65_537;

impl<A: Application> Transport<A> {
    /// Does what a call asks for.
    pub fn call<C: Connections<A::Connection>>(
        &mut self,
        call: Call<A>,
        cx: &mut Cx<'_, A, C>,
        routes: &mut Routes,
    ) {
        match call {
            Call::Connect { remote, local, connection } => {
                if let Err((user, error)) = self.connect(remote, local, connection, cx, routes) {
                    cx.app.connect_failed(user, error);
                }
            }
            Call::Notify(id) => self.notify(id, cx.conns),
            // RFC 9293 MUST-41
            Call::Listen(local, listener) => {
                self.listeners.insert(local, listener);
            }
            Call::Unlisten(local) => {
                self.listeners.remove(&local);
            }
            Call::BindUdp(local, socket) => {
                self.udp.insert(local, socket);
            }
            Call::UnbindUdp(local) => {
                self.udp.remove(&local);
            }
            Call::FlushUdp(socket) => {
                self.flush(&socket, cx, routes, |_, _| false);
            }
            Call::Look => self.config.ask(cx.now, &mut self.down),
            Call::Reset => {
                self.listeners.drain().for_each(|listener| cx.app.listener_closed(listener));
                self.udp.drain().for_each(|socket| cx.app.udp_closed(socket));
                cx.app.raw_closed();
                self.abort_all(cx.conns);
            }
        }
    }

    /// Sends what a socket has, what the application has of other protocols, what it rejects, and what
    /// is due of groups and claims; until one of the first two goes by an interface that is full
    /// (`is_full`, with so many more). Returns that.
    pub fn flush<C: Connections<A::Connection>>(
        &mut self,
        socket: &A::Udp,
        cx: &mut Cx<'_, A, C>,
        routes: &mut Routes,
        is_full: impl Fn(u16, usize) -> bool,
    ) -> Option<u16> {
        let config = &self.config;
        config.groups.due(cx.now, |index| config.via(index), &mut self.down);
        config.claims.due(&mut self.down);
        self.flush_rejected(cx, routes);
        let Cx { app, counters, .. } = cx;
        let full = self.flush_udp(socket, app, routes, counters, &is_full);
        full.or_else(|| self.flush_raw(app, routes, counters, &is_full))
    }

    fn abort_all<C: Connections<A::Connection>>(&mut self, conns: &mut C) {
        for id in conns.ids() {
            let ready = &mut self.ready;
            conns.with_id(id, |connection| {
                connection.tcb.abort();
                ready.schedule_later(connection);
            });
        }
    }

    #[inline]
    fn notify<C: Connections<A::Connection>>(&mut self, id: ConnId, conns: &mut C) {
        let ready = &mut self.ready;
        conns.with_id(id, |connection| ready.schedule_later(connection));
    }

    /// Opens a connection, or gives back what the application keeps with it.
    fn connect<C: Connections<A::Connection>>(
        &mut self,
        remote: Endpoint,
        local: Option<Endpoint>,
        mut user: A::Connection,
        cx: &mut Cx<'_, A, C>,
        routes: &mut Routes,
    ) -> Result<(), (A::Connection, ConnectError)> {
        let address = local.map(|l| l.address).filter(|a| !a.is_unspecified());
        let Some(route) = self.route_to(address, remote, routes) else {
            return Err((user, ConnectError::NoRoute));
        };
        if self.share.is_full() {
            return Err((user, ConnectError::NoMemory));
        }
        if let Some(why) = self.residence.refusal() {
            return Err((user, ConnectError::Refused(why)));
        }
        // RFC 9293 MUST-43, MUST-44
        let source = address.unwrap_or(route.source);
        if source.is_unspecified()
            || self.config.escapes(source, route.interface)
            || source.is_v4() != remote.address.is_v4()
        {
            return Err((user, ConnectError::NoRoute));
        }
        if let Some(port) = local.map(|l| l.port).filter(|p| *p != 0) {
            let flow = FlowKey { local: Endpoint { address: source, port }, remote };
            let Ok(after) = leave_time_wait(&flow, cx) else {
                return Err((user, ConnectError::InUse));
            };
            return self.open_active(flow, user, route, (false, after), cx).map_err(
                |(error, user)| {
                    let error = match error {
                        OpenError::TableFull => ConnectError::TableFull,
                        OpenError::Exists => ConnectError::InUse,
                    };
                    (user, error)
                },
            );
        }
        for _ in 0..TRIES {
            let Some(port) = self.port_for(source, remote, cx.conns) else {
                return Err((user, ConnectError::NoPort));
            };
            let flow = FlowKey { local: Endpoint { address: source, port }, remote };
            let (error, returned) = match self.open_active(flow, user, route, (true, None), cx) {
                Ok(()) => return Ok(()),
                Err(failed) => failed,
            };
            user = returned;
            // An accepted connection has this flow, or one from a fixed port, or the table is
            // full: the port comes again.
            cx.conns.release_port(remote, port);
            if error == OpenError::TableFull {
                return Err((user, ConnectError::TableFull));
            }
        }
        Err((user, ConnectError::NoPort))
    }

    /// The route to a peer that can be connected to.
    fn route_to(
        &self,
        source: Option<Address>,
        remote: Endpoint,
        routes: &mut Routes,
    ) -> Option<Route> {
        // RFC 9293 MUST-46
        //= RFC 9293 3.9.2.3: an OPEN to a broadcast or multicast address is rejected
        let possible = remote.address.is_unicast()
            && !self.config.is_broadcast(remote.address)
            && remote.port != 0;
        let source = source.unwrap_or(remote.address.unspecified());
        routes.lookup_from(source, remote.address).filter(|_| possible)
    }

    /// Opens the connection of `flow`, whose port may have come from the allocator, with
    /// numbers after those of an earlier incarnation.
    fn open_active<C: Connections<A::Connection>>(
        &mut self,
        flow: FlowKey,
        user: A::Connection,
        route: Route,
        (port_allocated, after): (bool, Option<Seq>),
        cx: &mut Cx<'_, A, C>,
    ) -> Result<(), (OpenError, A::Connection)> {
        if self.residence.is_elsewhere(&flow) {
            return Err((OpenError::Exists, user));
        }
        self.make_room(cx);
        let mut isn = self.isn.isn(&flow, cx.now);
        if let Some(after) = after.filter(|after| isn.seq.before_or_at(*after + WINDOW)) {
            isn.seq = after + WINDOW;
        }
        let config = &self.tcp[route.interface as usize];
        let mss = mss_for(route.mtu, flow.remote.address);
        let (app, now, fast_open) = (&mut *cx.app, cx.now, &self.config.fast_open);
        let make = || Tcb::closed(config, isn, mss, now);
        let id = cx.conns.open_with(flow, user, make, |connection| {
            let Connection { tcb, user, .. } = connection;
            tcb.begin_connect();
            app.prepare(user, tcb, now);
            if tcb.wants_fast_open() {
                fast_open.turn_on();
                tcb.begin_fast_open(fast_open.server(&flow, now));
            }
            connection.port_allocated = port_allocated;
        })?;
        cx.counters.opened_active += 1;
        let (ready, app) = (&mut self.ready, &mut *cx.app);
        cx.conns.with_id(id, |connection| {
            app.opened(&mut connection.user, id, &flow);
            ready.schedule(connection);
        });
        Ok(())
    }

    /// A free port such that what comes back for the flow steers to this unit.
    fn port_for<C: Connections<A::Connection>>(
        &self,
        address: Address,
        remote: Endpoint,
        conns: &mut C,
    ) -> Option<u16> {
        let Transport { unit, config, .. } = self;
        conns.allocate_port(remote, |port| {
            let flow = FlowKey { local: Endpoint { address, port }, remote };
            // A socket does not connect to itself (RFC 9293 3.5 would let it).
            flow.local != remote && unit.has(config.steering.flow(&flow))
        })
    }
}

/// Ends TIME-WAIT of `flow` if it is in it, and may be opened again. Then its new numbers
/// have to be after the one that is returned.
fn leave_time_wait<A: Application, C: Connections<A::Connection>>(
    flow: &FlowKey,
    cx: &mut Cx<'_, A, C>,
) -> Result<Option<Seq>, ()> {
    let now = cx.now;
    let Some(last) = cx.conns.with_time_wait(flow, |wait| wait.may_reopen(now)) else {
        return Ok(None);
    };
    if last.is_some() {
        cx.conns.forget_time_wait(flow);
    }
    last.map(Some).ok_or(())
}

#[cfg(test)]
mod tests;
