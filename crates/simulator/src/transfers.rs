//! [`Transfers`]: known bytes both ways, and what became of them.

use crate::pattern::Pattern;
use net::application::ConnectError;
use net::{Application, Datagram};
use std::collections::BTreeMap;
use tcp::{Events, Tcb};
use wire::{Instant, Slice};

/// Bytes of a job as the client tells it to the server, in front of its data.
const HEADER: usize = 24;
/// Bytes that are made at once.
const CHUNK: usize = 16 * 1024;

/// What one connection is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Its name. The bytes of both directions follow from it.
    pub id: u64,
    /// Bytes from the client to the server. [`Job::ENDLESS`]: zeros, without an end.
    pub up: u64,
    /// Bytes from the server to the client; the same holds.
    pub down: u64,
}

impl Job {
    /// So many bytes that there is no end to them.
    pub const ENDLESS: u64 = u64::MAX;

    fn to_bytes(self) -> [u8; HEADER] {
        let mut bytes = [0; HEADER];
        for (to, word) in bytes.chunks_mut(8).zip([self.id, self.up, self.down]) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        bytes
    }

    fn from_bytes(bytes: &[u8; HEADER]) -> Job {
        let word = |n: usize| {
            bytes[8 * n..8 * n + 8].iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        Job { id: word(0), up: word(1), down: word(2) }
    }
}

/// One end of a connection.
#[derive(Debug)]
pub struct Connection {
    client: bool,
    job: Option<Job>,
    /// What has come of a job's header.
    header: Vec<u8>,
    sent: u64,
    received: u64,
    /// A byte was not what was sent.
    wrong: bool,
    eof: bool,
    closing: bool,
    /// It counts among the handshakes.
    half_open: bool,
}

impl Connection {
    /// A client's end.
    pub fn client(job: Job) -> Connection {
        Connection {
            client: true,
            job: Some(job),
            header: Vec::new(),
            sent: 0,
            received: 0,
            wrong: false,
            eof: false,
            closing: false,
            half_open: false,
        }
    }

    fn server() -> Connection {
        Connection { client: false, job: None, ..Connection::client(Job::default()) }
    }

    fn take(&mut self, mut bytes: &[u8]) {
        if self.job.is_none() {
            let n = bytes.len().min(HEADER - self.header.len());
            self.header.extend_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            self.job = self.header.as_slice().try_into().ok().map(Job::from_bytes);
        }
        let Some(job) = self.job else { return };
        let expected = if self.client { job.down } else { job.up };
        if expected != Job::ENDLESS {
            let pattern = Pattern::new(job.id, !self.client);
            let beyond = self.received + bytes.len() as u64 > expected;
            self.wrong |= beyond || !pattern.is(self.received, bytes);
        }
        self.received += bytes.len() as u64;
    }

    /// Reads all there is.
    fn read(&mut self, tcb: &mut Tcb) {
        while let Some(slice) = tcb.pop_slice(usize::MAX) {
            self.take(slice.as_slice());
        }
        self.eof |= tcb.eof();
    }

    /// Is all that the peer had to send there, and as it was sent?
    fn is_whole(&self) -> bool {
        let expected = self.job.map(|job| if self.client { job.down } else { job.up });
        !self.wrong && self.eof && expected == Some(self.received)
    }
}

/// What became of one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The job's name; `None` if the server never heard it.
    pub id: Option<u64>,
    /// Is it the client's end?
    pub client: bool,
    /// Did every byte of the peer's arrive, right, in order, once, and then its end?
    pub whole: bool,
    /// Bytes received, without the job's header.
    pub received: u64,
    /// Segments that this end sent again.
    pub retransmits: u32,
    /// Why it ended, if not as it should.
    pub error: Option<tcp::Error>,
}

/// The application: as a server it does the jobs that it is told, as a client it tells them
/// and does its part.
#[derive(Debug, Default)]
pub struct Transfers {
    /// What has ended.
    pub outcomes: Vec<Outcome>,
    /// Connections that were not opened.
    pub refused: Vec<ConnectError>,
    /// Bytes received by the server of jobs without an end, by the job's name.
    pub endless: BTreeMap<u64, u64>,
    /// Clients' connections that were established: the job's name, and when.
    pub established: Vec<(u64, Instant)>,
    most_half_open: Option<usize>,
    deaf: bool,
    lets_go: bool,
    half_open: usize,
    zeros: Option<Slice>,
    bytes: Vec<u8>,
}

impl Transfers {
    /// As a server it has at most so many handshakes at a time.
    pub fn with_backlog(most: usize) -> Transfers {
        Transfers { most_half_open: Some(most), ..Transfers::default() }
    }

    /// As a client it does not read, and so closes its window.
    pub fn deaf() -> Transfers {
        Transfers { deaf: true, ..Transfers::default() }
    }

    /// As a server it lets go of a connection once all is queued, as a program that ends.
    pub fn letting_go() -> Transfers {
        Transfers { lets_go: true, ..Transfers::default() }
    }

    /// Notes that a server's handshake is over, in one way or the other.
    fn is_open(&mut self, connection: &mut Connection) {
        if std::mem::take(&mut connection.half_open) {
            self.half_open -= 1;
        }
    }

    fn write(&mut self, connection: &mut Connection, tcb: &mut Tcb) {
        let Some(job) = connection.job else { return };
        // A close before the connection stands would be its end.
        if tcb.state() == tcp::State::SynSent {
            return;
        }
        let whole = if connection.client { job.up } else { job.down };
        if connection.client && connection.sent == 0 && connection.header.is_empty() {
            match tcb.send(&job.to_bytes()) {
                // The buffer of a new connection has room for it.
                Ok(HEADER) => connection.header.extend_from_slice(&job.to_bytes()),
                _ => return,
            }
        }
        if whole == Job::ENDLESS {
            return self.write_zeros(tcb);
        }
        let pattern = Pattern::new(job.id, connection.client);
        self.bytes.resize(CHUNK, 0);
        while connection.sent < whole && !connection.closing {
            let room = tcb.send_room().min(CHUNK) as u64;
            let n = room.min(whole - connection.sent) as usize;
            if n == 0 {
                return;
            }
            pattern.fill(connection.sent, &mut self.bytes[..n]);
            match tcb.send(&self.bytes[..n]) {
                Ok(n) => connection.sent += n as u64,
                Err(_) => return,
            }
        }
        if !connection.closing {
            connection.closing = true;
            match self.lets_go && !connection.client {
                true => tcb.release(),
                false => tcb.shutdown_write(),
            }
        }
    }

    fn write_zeros(&mut self, tcb: &mut Tcb) {
        let chunk = tcb.chunk_size();
        let fits = self.zeros.as_ref().is_some_and(|zeros| zeros.len() == chunk);
        if !fits {
            self.zeros = Some(Slice::copy_of(&vec![0; chunk]));
        }
        let Some(zeros) = &self.zeros else { return };
        while tcb.queued() < tcb.send_buffer() && tcb.send_room() >= chunk {
            if tcb.send_slice(zeros.clone(), Some(0)).is_err() {
                return;
            }
        }
    }
}

impl Application for Transfers {
    type Connection = Connection;
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<Connection> {
        if self.half_open_limit_reached(&()) {
            return None;
        }
        self.half_open += 1;
        Some(Connection { half_open: true, ..Connection::server() })
    }

    fn incoming_established(&mut self, (): &()) -> Option<Connection> {
        Some(Connection::server())
    }

    fn half_open_limit_reached(&self, (): &()) -> bool {
        self.most_half_open.is_some_and(|most| self.half_open >= most)
    }

    fn refused(&mut self, mut connection: Connection) {
        self.is_open(&mut connection);
    }

    fn connect_failed(&mut self, _: Connection, error: ConnectError) {
        self.refused.push(error);
    }

    fn ready(
        &mut self,
        conn: &mut Connection,
        tcb: &mut Tcb,
        events: Events,
        now: Instant,
    ) -> bool {
        if let (true, Some(job)) = (conn.client && events.has(Events::CONNECTED), conn.job) {
            self.established.push((job.id, now));
        }
        if events.has(Events::CONNECTED) {
            self.is_open(conn);
        }
        if !(self.deaf && conn.client) {
            conn.read(tcb);
        }
        if let (false, Some(job @ Job { up: Job::ENDLESS, .. })) = (conn.client, conn.job) {
            self.endless.insert(job.id, conn.received);
        }
        self.write(conn, tcb);
        false
    }

    fn closed(&mut self, mut connection: Connection, tcb: &mut Tcb) {
        self.is_open(&mut connection);
        connection.read(tcb);
        self.outcomes.push(Outcome {
            id: connection.job.map(|job| job.id),
            client: connection.client,
            whole: connection.is_whole(),
            received: connection.received,
            retransmits: tcb.info().retransmits,
            error: tcb.error(),
        });
    }

    fn datagram(&mut self, (): &(), _: Datagram) -> bool {
        true
    }
}
