//! ④ Segments to connections.

use super::coalesce::{self, GroBatch};
use super::{Cx, Transport};
use crate::DropReason;
use crate::application::Application;
use crate::connections::{Connections, OpenError};
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
    cx: &mut Cx<'_, A, C>,
) {
    let meta = packet.meta();
    if meta.group {
        return cx.counters.drop(DropReason::TcpGroup);
    }
    let (source, destination, interface) = (meta.source, meta.destination, meta.interface);
    let segment = meta.gso_size;
    if meta.checksum == ChecksumState::Complete {
        let length = packet.len() as u32;
        let pseudo = checksum::pseudo_header(source, destination, protocol::TCP, length);
        if !checksum::is_right(checksum::add(pseudo, packet.sum_from(0))) {
            return cx.counters.drop(DropReason::TcpChecksum);
        }
    }
    let Ok((header, len)) = Header::parse(packet.front()) else {
        return cx.counters.drop(DropReason::TcpMalformed);
    };
    if header.source_port == 0 || header.destination_port == 0 {
        return cx.counters.drop(DropReason::TcpMalformed);
    }
    packet.pull(len);
    let flow = FlowKey {
        local: Endpoint { address: destination, port: header.destination_port },
        remote: Endpoint { address: source, port: header.source_port },
    };
    Arriving { flow, header, interface, segment }.input(packet.into_parts(), transport, cx);
}

/// A segment that is as it should be.
pub(crate) struct Arriving {
    pub(crate) flow: FlowKey,
    pub(crate) header: Header,
    /// The interface that it came by.
    pub(crate) interface: u16,
    /// Bytes of payload of each segment that it was put together from, if it was.
    pub(crate) segment: u16,
}

impl Arriving {
    /// Hands it to its connection.
    #[inline]
    pub(crate) fn input<A: Application, C: Connections<A::Connection>>(
        &self,
        mut payload: wire::Parts,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        let Arriving { flow, header, interface, segment } = self;
        if transport.coalesce(flow, header, &mut payload, cx) {
            return;
        }
        let (ready, now) = (&mut transport.ready, cx.now);
        let worth = payload.first().is_some_and(|part| part.len() >= coalesce::WORTH);
        let mut payload = Some(payload);
        let found = cx.conns.with_flow(flow, |connection| {
            let payload = payload.take().expect("taken once");
            connection.tcb.input_coalesced(header, payload, *segment, now);
            ready.schedule(connection);
            connection.id
        });
        match (found, payload) {
            (Some(id), _) => {
                cx.counters.delivered += 1;
                if worth {
                    transport.batch = Some(GroBatch::new(*flow, id, header));
                }
            }
            (None, payload) => {
                let len = payload.map_or(0, |p| wire::total(&p));
                let (flow, header, interface) = (*flow, *header, *interface);
                let arrived = Arrived { flow, header, len, interface };
                arrived.without_connection(transport, cx);
            }
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
        cx: &mut Cx<'_, A, C>,
    ) {
        let mut after = None;
        let now = cx.now;
        let waiting =
            cx.conns.with_time_wait(&self.flow, |wait| wait.input(&self.header, self.len, now));
        if let Some(action) = waiting {
            match action {
                time_wait::Action::Ignore => return cx.counters.delivered += 1,
                time_wait::Action::Reply(header) => {
                    cx.counters.delivered += 1;
                    return transport.send_header(&self.flow, header);
                }
                time_wait::Action::Close => {
                    cx.counters.delivered += 1;
                    return cx.conns.forget_time_wait(&self.flow);
                }
                time_wait::Action::Reopen { isn_after } => after = Some(isn_after),
            }
        }
        let listener = Transport::<A>::bound(&transport.listeners, &self.flow.local).cloned();
        let Some(listener) = listener else {
            cx.counters.drop(DropReason::TcpNoPort);
            if after.is_some() {
                // A SYN alone, which anybody can make up, does not end TIME-WAIT.
                let challenge = cx.conns.with_time_wait(&self.flow, |wait| wait.challenge(now));
                if let Some(header) = challenge.flatten() {
                    transport.send_header(&self.flow, header);
                }
                return;
            }
            return self.refuse(transport, cx);
        };
        match input::listen::input(&self.header, self.len) {
            Listen::Ignore => cx.counters.drop(DropReason::TcpNotSyn),
            Listen::Reset(header) => {
                cx.counters.drop(DropReason::TcpNotSyn);
                transport.reset(&self.flow, Some(header), now, cx.counters);
            }
            Listen::Open => self.open(&listener, after, transport, cx),
        }
    }

    /// Answers as for no connection.
    fn refuse<A: Application, C: Connections<A::Connection>>(
        &self,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        let reply = input::closed::reply(&self.header, self.len);
        transport.reset(&self.flow, reply, cx.now, cx.counters);
    }

    fn open<A: Application, C: Connections<A::Connection>>(
        &self,
        listener: &A::Listener,
        after: Option<wire::Seq>,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        if cx.conns.len() >= transport.config.max_connections {
            return cx.counters.drop(DropReason::TcpTableFull);
        }
        if transport.residence.refusal().is_some() {
            cx.counters.drop(DropReason::TcpNoThread);
            return self.refuse(transport, cx);
        }
        let Some(user) = transport.incoming(listener, cx) else {
            return cx.counters.drop(DropReason::TcpBacklog);
        };
        let tcb = self.accept(after, transport, cx.now);
        match cx.conns.open(self.flow, tcb, user) {
            Ok(id) => {
                if after.is_some() {
                    cx.conns.forget_time_wait(&self.flow);
                }
                cx.counters.delivered += 1;
                cx.counters.opened_passive += 1;
                let (ready, app) = (&mut transport.ready, &mut *cx.app);
                cx.conns.with_id(id, |connection| {
                    app.opened(&mut connection.user, id, &self.flow);
                    ready.schedule(connection);
                });
                transport.note_half_open(id, cx.conns);
            }
            Err((OpenError::TableFull, user)) => {
                cx.counters.drop(DropReason::TcpTableFull);
                cx.app.refused(user);
            }
            Err((OpenError::Exists, user)) => {
                cx.app.refused(user);
                self.again(transport, cx);
            }
        }
    }

    /// The TCB that this SYN opens. Its numbers come after those of an earlier
    /// incarnation.
    fn accept<A: Application>(
        &self,
        after: Option<wire::Seq>,
        transport: &Transport<A>,
        now: Instant,
    ) -> Tcb {
        let mut isn = transport.isn.isn(&self.flow, now);
        if let Some(after) = after
            && isn.seq.before_or_at(after)
        {
            isn.seq = after + 1;
        }
        let config = &transport.tcp[self.interface as usize];
        let mtu = transport.config.interfaces[self.interface as usize].mtu;
        let mss = mss_for(mtu, self.flow.remote.address);
        Tcb::accept(config, isn, mss, &self.header, now)
    }

    /// Another thread was faster with a copy of this SYN: its connection gets ours.
    fn again<A: Application, C: Connections<A::Connection>>(
        &self,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        let (ready, now) = (&mut transport.ready, cx.now);
        let again = cx.conns.with_flow(&self.flow, |connection| {
            connection.tcb.input(&self.header, wire::Parts::new(), now);
            ready.schedule(connection);
        });
        match again {
            Some(()) => cx.counters.delivered += 1,
            None => cx.counters.drop(DropReason::TcpNotSyn),
        }
    }
}
