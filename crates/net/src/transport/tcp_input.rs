//! ④ Segments to connections.

use super::Transport;
use super::coalesce::{self, Run};
use crate::application::Application;
use crate::connections::{Connections, OpenError};
use crate::{Counters, Drop};
use tcp::input::listen::Listen;
use tcp::{Tcb, input, time_wait};
use wire::packet::ChecksumState;
use wire::tcp::{Header, mss_for};
use wire::{Endpoint, FlowKey, Instant, Packet, checksum, protocol};

/// Takes a TCP segment, TCP header in front.
#[inline]
pub fn input<A: Application, C: Connections<A::Connection>>(
    mut packet: Packet,
    transport: &mut Transport<A>,
    conns: &mut C,
    app: &mut A,
    now: Instant,
    counters: &mut Counters,
) {
    let meta = packet.meta();
    if meta.group {
        return counters.drop(Drop::TcpGroup);
    }
    let (source, destination, interface) = (meta.source, meta.destination, meta.interface);
    let segment = meta.gso_size;
    if meta.checksum == ChecksumState::Complete {
        let length = packet.len() as u32;
        let pseudo = checksum::pseudo_header(source, destination, protocol::TCP, length);
        if !checksum::is_right(checksum::add(pseudo, packet.sum_from(0))) {
            return counters.drop(Drop::TcpChecksum);
        }
    }
    let Ok((header, len)) = Header::parse(packet.front()) else {
        return counters.drop(Drop::TcpMalformed);
    };
    if header.source_port == 0 || header.destination_port == 0 {
        return counters.drop(Drop::TcpMalformed);
    }
    packet.pull(len);
    let flow = FlowKey {
        local: Endpoint { address: destination, port: header.destination_port },
        remote: Endpoint { address: source, port: header.source_port },
    };
    let mut payload = packet.into_parts();
    if transport.coalesce(&flow, &header, &mut payload, conns, now, counters) {
        return;
    }
    let ready = &mut transport.ready;
    let worth = payload.first().is_some_and(|part| part.len() >= coalesce::WORTH);
    let mut payload = Some(payload);
    let found = conns.with_flow(&flow, |connection| {
        let payload = payload.take().expect("taken once");
        connection.tcb.input_coalesced(&header, payload, segment, now);
        Transport::<A>::schedule(ready, connection);
        connection.id
    });
    match (found, payload) {
        (Some(id), _) => {
            counters.delivered += 1;
            if worth {
                transport.run = Some(Run::new(flow, id, &header));
            }
        }
        (None, payload) => {
            let len = payload.map_or(0, |p| p.iter().map(|s| s.len()).sum());
            let arrived = Arrived { flow, header, len, interface };
            arrived.without_connection(transport, conns, app, now, counters);
        }
    }
}

/// A segment that no connection is there for.
struct Arrived {
    flow: FlowKey,
    header: Header,
    /// Bytes of payload.
    len: usize,
    interface: u16,
}

impl Arrived {
    #[cold]
    fn without_connection<A: Application, C: Connections<A::Connection>>(
        &self,
        transport: &mut Transport<A>,
        conns: &mut C,
        app: &mut A,
        now: Instant,
        counters: &mut Counters,
    ) {
        let mut after = None;
        let waiting =
            conns.with_time_wait(&self.flow, |waiting| waiting.input(&self.header, self.len, now));
        if let Some(action) = waiting {
            match action {
                time_wait::Action::Ignore => return counters.delivered += 1,
                time_wait::Action::Reply(header) => {
                    counters.delivered += 1;
                    return transport.send_header(&self.flow, header, counters);
                }
                time_wait::Action::Close => {
                    counters.delivered += 1;
                    return conns.forget_time_wait(&self.flow);
                }
                time_wait::Action::Reopen { isn_after } => after = Some(isn_after),
            }
        }
        let listener = Transport::<A>::bound(&transport.listeners, &self.flow.local).cloned();
        let Some(listener) = listener else {
            counters.drop(Drop::TcpNoPort);
            if after.is_some() {
                // A SYN alone, which anybody can make up, does not end TIME-WAIT.
                let challenge = conns.with_time_wait(&self.flow, |waiting| waiting.challenge(now));
                if let Some(header) = challenge.flatten() {
                    transport.send_header(&self.flow, header, counters);
                }
                return;
            }
            let reply = input::closed::reply(&self.header, self.len);
            return transport.reset(&self.flow, reply, now, counters);
        };
        match input::listen::input(&self.header, self.len) {
            Listen::Ignore => counters.drop(Drop::TcpNotSyn),
            Listen::Reset(header) => {
                counters.drop(Drop::TcpNotSyn);
                transport.reset(&self.flow, Some(header), now, counters);
            }
            Listen::Open => self.open(&listener, after, transport, conns, app, now, counters),
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn open<A: Application, C: Connections<A::Connection>>(
        &self,
        listener: &A::Listener,
        after: Option<wire::Seq>,
        transport: &mut Transport<A>,
        conns: &mut C,
        app: &mut A,
        now: Instant,
        counters: &mut Counters,
    ) {
        if conns.len() >= transport.config.max_connections {
            return counters.drop(Drop::TcpTableFull);
        }
        if transport.is_short_of_threads {
            counters.drop(Drop::TcpNoThread);
            let reply = input::closed::reply(&self.header, self.len);
            return transport.reset(&self.flow, reply, now, counters);
        }
        let Some(user) = transport.incoming(listener, conns, app, now, counters) else {
            return counters.drop(Drop::TcpBacklog);
        };
        let mut isn = transport.isn.isn(&self.flow, now);
        if let Some(after) = after
            && isn.seq.before_or_at(after)
        {
            isn.seq = after + 1;
        }
        let config = &transport.tcp[self.interface as usize];
        let mtu = transport.config.interfaces[self.interface as usize].mtu;
        let mss = mss_for(mtu, self.flow.remote.address);
        let tcb = Tcb::accept(config, isn, mss, &self.header, now);
        match conns.open(self.flow, tcb, user) {
            Ok(id) => {
                if after.is_some() {
                    conns.forget_time_wait(&self.flow);
                }
                counters.delivered += 1;
                counters.opened_passive += 1;
                let ready = &mut transport.ready;
                conns.with_id(id, |connection| {
                    app.opened(&mut connection.user, id, &self.flow);
                    Transport::<A>::schedule(ready, connection);
                });
                transport.note_embryo(id, conns);
            }
            Err((OpenError::TableFull, user)) => {
                counters.drop(Drop::TcpTableFull);
                app.refused(user);
            }
            Err((OpenError::Exists, user)) => {
                // Another thread was faster with a copy of this SYN.
                app.refused(user);
                let ready = &mut transport.ready;
                let again = conns.with_flow(&self.flow, |connection| {
                    connection.tcb.input(&self.header, wire::Parts::new(), now);
                    Transport::<A>::schedule(ready, connection);
                });
                match again {
                    Some(()) => counters.delivered += 1,
                    None => counters.drop(Drop::TcpNotSyn),
                }
            }
        }
    }
}
