//! [`SocketLayer`]: the application that stands on top of every domain of a
//! stack with sockets.

use super::registry::Registry;
use super::{ListenerShared, RawShared, TcpShared, UdpShared};
use crate::scope;
use crate::tasks::{self, Starts};
use crate::wait::wake_each;
use net::application::ConnectError;
use net::{Application, Call, ConnId, Datagram, RawDatagram};
use organizations::Clock;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::Waker;
use tcp::{Events, FastOpenTerms, Tcb};
use wire::{Address, Endpoint, FlowKey, Instant};

/// The socket layer of one unit.
#[derive(Debug)]
pub(crate) struct SocketLayer {
    wakes: Vec<Waker>,
    /// The stack's.
    registry: Arc<Registry<TcpShared>>,
    raw: Arc<RawShared>,
    /// By which the thread sleeps that all of this unit's work is done by, if there is
    /// one: it may have tasks.
    own_thread: Option<Clock>,
    /// What others start on it, and the unit's number among those.
    starts: (Arc<Starts>, u16),
}

impl Drop for SocketLayer {
    fn drop(&mut self) {
        if self.own_thread.is_none() {
            return;
        }
        let (starts, unit) = &self.starts;
        let left = starts.close(*unit);
        crate::closing::waking(|| {
            drop(left);
            if tasks::are_here() {
                tasks::end();
            }
        });
    }
}

impl SocketLayer {
    /// That of a unit of the stack with this registry and these raw datagrams. `own_thread`: the
    /// unit has a thread, and its clock is this; then `starts` has what others start on it.
    pub(crate) fn new(
        registry: Arc<Registry<TcpShared>>,
        raw: Arc<RawShared>,
        own_thread: Option<Clock>,
        starts: (Arc<Starts>, u16),
    ) -> SocketLayer {
        if own_thread.is_some() {
            starts.0.open(starts.1);
        }
        SocketLayer { wakes: Vec::new(), registry, raw, own_thread, starts }
    }
}

impl Application for SocketLayer {
    type Connection = Arc<TcpShared>;
    type Listener = Arc<ListenerShared>;
    type Udp = Arc<UdpShared>;
    type Wakes = Vec<Waker>;

    fn has_wakes(&self) -> bool {
        !self.wakes.is_empty()
    }

    fn take_wakes(&mut self, wakes: &mut Vec<Waker>) {
        wakes.append(&mut self.wakes);
        let (starts, unit) = &self.starts;
        if starts.any() && self.own_thread.is_some() {
            starts.take(*unit).into_iter().for_each(|start| start());
        }
    }

    fn wake(wakes: Vec<Waker>) {
        if !wakes.is_empty() || tasks::are_here() {
            crate::closing::waking(|| {
                wake_each(wakes);
                tasks::run();
            });
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        let clock = self.own_thread.as_ref()?;
        tasks::next_timeout().map(|at| clock.at(at))
    }

    fn wait_fd(&self) -> Option<Arc<OwnedFd>> {
        self.own_thread.as_ref()?;
        tasks::wait_fd()
    }

    fn incoming(&mut self, listener: &Arc<ListenerShared>) -> Option<Arc<TcpShared>> {
        listener.reserve().then(|| Arc::new(TcpShared::incoming(listener.clone())))
    }

    fn incoming_established(&mut self, listener: &Arc<ListenerShared>) -> Option<Arc<TcpShared>> {
        let room = listener.reserve_established();
        room.then(|| Arc::new(TcpShared::incoming(listener.clone())))
    }

    fn half_open_limit_reached(&self, listener: &Arc<ListenerShared>) -> bool {
        listener.half_open_limit_reached()
    }

    fn fast_open(&self, listener: &Arc<ListenerShared>) -> Option<FastOpenTerms> {
        listener.fast_open()
    }

    fn opens_early(&mut self, socket: &mut Arc<TcpShared>, now: Instant) -> bool {
        socket.opens_early(now)
    }

    fn prepare(&mut self, socket: &mut Arc<TcpShared>, tcb: &mut Tcb, now: Instant) {
        socket.prepare(tcb, now);
    }

    fn refused(&mut self, socket: Arc<TcpShared>) {
        socket.refused(&mut self.wakes);
    }

    fn opened(&mut self, socket: &mut Arc<TcpShared>, id: ConnId, flow: &FlowKey) {
        TcpShared::opened(socket, id, flow, &self.registry);
    }

    fn connect_failed(&mut self, socket: Arc<TcpShared>, error: ConnectError) {
        socket.connect_failed(error, &mut self.wakes);
    }

    fn ready(
        &mut self,
        socket: &mut Arc<TcpShared>,
        tcb: &mut Tcb,
        events: Events,
        _now: Instant,
    ) -> bool {
        socket.exchange(tcb, &mut self.wakes);
        if events.has(Events::CONNECTED) {
            TcpShared::connected(socket, tcb, &mut self.wakes);
        }
        false
    }

    fn has_posted(&self) -> bool {
        super::tcp::posted::any()
    }

    fn posted(
        &mut self,
        socket: &mut Arc<TcpShared>,
        len: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> bool {
        socket.fill_posted(len, fill)
    }

    fn rests(&mut self, socket: &mut Arc<TcpShared>) {
        socket.rest();
    }

    fn closed(&mut self, socket: Arc<TcpShared>, tcb: &mut Tcb) {
        socket.closed(tcb, &mut self.wakes);
    }

    fn listener_closed(&mut self, listener: Arc<ListenerShared>) {
        listener.close(&mut self.wakes);
    }

    fn udp_closed(&mut self, socket: Arc<UdpShared>) {
        socket.close(&mut self.wakes);
    }

    fn refuse(call: Call<SocketLayer>, wakes: &mut Vec<Waker>) {
        match call {
            Call::Connect { connection, .. } => {
                connection.connect_failed(ConnectError::Stopped, wakes);
            }
            Call::Listen(_, listener) => drop(listener.close(wakes)),
            Call::BindUdp(_, socket) | Call::FlushUdp(socket) => socket.close(wakes),
            Call::Notify(_) | Call::Unlisten(_) | Call::UnbindUdp(_) | Call::Look | Call::Reset => {
            }
        }
    }

    fn bound_to(socket: &Arc<UdpShared>) -> Option<Endpoint> {
        Some(socket.local())
    }

    fn ttl(socket: &Arc<TcpShared>) -> u8 {
        socket.ttl.wire()
    }

    fn tos(socket: &Arc<TcpShared>) -> u8 {
        socket.tos() & !wire::ipv4::ECN
    }

    fn may_be_cut(socket: &Arc<TcpShared>) -> bool {
        socket.allow_fragments()
    }

    fn datagram_ttl(socket: &Arc<UdpShared>) -> u8 {
        socket.ttl.wire()
    }

    fn sending_to_groups(socket: &Arc<UdpShared>, datagram: &mut Datagram) -> net::groups::Sending {
        let (scope, remote) = scope::split(datagram.remote);
        datagram.remote = remote;
        let sending = socket.memberships.sending();
        let chosen = scope.map(|number| number - 1);
        net::groups::Sending { interface: chosen.or(sending.interface), ..sending }
    }

    fn is_member(
        socket: &Arc<UdpShared>,
        interface: Option<u16>,
        group: Address,
        source: Address,
    ) -> bool {
        socket.is_member(interface, group, source)
    }

    fn datagram(&mut self, socket: &Arc<UdpShared>, datagram: Datagram) -> bool {
        socket.arrived(datagram, &mut self.wakes)
    }

    fn datagram_to_group(
        &mut self,
        socket: &Arc<UdpShared>,
        datagram: Datagram,
        interface: Option<u16>,
    ) -> bool {
        let remote = scope::on_link(datagram.remote, interface);
        socket.arrived(Datagram { remote, ..datagram }, &mut self.wakes)
    }

    fn datagram_error(&mut self, socket: &Arc<UdpShared>, flow: FlowKey, error: tcp::Error) {
        socket.failed(flow, error, &mut self.wakes);
    }

    fn datagram_too_large(&mut self, socket: &Arc<UdpShared>, flow: FlowKey, _mtu: usize) {
        socket.too_large(flow, &mut self.wakes);
    }

    fn is_peer(&self, socket: &Arc<UdpShared>, flow: FlowKey) -> bool {
        socket.is_peer(flow)
    }

    fn sends_whole(socket: &Arc<UdpShared>) -> bool {
        socket.sends_whole()
    }

    fn raw(&mut self, datagram: RawDatagram) -> bool {
        self.raw.arrived(datagram, &mut self.wakes)
    }

    fn next_raw(&mut self) -> Option<RawDatagram> {
        self.raw.next(&mut self.wakes)
    }

    fn next_rejected(&mut self) -> Option<FlowKey> {
        self.raw.next_rejected()
    }

    fn raw_closed(&mut self) {
        self.raw.close(&mut self.wakes);
    }

    fn next_datagram(&mut self, socket: &Arc<UdpShared>) -> Option<Datagram> {
        socket.next(&mut self.wakes)
    }
}
