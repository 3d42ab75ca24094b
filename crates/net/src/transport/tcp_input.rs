//! ④ Segments to connections.

use super::coalesce::{self, GroBatch};
use super::early_syns::EarlySyn;
use super::fast_open::Syn;
use super::{Cx, Transport};
use crate::DropReason;
use crate::application::Application;
use crate::arriving::Arriving;
use crate::connections::{ConnId, Connections, OpenError};
use tcp::input::listen::Listen;
use tcp::{Isn, Tcb, input, time_wait};
use wire::packet::ChecksumState;
use wire::tcp::{Header, mss_for};
use wire::{Endpoint, FlowKey, Instant, Packet, Slice, checksum, protocol};

/// Takes a TCP segment, TCP header in front.
#[inline]
pub fn input<A: Application, C: Connections<A::Connection>>(
    packet: Packet,
    transport: &mut Transport<A>,
    cx: &mut Cx<'_, A, C>,
) {
    // RFC 9293 MUST-3
    let meta = packet.meta();
    // RFC 9293 MUST-57
    if meta.group {
        return cx.counters.drop(DropReason::TcpGroup);
    }
    let (source, destination, interface) = (meta.source, meta.destination, meta.interface);
    let (segment, ecn) = (meta.gso_size, meta.tos & wire::ipv4::ECN);
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
    let flow = FlowKey {
        local: Endpoint { address: destination, port: header.destination_port },
        remote: Endpoint { address: source, port: header.source_port },
    };
    let arriving = Arriving { flow, header, interface, segment, ecn, run: 0 };
    if header.flags.syn() && transport.config.fast_open.is_on() {
        return arriving.syn(packet, len, transport, cx);
    }
    arriving.input(packet.into_payload(len), transport, cx);
}

impl Arriving {
    /// As [`Arriving::input`], of a SYN whose header of `len` bytes stands in front of `packet`, where
    /// Fast Open is used.
    #[cold]
    fn syn<A: Application, C: Connections<A::Connection>>(
        &self,
        packet: Packet,
        len: usize,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        let Arriving { flow, header, interface, segment, ecn, .. } = self;
        let syn = Syn::of(packet, len);
        transport.end_batch(cx);
        let (ready, early, now) = (&mut transport.ready, &mut transport.early_syns, cx.now);
        let found = cx.conns.with_flow(flow, |connection| {
            if early.keep(self, syn.len(), connection) {
                return None;
            }
            let answer = syn.input(&mut connection.tcb, header, (*segment, *ecn), now);
            ready.schedule(connection);
            Some(answer)
        });
        if let Some(taken) = found {
            let Some(answer) = taken else { return };
            if let Some(answer) = answer {
                transport.config.fast_open.answered(flow, answer);
            }
            return cx.counters.delivered += 1;
        }
        let len = syn.len();
        let (flow, header, interface) = (*flow, *header, *interface);
        let arrived = Arrived { flow, header, len, interface, ecn: *ecn, syn: Some(&syn) };
        arrived.without_connection(transport, cx);
    }

    /// Hands it to its connection.
    #[inline(always)]
    pub(crate) fn input<A: Application, C: Connections<A::Connection>>(
        &self,
        payload: wire::Parts,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        if let Some(payload) = transport.coalesce_alike(self, payload) {
            self.input_apart(payload, transport, cx);
        }
    }

    /// The same of a payload in one piece that is not empty, and [stands for
    /// itself](Transport::is_apart). `None`: there is no connection for it.
    #[inline(always)]
    pub(crate) fn input_data<A: Application, C: Connections<A::Connection>>(
        &self,
        payload: Slice,
        transport: &mut Transport<A>,
        conns: &mut C,
        now: Instant,
    ) -> Option<()> {
        let (ready, share) = (&mut transport.ready, &mut transport.share);
        conns.with_flow(&self.flow, move |connection| {
            let Arriving { header, segment, ecn, .. } = self;
            share.comes(connection, payload.len());
            connection.tcb.input_data(header, payload, *segment, *ecn, now);
            ready.schedule(connection);
        })
    }

    /// The same of a segment without payload. Returns whether its connection has it, and not who
    /// [keeps](super::early_syns) it.
    #[inline(always)]
    pub(crate) fn input_bare<A: Application, C: Connections<A::Connection>>(
        &self,
        transport: &mut Transport<A>,
        conns: &mut C,
        now: Instant,
    ) -> Option<bool> {
        let (ready, early) = (&mut transport.ready, &mut transport.early_syns);
        conns.with_flow(&self.flow, move |connection| {
            let Arriving { header, ecn, .. } = self;
            if early.keep(self, 0, connection) {
                return false;
            }
            connection.tcb.input_bare(header, *ecn, now);
            ready.schedule(connection);
            true
        })
    }

    /// There is no connection for it.
    #[cold]
    pub(crate) fn input_stray<A: Application, C: Connections<A::Connection>>(
        &self,
        len: usize,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        let Arriving { flow, header, interface, ecn, .. } = self;
        let (flow, header, interface) = (*flow, *header, *interface);
        let arrived = Arrived { flow, header, len, interface, ecn: *ecn, syn: None };
        arrived.without_connection(transport, cx);
    }

    /// The same, if it is not like the segments that wait.
    #[inline(never)]
    pub(crate) fn input_apart<A: Application, C: Connections<A::Connection>>(
        &self,
        payload: wire::Parts,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        let Some(payload) = transport.coalesce(self, payload, cx) else { return };
        let (ready, share, now) = (&mut transport.ready, &mut transport.share, cx.now);
        let early = &mut transport.early_syns;
        let len = wire::total(&payload);
        // (It holds `self` alone of what is in it, since what it holds is moved.)
        let found = cx.conns.with_flow(&self.flow, move |connection| {
            let Arriving { header, segment, ecn, .. } = self;
            if early.keep(self, len, connection) {
                return None;
            }
            share.comes(connection, len);
            connection.tcb.input_coalesced(header, payload, *segment, *ecn, now);
            ready.schedule(connection);
            Some(connection.id)
        });
        let Arriving { flow, header, .. } = self;
        match found {
            Some(None) => {}
            Some(Some(id)) => {
                cx.counters.delivered += 1;
                if len >= coalesce::WORTH {
                    transport.batch = Some(GroBatch::new(*flow, id, header));
                }
            }
            None => self.input_stray(len, transport, cx),
        }
    }
}

impl EarlySyn {
    /// Comes again, now that no connection is there for it.
    pub(super) fn arrive<A: Application, C: Connections<A::Connection>>(
        &self,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        let EarlySyn { flow, header, len, interface, ecn } = *self;
        Arrived { flow, header, len, interface, ecn, syn: None }.without_connection(transport, cx);
    }
}

/// A segment that no connection is there for.
struct Arrived<'a> {
    flow: FlowKey,
    header: Header,
    /// Bytes of payload.
    len: usize,
    interface: u16,
    /// What the network says of congestion (RFC 3168 5).
    ecn: u8,
    /// What a SYN has for Fast Open.
    syn: Option<&'a Syn>,
}

impl Arrived<'_> {
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
        let listener = transport.listeners.find(&self.flow.local).cloned();
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
            Listen::Reset(_) if self.open_by_cookie(&listener, transport, cx) => {}
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
        if transport.share.is_full() {
            return cx.counters.drop(DropReason::TcpMemory);
        }
        if transport.residence.refusal().is_some() {
            cx.counters.drop(DropReason::TcpNoThread);
            return self.refuse(transport, cx);
        }
        let mut user = transport.incoming(listener, cx);
        if user.is_none() && cx.app.half_open_limit_reached(listener) {
            match after {
                // TIME-WAIT, which is there still, would answer what acknowledges a cookie. Whoever was here before is
                // known, and takes the place of what is kept of him (as on Linux).
                Some(_) => user = cx.app.incoming_established(listener),
                None if transport.config.syn_cookies => {
                    return self.answer_by_cookie(transport, cx);
                }
                None => {}
            }
        }
        let Some(user) = user else { return cx.counters.drop(DropReason::TcpBacklog) };
        let has_room = match transport.config.syn_cookies && after.is_none() {
            true => cx.conns.len() < transport.config.max_connections,
            false => transport.make_room(cx),
        };
        if !has_room {
            cx.app.refused(user);
            // A cookie keeps nothing here, and who answers it makes room.
            return match transport.oldest_half_open(cx.conns) {
                Some(_) if transport.config.syn_cookies => self.answer_by_cookie(transport, cx),
                _ => cx.counters.drop(DropReason::TcpTableFull),
            };
        }
        let isn = self.isn(after, transport, cx.now);
        let (ecn, now) = (self.ecn, cx.now);
        let verdict = self.syn.and_then(|syn| syn.judge(&self.flow, listener, transport, cx));
        let mut is_early = false;
        let begin = |app: &mut A, user: &mut A::Connection, tcb: &mut Tcb| {
            tcb.begin_accept(&self.header, now);
            tcb.syn_came(ecn);
            app.prepare(user, tcb, now);
            if let (Some(verdict), Some(syn)) = (verdict, self.syn) {
                is_early = syn.begin(verdict, app, user, tcb, now);
            }
        };
        let put = self.put((isn, after), user, begin, transport, cx);
        // One that is the application's already makes no room for another.
        if let Some(id) = put.filter(|_| !is_early) {
            transport.note_half_open(id, cx.conns);
        }
    }

    /// Puts a connection into the table that begins with these numbers, `after` those of an
    /// earlier incarnation, and tells the application.
    #[inline]
    fn put<A: Application, C: Connections<A::Connection>>(
        &self,
        (isn, after): (Isn, Option<wire::Seq>),
        user: A::Connection,
        begin: impl FnOnce(&mut A, &mut A::Connection, &mut Tcb),
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) -> Option<ConnId> {
        let (mss, now, app) = (self.mss(transport), cx.now, &mut *cx.app);
        let config = &transport.tcp[self.interface as usize];
        let make = || Tcb::closed(config, isn, mss, now);
        let opened = cx.conns.open_with(self.flow, user, make, |connection| {
            begin(app, &mut connection.user, &mut connection.tcb);
        });
        match opened {
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
                return Some(id);
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
        None
    }

    /// Bytes of the largest segment that the way back takes.
    fn mss<A: Application>(&self, transport: &Transport<A>) -> u16 {
        // RFC 9293 SHLD-6
        // RFC 6691 3/1
        let remote = self.flow.remote.address;
        mss_for(transport.config.path_mtu(self.interface, remote), remote)
    }

    /// Answers the SYN, and keeps nothing of it.
    fn answer_by_cookie<A: Application, C: Connections<A::Connection>>(
        &self,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        let isn = transport.isn.isn(&self.flow, cx.now);
        let config = &transport.tcp[self.interface as usize];
        let mss = self.mss(transport);
        let answer = transport.cookies.answer(config, &self.flow, &self.header, isn, mss, cx.now);
        transport.config.account.note_cookie(cx.now);
        cx.counters.delivered += 1;
        cx.counters.cookies_out += 1;
        transport.send_header(&self.flow, tcp::reflect_syn(&answer, self.ecn));
    }

    /// Opens a connection if the segment acknowledges one of our cookies. What it brings
    /// beside comes again. Returns whether it was one.
    fn open_by_cookie<A: Application, C: Connections<A::Connection>>(
        &self,
        listener: &A::Listener,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) -> bool {
        if !transport.config.account.has_cookies(cx.now) {
            return false;
        }
        let isn = transport.isn.isn(&self.flow, cx.now);
        let Some((syn, isn)) = transport.cookies.check(&self.flow, &self.header, isn, cx.now)
        else {
            return false;
        };
        if transport.share.is_full() {
            cx.counters.drop(DropReason::TcpMemory);
            return true;
        }
        if transport.residence.refusal().is_some() {
            return false;
        }
        let Some(user) = cx.app.incoming_established(listener) else {
            cx.counters.drop(DropReason::TcpBacklog);
            return true;
        };
        let alone = wire::tcp::Flags::FIN.with(wire::tcp::Flags::PSH);
        let ack = Header { flags: self.header.flags.without(alone), ..self.header };
        let now = cx.now;
        let begin = |app: &mut A, user: &mut A::Connection, tcb: &mut Tcb| {
            tcb.begin_accept(&syn, now);
            app.prepare(user, tcb, now);
            tcb.was_answered(now);
            tcb.input(&ack, wire::Parts::new(), now);
        };
        transport.make_room(cx);
        self.put((isn, None), user, begin, transport, cx);
        true
    }

    /// The numbers of the connection that this SYN opens. They come `after` those of an earlier
    /// incarnation.
    fn isn<A: Application>(
        &self,
        after: Option<wire::Seq>,
        transport: &Transport<A>,
        now: Instant,
    ) -> Isn {
        let mut isn = transport.isn.isn(&self.flow, now);
        if let Some(after) = after
            && isn.seq.before_or_at(after)
        {
            isn.seq = after + 1;
        }
        isn
    }

    /// Another thread was faster with a copy of this SYN: its connection gets ours.
    fn again<A: Application, C: Connections<A::Connection>>(
        &self,
        transport: &mut Transport<A>,
        cx: &mut Cx<'_, A, C>,
    ) {
        let (ready, now) = (&mut transport.ready, cx.now);
        let again = cx.conns.with_flow(&self.flow, |connection| {
            connection.tcb.input_coalesced(&self.header, wire::Parts::new(), 0, self.ecn, now);
            ready.schedule(connection);
        });
        match again {
            Some(()) => cx.counters.delivered += 1,
            None => cx.counters.drop(DropReason::TcpNotSyn),
        }
    }
}
