//! Calls from above.

use super::Transport;
use crate::Counters;
use crate::application::{Application, Call, ConnectError};
use crate::connections::{ConnId, Connections, OpenError};
use crate::ip::Routes;
use tcp::Tcb;
use wire::tcp::mss_for;
use wire::{Endpoint, FlowKey, Instant};

/// Ports tried whose flow an accepted connection might have.
const TRIES: u32 = 32;

impl<A: Application> Transport<A> {
    /// Does what a call asks for.
    #[allow(clippy::too_many_arguments)]
    pub fn call<C: Connections<A::Connection>>(
        &mut self,
        call: Call<A>,
        conns: &mut C,
        app: &mut A,
        routes: &mut Routes,
        now: Instant,
        counters: &mut Counters,
    ) {
        match call {
            Call::Connect { remote, local, connection } => {
                self.connect(remote, local, connection, conns, app, routes, now, counters);
            }
            Call::Notify(id) => self.notify(id, conns),
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
            Call::FlushUdp(socket) => self.flush_udp(&socket, app, routes, counters),
            Call::Reset => {
                self.listeners.drain().for_each(|(_, listener)| app.listener_closed(listener));
                self.udp.drain().for_each(|(_, socket)| app.udp_closed(socket));
                self.abort_all(conns);
            }
        }
    }

    fn abort_all<C: Connections<A::Connection>>(&mut self, conns: &mut C) {
        for id in conns.ids() {
            let ready = &mut self.ready;
            conns.with_id(id, |connection| {
                connection.tcb.abort();
                Transport::<A>::schedule(ready, connection);
            });
        }
    }

    #[inline]
    fn notify<C: Connections<A::Connection>>(&mut self, id: ConnId, conns: &mut C) {
        let ready = &mut self.ready;
        conns.with_id(id, |connection| Transport::<A>::schedule(ready, connection));
    }

    #[allow(clippy::too_many_arguments)]
    fn connect<C: Connections<A::Connection>>(
        &mut self,
        remote: Endpoint,
        local: Option<Endpoint>,
        mut user: A::Connection,
        conns: &mut C,
        app: &mut A,
        routes: &mut Routes,
        now: Instant,
        counters: &mut Counters,
    ) {
        let route = routes.lookup(remote.address);
        //= RFC 9293 3.9.2.3: an OPEN to a broadcast or multicast address is rejected
        let possible = remote.address.is_unicast()
            && !self.config.is_broadcast(remote.address)
            && remote.port != 0;
        let Some(route) = route.filter(|_| possible) else {
            return app.connect_failed(user, ConnectError::NoRoute);
        };
        if self.is_short_of_threads {
            return app.connect_failed(user, ConnectError::NoThread);
        }
        let address = local.map(|l| l.address).filter(|a| !a.is_unspecified());
        let source = address.unwrap_or(route.source);
        let fixed = local.map(|l| l.port).filter(|p| *p != 0);
        let mut tries = if fixed.is_some() { 1 } else { TRIES };
        loop {
            let port = match fixed {
                Some(port) => port,
                None => match self.port_for(source, remote, conns) {
                    Some(port) => port,
                    None => return app.connect_failed(user, ConnectError::NoPort),
                },
            };
            let flow = FlowKey { local: Endpoint { address: source, port }, remote };
            if fixed.is_some() && conns.with_time_wait(&flow, |_| ()).is_some() {
                return app.connect_failed(user, ConnectError::InUse);
            }
            let isn = self.isn.isn(&flow, now);
            let config = &self.tcp[route.interface as usize];
            let tcb = Tcb::connect(config, isn, mss_for(route.mtu, remote.address), now);
            match conns.open(flow, tcb, user) {
                Ok(id) => {
                    counters.opened_active += 1;
                    let ready = &mut self.ready;
                    conns.with_id(id, |connection| {
                        connection.port_allocated = fixed.is_none();
                        app.opened(&mut connection.user, id, &flow);
                        Transport::<A>::schedule(ready, connection);
                    });
                    return;
                }
                Err((error, returned)) => {
                    user = returned;
                    // An accepted connection has this flow: the port is taken,
                    // though not from us.
                    if fixed.is_none() {
                        conns.discard_port(remote);
                    }
                    tries -= 1;
                    match error {
                        OpenError::TableFull => {
                            return app.connect_failed(user, ConnectError::TableFull);
                        }
                        OpenError::Exists if tries == 0 => {
                            return app.connect_failed(user, ConnectError::InUse);
                        }
                        OpenError::Exists => {}
                    }
                }
            }
        }
    }

    /// A free port such that what comes back for the flow steers to this unit.
    fn port_for<C: Connections<A::Connection>>(
        &self,
        address: wire::Address,
        remote: Endpoint,
        conns: &mut C,
    ) -> Option<u16> {
        let Transport { unit, config, .. } = self;
        conns.allocate_port(remote, |port| {
            let flow = FlowKey { local: Endpoint { address, port }, remote };
            unit.has(config.steering.flow(&flow))
        })
    }
}
