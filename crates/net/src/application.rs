//! ⑤ What stands above the stack: the trait by which a domain calls up, and the
//! calls by which it is called down.
//!
//! An application runs where its connection's exclusive reference is: it is
//! given the TCB, and reads and writes there. The socket layer of the library is
//! one such application; the loads of the benches are others.

use crate::connections::ConnId;
use crate::groups::Sending;
use crate::raw::RawDatagram;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tcp::{Events, FastOpenTerms, Tcb};
use wire::{Address, Endpoint, FlowKey, Instant, Parts};

/// A UDP datagram.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// Our end.
    pub local: Endpoint,
    /// The peer's end.
    pub remote: Endpoint,
    /// The payload.
    pub payload: Parts,
}

/// Why a connection could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConnectError {
    /// There is no route to the destination.
    #[error("no route to the destination")]
    NoRoute,
    /// All local ports towards the destination are in use.
    #[error("all local ports towards the destination are in use")]
    NoPort,
    /// The local address and port are in use towards the destination.
    #[error("the local address and port are in use towards the destination")]
    InUse,
    /// The domain holds as many connections as it may.
    #[error("the connection table is full")]
    TableFull,
    /// The connections of the host hold as much memory as they may.
    #[error("connections hold as much memory as the stack may use: give it more, or close some")]
    NoMemory,
    /// The organization has no place for the connection, for the reason that it
    /// gives.
    #[error("{0}")]
    Refused(&'static str),
    /// The stack has stopped.
    #[error("the stack has stopped")]
    Stopped,
}

/// What runs on top of a domain.
pub trait Application: Sized + Send {
    /// What it keeps with each connection.
    type Connection: Send + 'static;
    /// What it keeps with each listening port.
    type Listener: Clone + Send + 'static;
    /// What it keeps with each UDP port.
    type Udp: Clone + Send + 'static;

    /// Wake-ups for threads and tasks of the application, gathered while the
    /// domain is held, and done after it is let go.
    type Wakes: Default + Send;

    /// Are there wake-ups that are due? Asked where handing them on has a price.
    fn has_wakes(&self) -> bool {
        size_of::<Self::Wakes>() > 0
    }

    /// Moves the wake-ups that are due to `wakes`.
    fn take_wakes(&mut self, wakes: &mut Self::Wakes) {
        let _ = wakes;
    }

    /// Does these wake-ups.
    fn wake(wakes: Self::Wakes) {
        let _ = wakes;
    }

    /// A SYN for `listener` has come in. What is kept with the connection, or
    /// `None` if the backlog is full: the SYN is then ignored.
    fn incoming(&mut self, listener: &Self::Listener) -> Option<Self::Connection>;

    /// As [`Application::incoming`], for a connection whose handshake is over: its SYN
    /// was answered by a cookie, when too many others were half-open.
    fn incoming_established(&mut self, listener: &Self::Listener) -> Option<Self::Connection> {
        self.incoming(listener)
    }

    /// True if [`Application::incoming`] has just refused a connection only because
    /// of how many half-open ones `listener` has.
    fn half_open_limit_reached(&self, listener: &Self::Listener) -> bool {
        let _ = listener;
        false
    }

    /// Does `listener` take data with a SYN whose cookie is good (Fast Open, RFC 7413), and
    /// give cookies to who asks for one? Then what it says of them.
    fn fast_open(&self, listener: &Self::Listener) -> Option<FastOpenTerms> {
        let _ = listener;
        None
    }

    /// The SYN of `connection`, which [`Application::incoming`] has just given, had a good
    /// cookie. May it be the application's before its handshake is over? Then
    /// [`Application::ready`] hears [`Events::CONNECTED`] at once, and once more when it is.
    fn opens_early(&mut self, connection: &mut Self::Connection, now: Instant) -> bool {
        let _ = (connection, now);
        false
    }

    /// The connection's control block has just been made, and no segment of it was
    /// sent: what the application wants of TCP from the first segment on is set here.
    fn prepare(&mut self, connection: &mut Self::Connection, tcb: &mut Tcb, now: Instant) {
        let _ = (connection, tcb, now);
    }

    /// What [`Application::incoming`] gave was not needed: there is no connection.
    fn refused(&mut self, connection: Self::Connection) {
        let _ = connection;
    }

    /// The connection has a name now.
    fn opened(&mut self, connection: &mut Self::Connection, id: ConnId, flow: &FlowKey) {
        let _ = (connection, id, flow);
    }

    /// An active open has failed before a segment was sent.
    fn connect_failed(&mut self, connection: Self::Connection, error: ConnectError) {
        let _ = (connection, error);
    }

    /// Something has happened to a connection, or the application has notified
    /// itself of it ([`Call::Notify`]), or it asked for more by its last answer.
    /// Returns whether it has more to write, and wants to be called again in the next
    /// round.
    fn ready(
        &mut self,
        connection: &mut Self::Connection,
        tcb: &mut Tcb,
        events: Events,
        now: Instant,
    ) -> bool;

    /// Does any connection of the application wait with a buffer
    /// ([`Application::posted`])? Asked for each segment with much data, so it should cost
    /// next to nothing; it may be wrong.
    fn has_posted(&self) -> bool {
        false
    }

    /// The next `len` bytes of `connection` have come, with nothing before them that the
    /// application has not taken out. If it waits for them with a buffer that has room for all,
    /// it calls `fill` with the place for them: `len` bytes, once. `fill` verifies the bytes
    /// as it copies them there. If it says `true`, they are the application's, who hears so in
    /// [`Application::ready`], and says there by [`Tcb::set_unread_outside`] what it has not
    /// read, as if it had taken them out itself. If it says `false`, the checksum is wrong:
    /// the place may hold anything then, nothing counts as received, and the bytes that
    /// belong there come later, there or by [`Tcb::receive`]. Returns what `fill` said, and
    /// `false` if it was not called.
    fn posted(
        &mut self,
        connection: &mut Self::Connection,
        len: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> bool {
        let _ = (connection, len, fill);
        false
    }

    /// The connection has been silent for a while: what only a busy one needs may go.
    fn rests(&mut self, connection: &mut Self::Connection) {
        let _ = connection;
    }

    /// The connection has ended, for the reason in `tcb.error()` if there is one.
    /// What it has received and the application has not read is still there.
    fn closed(&mut self, connection: Self::Connection, tcb: &mut Tcb);

    /// The stack ends ([`Call::Reset`]): nothing comes to this listener any more.
    fn listener_closed(&mut self, listener: Self::Listener) {
        let _ = listener;
    }

    /// The stack ends ([`Call::Reset`]): nothing comes to this socket any more.
    fn udp_closed(&mut self, socket: Self::Udp) {
        let _ = socket;
    }

    /// A call that came after the end of the stack, when there is no domain to
    /// do it any more.
    fn refuse(call: Call<Self>, wakes: &mut Self::Wakes) {
        let _ = (call, wakes);
    }

    /// What a socket is bound to, where it says so: an organization may give such
    /// sockets units of their own.
    fn bound_to(socket: &Self::Udp) -> Option<Endpoint> {
        let _ = socket;
        None
    }

    /// Time to live of what `connection` sends, hops (RFC 791 3.2); 0: what the host
    /// usually sends, [`TTL`](crate::ip::TTL).
    fn ttl(connection: &Self::Connection) -> u8 {
        let _ = connection;
        0
    }

    /// Type of service of what `connection` sends (RFC 2474: the upper six bits are the
    /// DSCP); the lower two bits, ECN's, do not count.
    fn tos(connection: &Self::Connection) -> u8 {
        let _ = connection;
        0
    }

    /// May routers cut what `connection` sends into fragments, instead of telling it the path's
    /// MTU? Only of IPv4.
    fn may_be_cut(connection: &Self::Connection) -> bool {
        let _ = connection;
        false
    }

    /// Time to live of the datagrams that `socket` sends to one host, hops; 0: what the
    /// host usually sends, [`TTL`](crate::ip::TTL).
    fn datagram_ttl(socket: &Self::Udp) -> u8 {
        let _ = socket;
        0
    }

    /// How `socket` sends this datagram to a group. What the application has put into the group's
    /// address to say so is taken out of it.
    fn sending_to_groups(socket: &Self::Udp, datagram: &mut Datagram) -> Sending {
        let _ = (socket, datagram);
        Sending::default()
    }

    /// Does `socket` want what `source` sends to `group` and comes by the interface of this index,
    /// or, if there is none, from ourselves?
    fn is_member(
        socket: &Self::Udp,
        interface: Option<u16>,
        group: Address,
        source: Address,
    ) -> bool {
        let _ = (socket, interface, group, source);
        true
    }

    /// A datagram has come in; `false` if there is no room for it.
    fn datagram(&mut self, socket: &Self::Udp, datagram: Datagram) -> bool;

    /// As [`Application::datagram`], of one that was sent to a group. Our end does not show which
    /// link it came by, so that is said: the interface's index, unless we have sent it ourselves.
    fn datagram_to_group(
        &mut self,
        socket: &Self::Udp,
        datagram: Datagram,
        interface: Option<u16>,
    ) -> bool {
        let _ = interface;
        self.datagram(socket, datagram)
    }

    /// An ICMP error has come in about what `socket` sent by `flow`.
    fn datagram_error(&mut self, socket: &Self::Udp, flow: FlowKey, error: tcp::Error) {
        let _ = (socket, flow, error);
    }

    /// What `socket` sent by `flow` was larger than the way there carries: `mtu` bytes with
    /// its IP header (RFC 1191, RFC 8201).
    fn datagram_too_large(&mut self, socket: &Self::Udp, flow: FlowKey, mtu: usize) {
        let _ = (socket, flow, mtu);
    }

    /// Is `socket` connected to the remote end of `flow`? What routers say of the way there is
    /// believed then.
    fn is_peer(&self, socket: &Self::Udp, flow: FlowKey) -> bool {
        let _ = (socket, flow);
        false
    }

    /// Must nobody cut what `socket` sends into fragments?
    fn sends_whole(socket: &Self::Udp) -> bool {
        let _ = socket;
        false
    }

    /// The next datagram that `socket` has to send.
    fn next_datagram(&mut self, socket: &Self::Udp) -> Option<Datagram> {
        let _ = socket;
        None
    }

    /// A datagram has come in that is neither TCP nor UDP, and of the kinds that are taken
    /// ([`crate::RawTaken`]); `false` if there is no room for it.
    fn raw(&mut self, datagram: RawDatagram) -> bool {
        let _ = datagram;
        false
    }

    /// The next such datagram that is to be sent. Asked with [`Call::FlushUdp`].
    fn next_raw(&mut self) -> Option<RawDatagram> {
        None
    }

    /// The next flow whose datagrams nobody wants, though a socket takes them: its peer is told so
    /// as of a port that no socket has (RFC 1122 4.1.3.1). Asked with [`Call::FlushUdp`].
    fn next_rejected(&mut self) -> Option<FlowKey> {
        None
    }

    /// The stack ends ([`Call::Reset`]): nothing of that kind comes any more.
    fn raw_closed(&mut self) {}

    /// When the application wants its wake-ups to be asked for, if nothing else happens
    /// before. Asked by the thread that is about to sleep, if the unit has one.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }

    /// What the unit's thread, if it has one, waits for beside packets, calls and time: once this
    /// is readable, it goes a round and asks for wake-ups. Asked as [`Application::next_timeout`].
    fn wait_fd(&self) -> Option<Arc<OwnedFd>> {
        None
    }

    /// The next call that the application makes of its own.
    fn next_call(&mut self) -> Option<Call<Self>> {
        None
    }
}

/// What can be asked of a domain.
pub enum Call<A: Application> {
    /// Open a connection to `remote`, from `local` if given (its port 0: any).
    Connect {
        /// The peer's end.
        remote: Endpoint,
        /// Our end, or any.
        local: Option<Endpoint>,
        /// What the application keeps with it.
        connection: A::Connection,
    },
    /// Call [`Application::ready`] for this connection.
    Notify(ConnId),
    /// Accept connections to this address (or any of its family, if unspecified) and port
    /// (or any, if 0 and the address is unspecified).
    Listen(Endpoint, A::Listener),
    /// Accept no more.
    Unlisten(Endpoint),
    /// Receive datagrams to this address (or any of its family, if unspecified) and port
    /// (or any, if 0 and the address is unspecified).
    BindUdp(Endpoint, A::Udp),
    /// Receive no more.
    UnbindUdp(Endpoint),
    /// Send what [`Application::next_datagram`] has for this socket, what
    /// [`Application::next_raw`] has, and what has to be told of [`Groups`](crate::Groups).
    FlushUdp(A::Udp),
    /// Look what is due of what the host finds out about its links
    /// ([`Discovery`](crate::Discovery)): the unit does that which answers for the host.
    Look,
    /// Abort all connections and forget all ports.
    Reset,
}

impl<A: Application> std::fmt::Debug for Call<A> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Call::Connect { remote, local, .. } => {
                write!(f, "Connect {{ remote: {remote:?}, local: {local:?} }}")
            }
            Call::Notify(id) => write!(f, "Notify({id:?})"),
            Call::Listen(local, _) => write!(f, "Listen({local:?})"),
            Call::Unlisten(local) => write!(f, "Unlisten({local:?})"),
            Call::BindUdp(local, _) => write!(f, "BindUdp({local:?})"),
            Call::UnbindUdp(local) => write!(f, "UnbindUdp({local:?})"),
            Call::FlushUdp(_) => f.write_str("FlushUdp"),
            Call::Look => f.write_str("Look"),
            Call::Reset => f.write_str("Reset"),
        }
    }
}
