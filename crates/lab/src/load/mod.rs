//! The loads: applications that live inside the domains.

mod bulk;
mod meter;
mod pattern;
mod shares;
mod transactions;
mod udp;

pub use meter::{Meter, Totals};
pub(crate) use shares::jain;
pub use udp::Socket;
pub(crate) use udp::{Flow, Way};

use crossbeam_utils::CachePadded;
use meter::Tally;
use net::application::ConnectError;
use net::{Application, Datagram};
use pattern::Pattern;
use shares::{Shares, Since};
use std::collections::VecDeque;
use std::sync::Arc;
use tcp::{Events, Tcb};
use wire::{Endpoint, Instant};

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
    /// Writes without end, and reads.
    Both,
    /// Sends back what it reads.
    Echo,
    /// Sends a message, waits for its echo, and again.
    Client,
    /// Sends a message, waits for its echo, closes, and opens another connection.
    Churn,
}

/// What a load keeps with a connection.
#[derive(Clone, Copy, Debug)]
pub struct Talk {
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
    /// Its number among those whose parts are counted.
    number: u32,
    /// Where an active open went to.
    remote: Option<Endpoint>,
}

impl Talk {
    /// A connection that will do this. `remote`: where an active open goes to.
    pub fn new(role: Role, remote: Option<Endpoint>) -> Talk {
        Talk {
            role,
            open: false,
            closing: false,
            out_at: 0,
            in_at: 0,
            unsent: 0,
            missing: 0,
            asked: Since::default(),
            number: u32::MAX,
            remote,
        }
    }

    /// The same, whose part is counted under `number`.
    pub(crate) fn numbered(self, number: u32) -> Talk {
        Talk { number, ..self }
    }
}

/// The load of one unit.
pub struct Load {
    /// Bytes of a write, a message or a datagram's payload.
    bytes: usize,
    pattern: Pattern,
    tally: Arc<CachePadded<Tally>>,
    meter: Arc<Meter>,
    shares: Shares,
    calls: VecDeque<Call>,
    flows: Vec<Flow>,
    /// Flows that stream, and how many have had their turn in this round.
    streams: VecDeque<Socket>,
    turns: usize,
    /// Begin no transaction any more, but each connection its first.
    pub(crate) resting: bool,
}

/// What all loads of a host have in common: makes them.
#[derive(Clone)]
pub struct Loads {
    bytes: usize,
    pattern: Pattern,
    meter: Arc<Meter>,
}

impl Loads {
    /// Loads with writes or messages of `bytes`, that count in `meter`.
    pub fn new(bytes: usize, meter: Arc<Meter>) -> Loads {
        Loads { bytes, pattern: Pattern::new(bytes.max(READ)), meter }
    }

    /// The load of a unit, with these flows of UDP.
    pub(crate) fn load(&self, flows: Vec<Flow>) -> Load {
        Load {
            bytes: self.bytes,
            pattern: self.pattern.clone(),
            tally: self.meter.tally(),
            meter: self.meter.clone(),
            shares: self.meter.shares().clone(),
            calls: VecDeque::new(),
            flows,
            streams: VecDeque::new(),
            turns: 0,
            resting: false,
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
    /// Notes that `what` went wrong with the connection in state `talk`.
    #[cold]
    fn fail(&self, talk: &Talk, what: &str) {
        self.meter.fail(format!("a connection of a {:?} {what}", talk.role).to_lowercase());
    }
}

impl Application for Load {
    type Connection = Talk;
    type Listener = Role;
    type Udp = Socket;
    type Wakes = ();

    fn incoming(&mut self, listener: &Role) -> Option<Talk> {
        let talk = Talk::new(*listener, None);
        // Simulated peers open their connections to the stack under test.
        Some(if *listener == Role::Drain { talk.numbered(self.shares.number()) } else { talk })
    }

    fn connect_failed(&mut self, talk: Talk, error: ConnectError) {
        self.fail(&talk, &format!("could not be opened: {error}"));
    }

    #[inline]
    fn ready(&mut self, talk: &mut Talk, tcb: &mut Tcb, events: Events, now: Instant) -> bool {
        if events.has(Events::CONNECTED) {
            talk.open = true;
            self.tally.connected.add(1);
        }
        if !talk.open || events.has(Events::CLOSED) {
            return false;
        }
        match talk.role {
            Role::Idle => false,
            Role::Source => self.write(talk, tcb),
            Role::Sink | Role::Drain => self.read(talk, tcb),
            Role::Both => {
                self.read(talk, tcb);
                self.write(talk, tcb)
            }
            Role::Echo => self.echo(talk, tcb),
            Role::Client | Role::Churn => self.transact(talk, tcb, now),
        }
    }

    fn closed(&mut self, talk: Talk, tcb: &mut Tcb) {
        if let Some(error) = tcb.error() {
            return self.fail(&talk, &format!("failed: {error}"));
        }
        match talk.role {
            Role::Churn if talk.closing => self.again(talk),
            Role::Echo if talk.closing => {}
            _ => self.fail(&talk, "ended before its time"),
        }
    }

    fn datagram(&mut self, socket: &Socket, datagram: Datagram) -> bool {
        self.arrived(*socket, &datagram);
        true
    }

    fn datagram_error(&mut self, socket: &Socket, remote: Endpoint, error: tcp::Error) {
        self.meter.fail(format!("flow {} to {remote}: {error}", socket.flow));
    }

    fn next_datagram(&mut self, socket: &Socket) -> Option<Datagram> {
        self.compose(*socket)
    }

    #[inline]
    fn next_call(&mut self) -> Option<Call> {
        self.calls.pop_front().or_else(|| self.next_turn())
    }
}
