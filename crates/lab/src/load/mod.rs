//! The loads: applications that live inside the domains.

pub(crate) mod blocks;
mod bulk;
mod findings;
mod held;
mod meter;
mod pattern;
pub(crate) mod presentation;
mod shares;
pub(crate) mod soak;
mod socket;
mod transactions;
mod udp;
pub(crate) mod watched;

pub use meter::{Meter, Totals};
pub use presentation::Wakes;
pub(crate) use shares::jain;
pub use socket::Socket;
pub(crate) use udp::{Flow, Flows, NUMBER, Way};

use crossbeam_utils::CachePadded;
use meter::Tally;
use net::application::ConnectError;
use net::{Application, ConnId, Datagram};
use pattern::Pattern;
use presentation::{Presentation, Presented};
use shares::{Share, Since};
use std::collections::VecDeque;
use std::sync::Arc;
use tcp::{Events, Tcb};
pub(crate) use transactions::{CHURN_PORTS, FIRST_PORT};
use wire::{Endpoint, FlowKey, Instant};

/// A call on a domain with a load.
pub type Call = net::Call<Load>;

/// What a connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Nothing, once it is established.
    Idle,
    /// Writes without end.
    Source,
    /// Reads.
    Sink,
    /// Reads what is not in the loads' pattern.
    Drain,
    /// Writes without end to a simulated peer, which has connected.
    Stream,
    /// Writes without end, and reads.
    Both,
    /// Sends back what it reads.
    Echo,
    /// Sends back what a simulated peer asks.
    Reply,
    /// Sends a message, waits for its echo, and again.
    Client,
    /// Sends a message, waits for its echo, closes, and opens another connection.
    Churn,
    /// Sends a block from memory, waits for a message, and again.
    Blocks,
    /// Closes when its peer does.
    Short,
    /// Has conversations of every kind, one after the other.
    SoakClient,
    /// Takes part in one.
    SoakServer,
}

/// What a load keeps with a connection.
#[derive(Debug)]
pub struct LoadConn {
    role: Role,
    /// It is established.
    open: bool,
    /// Our half is closed.
    closing: bool,
    /// Place in the pattern of the next byte to write.
    out_at: u32,
    /// Place in the pattern of the next byte to read.
    in_at: u32,
    /// Bytes of a message that are still to be written.
    unsent: u32,
    /// Bytes of its echo that are still to be read.
    missing: u32,
    /// When the message was begun.
    asked: Since,
    /// Its part is counted, from when it is established.
    counted: bool,
    share: Share,
    /// Where an active open went to. (Boxed, since transactions do not look at it: a connection is
    /// smaller without.)
    remote: Option<Box<Endpoint>>,
    /// Ports of the peer in a row towards which no local port was left.
    exhausted: u16,
    /// What the presentation layer keeps with it.
    presented: Option<Box<Presented>>,
    /// The conversation of a soak.
    conversation: Option<Box<soak::Conversation>>,
}

impl LoadConn {
    /// A connection that will do this. `remote`: where an active open goes to.
    pub fn new(role: Role, remote: Option<Endpoint>) -> LoadConn {
        LoadConn {
            role,
            open: false,
            closing: false,
            out_at: 0,
            in_at: 0,
            unsent: 0,
            missing: 0,
            asked: Since::default(),
            counted: false,
            share: Share::default(),
            remote: remote.map(Box::new),
            exhausted: 0,
            presented: None,
            conversation: None,
        }
    }

    /// The same, whose part is counted.
    pub(crate) fn counted(self) -> LoadConn {
        LoadConn { counted: true, ..self }
    }
}

/// The load of one unit.
pub struct Load {
    /// Bytes of a write, a message or a datagram's payload.
    bytes: usize,
    pattern: Pattern,
    tally: Arc<CachePadded<Tally>>,
    meter: Arc<Meter>,
    calls: VecDeque<Call>,
    flows: Flows,
    /// Work of the presentation layer, if there is one.
    wakes: Wakes,
    /// What the conversations of a soak share.
    soak: Option<Arc<soak::Shared>>,
    /// What is sent of blocks.
    block: blocks::Block,
    /// Flows that stream, and how many have had their turn in this round.
    streams: VecDeque<Socket>,
    turns: usize,
    /// Datagrams that came and go back.
    echoes: VecDeque<Datagram>,
    /// For flows whose whole window was lost.
    rescue: udp::Rescue,
    /// Begin no transaction any more, but each connection its first.
    resting: bool,
    /// Who reads waits with its buffer.
    posts: bool,
}

/// What all loads of a host have in common: makes them.
#[derive(Clone)]
pub struct Loads {
    bytes: usize,
    pattern: Pattern,
    meter: Arc<Meter>,
    flows: Flows,
    presentation: Option<Arc<Presentation>>,
    soak: Option<Arc<soak::Shared>>,
    posts: bool,
    resting: bool,
}

impl Loads {
    /// Loads with writes or messages of `bytes`, that count in `meter`.
    pub fn new(bytes: usize, meter: Arc<Meter>) -> Loads {
        let pattern = Pattern::new(bytes.max(READ));
        let (flows, posts, resting) = (Flows::default(), false, false);
        Loads { bytes, pattern, meter, flows, presentation: None, soak: None, posts, resting }
    }

    /// Where they count.
    pub(crate) fn meter(&self) -> &Arc<Meter> {
        &self.meter
    }

    /// Those of a host with these flows of UDP, which all its loads share.
    pub(crate) fn with_flows(self, flows: Flows) -> Loads {
        Loads { flows, ..self }
    }

    /// Those of a host with this presentation layer.
    pub(crate) fn with_presentation(self, presentation: Option<Arc<Presentation>>) -> Loads {
        Loads { presentation, ..self }
    }

    /// Those whose readers wait with their buffers, if `posts`.
    pub(crate) fn with_posted(self, posts: bool) -> Loads {
        Loads { posts, ..self }
    }

    /// Those whose transactions rest after the first of each connection, if `resting`.
    pub(crate) fn with_rest(self, resting: bool) -> Loads {
        Loads { resting, ..self }
    }

    /// Those of a host that takes part in a soak.
    pub(crate) fn with_soak(self, soak: Arc<soak::Shared>) -> Loads {
        Loads { soak: Some(soak), ..self }
    }

    /// The load of a unit.
    pub(crate) fn load(&self) -> Load {
        Load {
            bytes: self.bytes,
            pattern: self.pattern.clone(),
            tally: self.meter.tally(),
            meter: self.meter.clone(),
            calls: VecDeque::new(),
            flows: self.flows.clone(),
            wakes: self.presentation.clone().map(Wakes::of).unwrap_or_default(),
            soak: self.soak.clone(),
            block: blocks::Block::default(),
            streams: VecDeque::new(),
            turns: 0,
            echoes: VecDeque::new(),
            rescue: udp::Rescue::default(),
            resting: self.resting,
            posts: self.posts,
        }
    }
}

/// The least size of the buffer that loads read into, bytes.
const READ: usize = 16 * 1024;

thread_local! {
    /// The buffer that loads read into: the thread's and not the unit's, so that
    /// it stays in the processor's cache whichever unit the thread works in.
    static BUFFER: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Runs `f` with a buffer of `len` bytes.
#[inline]
fn with_buffer<R>(len: usize, f: impl FnOnce(&mut [u8]) -> R) -> R {
    BUFFER.with_borrow_mut(|buffer| {
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        f(&mut buffer[..len])
    })
}

impl Load {
    /// A connection is established.
    #[cold]
    fn connected(&self, conn: &mut LoadConn) {
        conn.open = true;
        if std::mem::take(&mut conn.counted) {
            conn.share = self.meter.share();
        }
        self.tally.connected.add(1);
    }

    /// What a connection does in its turn that makes no transactions.
    #[inline(never)]
    fn act(&mut self, conn: &mut LoadConn, tcb: &mut Tcb, now: Instant) -> bool {
        match conn.role {
            Role::Idle => false,
            Role::Source | Role::Stream => self.write(conn, tcb),
            Role::Sink | Role::Drain => self.read(conn, tcb),
            Role::Both => {
                self.read(conn, tcb);
                self.write(conn, tcb)
            }
            Role::Blocks => self.serve_blocks(conn, tcb),
            Role::Short => self.short(conn, tcb),
            Role::SoakClient | Role::SoakServer => self.converse(conn, tcb, now),
            Role::Client | Role::Churn => self.transact(conn, tcb, now),
            Role::Echo | Role::Reply => self.echo(conn, tcb),
        }
    }

    /// Notes that `what` went wrong with the connection in state `conn`.
    #[cold]
    fn fail(&self, conn: &LoadConn, what: &str) {
        self.meter.fail(format!("a connection of a {:?} {what}", conn.role).to_lowercase());
    }
}

impl Application for Load {
    type Connection = LoadConn;
    type Listener = Role;
    type Udp = Socket;
    type Wakes = Wakes;

    #[inline]
    fn has_wakes(&self) -> bool {
        !self.wakes.is_empty()
    }

    #[inline]
    fn take_wakes(&mut self, wakes: &mut Wakes) {
        self.give_wakes(wakes);
    }

    #[inline]
    fn wake(wakes: Wakes) {
        wakes.work();
    }

    #[inline]
    fn opened(&mut self, conn: &mut LoadConn, id: ConnId, _: &FlowKey) {
        self.meter.held().opened(conn, id);
        self.present(conn, id);
    }

    fn incoming(&mut self, listener: &Role) -> Option<LoadConn> {
        let conn = LoadConn::new(*listener, None);
        // Simulated peers open their connections to the stack under test.
        let counted = matches!(listener, Role::Drain | Role::Reply | Role::Stream);
        Some(if counted { conn.counted() } else { conn })
    }

    fn connect_failed(&mut self, conn: LoadConn, error: ConnectError) {
        let Err(conn) = self.elsewhere(conn, error) else { return };
        self.fail(&conn, &format!("could not be opened: {error}"));
    }

    #[inline]
    fn ready(&mut self, conn: &mut LoadConn, tcb: &mut Tcb, events: Events, now: Instant) -> bool {
        if events.has(Events::CONNECTED) {
            self.connected(conn);
        }
        if !conn.open || events.has(Events::CLOSED) || self.meter.held().holds(conn) {
            return false;
        }
        if conn.presented.is_some() {
            return self.presented(conn, tcb);
        }
        match conn.role {
            Role::Client | Role::Churn => self.transact(conn, tcb, now),
            Role::Echo | Role::Reply => self.echo(conn, tcb),
            _ => self.act(conn, tcb, now),
        }
    }

    #[inline]
    fn has_posted(&self) -> bool {
        self.posts
    }

    #[inline]
    fn posted(
        &mut self,
        conn: &mut LoadConn,
        len: usize,
        fill: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> bool {
        let reads = matches!(conn.role, Role::Sink | Role::Drain) && conn.presented.is_none();
        reads && conn.open && self.take_at_once(conn, len, fill)
    }

    fn closed(&mut self, conn: LoadConn, tcb: &mut Tcb) {
        if self.soak.is_some() {
            return self.conversed(&conn, tcb.error());
        }
        // A handshake may make room for another, and what becomes of a short-lived
        // connection is for its client to count.
        if conn.role == Role::Short || (!conn.open && conn.remote.is_none()) {
            return;
        }
        if let Some(error) = tcb.error() {
            return self.fail(&conn, &format!("failed: {error}"));
        }
        match conn.role {
            Role::Churn if conn.closing => self.again(conn),
            Role::Echo | Role::Reply if conn.closing => {}
            _ => self.fail(&conn, "ended before its time"),
        }
    }

    fn bound_to(socket: &Socket) -> Option<Endpoint> {
        Some(socket.local)
    }

    fn datagram(&mut self, socket: &Socket, datagram: Datagram) -> bool {
        self.arrived(*socket, datagram)
    }

    fn datagram_error(&mut self, socket: &Socket, flow: FlowKey, error: tcp::Error) {
        self.meter.fail(format!("flow {} to {}: {error}", socket.flow, flow.remote));
    }

    fn next_datagram(&mut self, socket: &Socket) -> Option<Datagram> {
        self.compose(*socket)
    }

    #[inline]
    fn next_call(&mut self) -> Option<Call> {
        self.calls.pop_front().or_else(|| self.next_turn()).or_else(|| self.rescue())
    }
}
