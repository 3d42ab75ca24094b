//! [`App`]: an application that notes what it sees, and sends it back.

use crate::script::{DATAGRAM_FLOWS, Manner, UNIT};
use net::application::ConnectError;
use net::{Application, ConnId, Datagram};
use platform::{Mutex, MutexGuard};
use std::sync::Arc;
use tcp::{Error, Events, Tcb};
use wire::{FlowKey, Instant};

/// The first port of the far ends of connections; which it is tells the number.
pub const FAR_PORT: u16 = 7000;
/// The first port of the far ends of datagrams.
pub const FAR_DATAGRAMS: u16 = 9000;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With the stream, which was whole; whether a RST came after that depends
    /// on who closes when.
    Whole,
    /// Before.
    Broken(Option<Error>),
}

/// What an application sees of one connection.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Connection {
    /// It was opened.
    pub opened: bool,
    /// What came, as one stream.
    pub stream: Vec<u8>,
    /// How it ended.
    pub end: Option<End>,
}

/// The stream as a number for each unit of it, so that a reader sees which differ.
impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sum = |part: &[u8]| {
            part.iter().fold(0u16, |sum, byte| sum.wrapping_mul(31) ^ u16::from(*byte))
        };
        let parts: Vec<u16> = self.stream.chunks(UNIT).map(sum).collect();
        let (bytes, end) = (self.stream.len(), self.end);
        write!(f, "opened: {}, {bytes} bytes {parts:x?}, {end:?}", self.opened)
    }
}

/// What an application sees: by connection, and by flow of UDP.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// The connections.
    pub connections: Vec<Connection>,
    /// The payloads of datagrams, by flow.
    pub datagrams: Vec<Vec<Vec<u8>>>,
}

/// Of a datagram, the step that it is and its length.
impl std::fmt::Debug for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let step = |payload: &Vec<u8>| {
            let step = payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
            (step, payload.len())
        };
        let datagrams: Vec<Vec<_>> =
            self.datagrams.iter().map(|flow| flow.iter().map(step).collect()).collect();
        write!(f, "connections: {:?}, datagrams: {datagrams:?}", self.connections)
    }
}

impl Trace {
    /// Forgets the order of datagrams.
    pub fn sort_datagrams(&mut self) {
        self.datagrams.iter_mut().for_each(|flow| flow.sort());
    }
}

/// Where all units note what they see.
#[derive(Clone)]
pub struct Record(Arc<Mutex<Trace>>);

impl Record {
    /// Of so many connections.
    pub fn new(connections: usize) -> Record {
        Record(Arc::new(Mutex::new(Trace {
            connections: vec![Connection::default(); connections],
            datagrams: vec![Vec::new(); DATAGRAM_FLOWS],
        })))
    }

    /// What has been seen so far.
    pub fn trace(&self) -> MutexGuard<'_, Trace> {
        self.0.lock()
    }
}

/// What is sent back for a byte.
pub fn answer(byte: u8) -> u8 {
    byte ^ 0x5a
}

/// The application.
pub struct App(pub Record);

/// What it keeps with a connection.
pub struct Talk {
    number: usize,
    manner: Manner,
    answered: usize,
}

impl Talk {
    /// One that is about to begin.
    pub fn new(manner: Manner) -> Talk {
        Talk { number: usize::MAX, manner, answered: 0 }
    }

    /// What it has not heard yet, and whether all has come.
    fn hear(&self, record: &Record, tcb: &mut Tcb) -> (Vec<u8>, bool) {
        let mut heard = Vec::new();
        while let Some(slice) = tcb.pop_slice(usize::MAX) {
            heard.extend_from_slice(&slice);
        }
        let mut trace = record.trace();
        let connection = &mut trace.connections[self.number];
        assert!(connection.opened && connection.end.is_none(), "{connection:?}");
        connection.stream.extend_from_slice(&heard);
        (heard, tcb.eof())
    }
}

impl Application for App {
    type Connection = Talk;
    type Listener = Manner;
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, manner: &Manner) -> Option<Talk> {
        Some(Talk::new(*manner))
    }

    fn connect_failed(&mut self, _: Talk, error: ConnectError) {
        panic!("{error}");
    }

    /// More than once where connections move between units; and anew, if the
    /// connection has ended.
    fn opened(&mut self, talk: &mut Talk, _: ConnId, flow: &FlowKey) {
        talk.number = usize::from(flow.remote.port - FAR_PORT);
        let connection = &mut self.0.trace().connections[talk.number];
        if connection.end.is_some() {
            *connection = Connection::default();
        }
        connection.opened = true;
    }

    fn ready(&mut self, talk: &mut Talk, tcb: &mut Tcb, _: Events, _: Instant) -> bool {
        let (heard, eof) = talk.hear(&self.0, tcb);
        let most = match talk.manner {
            Manner::Echo => usize::MAX,
            Manner::Close(most) => most,
        };
        let left = heard.len().min(most - talk.answered);
        let answers: Vec<u8> = heard[..left].iter().map(|b| answer(*b)).collect();
        talk.answered += left;
        if !answers.is_empty() {
            // After a reset nobody hears it.
            let _ = tcb.send(&answers);
        }
        if eof || talk.answered == most {
            tcb.shutdown_write();
        }
        false
    }

    fn closed(&mut self, talk: Talk, tcb: &mut Tcb) {
        let (_, eof) = talk.hear(&self.0, tcb);
        let end = if eof { End::Whole } else { End::Broken(tcb.error()) };
        self.0.trace().connections[talk.number].end = Some(end);
    }

    fn datagram(&mut self, (): &(), datagram: Datagram) -> bool {
        let flow = usize::from(datagram.remote.port - FAR_DATAGRAMS);
        let payload = datagram.payload.iter().flat_map(|part| part.to_vec()).collect();
        self.0.trace().datagrams[flow].push(payload);
        true
    }
}
