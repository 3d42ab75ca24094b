//! [`SocketLayer`]: the application that stands on top of every domain of a
//! stack with sockets.

use super::{ListenerCell, TcpCell, UdpCell};
use net::application::ConnectError;
use net::{Application, Call, ConnId, Datagram};
use std::sync::Arc;
use std::task::Waker;
use tcp::{Events, Tcb};
use wire::{Endpoint, FlowKey, Instant};

/// The socket layer of one unit.
#[derive(Debug, Default)]
pub(crate) struct SocketLayer {
    wakes: Vec<Waker>,
}

impl Application for SocketLayer {
    type Connection = Arc<TcpCell>;
    type Listener = Arc<ListenerCell>;
    type Udp = Arc<UdpCell>;
    type Wakes = Vec<Waker>;

    fn has_wakes(&self) -> bool {
        !self.wakes.is_empty()
    }

    fn take_wakes(&mut self, wakes: &mut Vec<Waker>) {
        wakes.append(&mut self.wakes);
    }

    fn wake(wakes: Vec<Waker>) {
        wakes.into_iter().for_each(Waker::wake);
    }

    fn incoming(&mut self, listener: &Arc<ListenerCell>) -> Option<Arc<TcpCell>> {
        listener.reserve().then(|| Arc::new(TcpCell::incoming(listener.clone())))
    }

    fn half_open_limit_reached(&self, listener: &Arc<ListenerCell>) -> bool {
        listener.half_open_limit_reached()
    }

    fn refused(&mut self, cell: Arc<TcpCell>) {
        cell.refused(&mut self.wakes);
    }

    fn opened(&mut self, cell: &mut Arc<TcpCell>, id: ConnId, flow: &FlowKey) {
        cell.opened(id, flow);
    }

    fn connect_failed(&mut self, cell: Arc<TcpCell>, error: ConnectError) {
        cell.connect_failed(error, &mut self.wakes);
    }

    fn ready(
        &mut self,
        cell: &mut Arc<TcpCell>,
        tcb: &mut Tcb,
        events: Events,
        _now: Instant,
    ) -> bool {
        cell.exchange(tcb, &mut self.wakes);
        if events.has(Events::CONNECTED) {
            TcpCell::connected(cell, tcb, &mut self.wakes);
        }
        false
    }

    fn closed(&mut self, cell: Arc<TcpCell>, tcb: &mut Tcb) {
        cell.closed(tcb, &mut self.wakes);
    }

    fn listener_closed(&mut self, listener: Arc<ListenerCell>) {
        listener.close(&mut self.wakes);
    }

    fn udp_closed(&mut self, socket: Arc<UdpCell>) {
        socket.close(&mut self.wakes);
    }

    fn refuse(call: Call<SocketLayer>, wakes: &mut Vec<Waker>) {
        match call {
            Call::Connect { connection, .. } => {
                connection.connect_failed(ConnectError::Stopped, wakes);
            }
            Call::Listen(_, listener) => drop(listener.close(wakes)),
            Call::BindUdp(_, socket) | Call::FlushUdp(socket) => socket.close(wakes),
            Call::Notify(_) | Call::Unlisten(_) | Call::UnbindUdp(_) | Call::Reset => {}
        }
    }

    fn bound_to(socket: &Arc<UdpCell>) -> Option<Endpoint> {
        Some(socket.local())
    }

    fn datagram(&mut self, socket: &Arc<UdpCell>, datagram: Datagram) -> bool {
        socket.arrived(datagram, &mut self.wakes)
    }

    fn datagram_error(&mut self, socket: &Arc<UdpCell>, remote: Endpoint, error: tcp::Error) {
        socket.failed(remote, error, &mut self.wakes);
    }

    fn next_datagram(&mut self, socket: &Arc<UdpCell>) -> Option<Datagram> {
        socket.next(&mut self.wakes)
    }
}
