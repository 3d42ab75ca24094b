//! Conversations of every kind, of which every byte is looked at.
//!
//! A client says in a header what the conversation is: the number of rounds, and the bytes
//! that it sends and is sent in each. With one round of many bytes
//! it is a bulk transfer, with many of few it is requests and responses, with one
//! of few a short-lived connection. Then it closes, and the server after it. A
//! client whose conversation has ended begins another, of another kind.

use super::pattern::{PERIOD, after};
use super::{Call, Load, LoadConn, Role, with_buffer};
use crate::random::SplitMix64;
use organizations::Clock;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;
use tcp::Tcb;
use wire::{Endpoint, Instant};

/// Bytes of a header: rounds, bytes of the client's and of the server's part, and
/// where in the pattern they start.
const HEADER: usize = 16;
/// Bytes read or written at once, at most.
const LONGEST: usize = 16 * 1024;

/// A conversation that lives, for the watchdog.
#[derive(Debug)]
pub(crate) struct Life {
    /// When something happened in it last, ns.
    at: AtomicU64,
    rounds: AtomicU32,
    out: AtomicU32,
    missing: AtomicU32,
    is_client: bool,
    kind: [u32; 4],
}

impl Life {
    /// For people: what it is and how far.
    fn describe(&self) -> String {
        let get = |count: &AtomicU32| count.load(Ordering::Relaxed);
        let [rounds, up, down, _] = self.kind;
        let side = if self.is_client { "client" } else { "server" };
        format!(
            "a {side} of {rounds} rounds of {up} and {down} bytes, with {} rounds, {} bytes to \
             send and {} bytes to come left",
            get(&self.rounds),
            get(&self.out),
            get(&self.missing)
        )
    }
}

/// What all conversations of a leg share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) clock: Clock,
    random: AtomicU64,
    /// Begin no more.
    resting: AtomicBool,
    next: AtomicU64,
    lives: Mutex<HashMap<u64, Arc<Life>>>,
    /// Conversations that ended as they should, at the client.
    pub(crate) done: AtomicU64,
    /// Bytes that came and were right, at either end.
    pub(crate) bytes: AtomicU64,
}

impl Shared {
    pub(crate) fn new(clock: Clock, seed: u64) -> Shared {
        Shared {
            clock,
            random: AtomicU64::new(seed),
            resting: AtomicBool::new(false),
            next: AtomicU64::new(0),
            lives: Mutex::default(),
            done: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
        }
    }

    /// Begin no conversation any more.
    pub(crate) fn rest(&self) {
        self.resting.store(true, Ordering::Relaxed);
    }

    /// Conversations that live, both ends counted.
    pub(crate) fn living(&self) -> usize {
        self.lives.lock().len()
    }

    /// A conversation in which nothing has happened for `time`.
    pub(crate) fn starved(&self, time: Duration) -> Option<String> {
        let now = self.clock.now();
        let is_old = |life: &&Arc<Life>| {
            let at = Instant::from_nanos(life.at.load(Ordering::Relaxed));
            now.since(at) > time
        };
        self.lives.lock().values().find(is_old).map(|life| life.describe())
    }

    /// A number below `below`, of which threads that ask at once get different ones.
    pub(crate) fn random(&self, below: u32) -> u32 {
        let state = self.random.fetch_add(SplitMix64::STEP, Ordering::Relaxed);
        (SplitMix64::mix(state) >> 32) as u32 % below.max(1)
    }

    /// A new conversation: rounds, bytes up, bytes down, place.
    fn kind(&self) -> [u32; 4] {
        let small = |most| 1 + self.random(most);
        let [rounds, up, down] = match self.random(8) {
            0 => [1, small(1 << 19), small(64)],
            1 => [1, small(64), small(1 << 19)],
            2 => [2, small(1 << 16), small(1 << 16)],
            3 | 4 => [small(200), small(2000), small(2000)],
            _ => [1, small(256), small(256)],
        };
        [rounds, up, down, self.random(PERIOD as u32)]
    }

    fn born(&self, kind: [u32; 4], is_client: bool) -> (u64, Arc<Life>) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let life = Arc::new(Life {
            at: AtomicU64::new(self.clock.now().as_nanos()),
            rounds: AtomicU32::new(kind[0]),
            out: AtomicU32::new(0),
            missing: AtomicU32::new(0),
            is_client,
            kind,
        });
        self.lives.lock().insert(number, life.clone());
        (number, life)
    }
}

/// One end of a conversation.
#[derive(Debug)]
pub(crate) struct Conversation {
    number: u64,
    life: Arc<Life>,
    /// Bytes of the header that were sent or have come.
    header: [u8; HEADER],
    header_at: usize,
    rounds: u32,
    /// Bytes to send and to come in this round, before and after the turn.
    out: u32,
    missing: u32,
    out_at: u32,
    in_at: u32,
    /// All was said and heard, but the end.
    finished: bool,
}

impl Conversation {
    fn client(shared: &Shared) -> Conversation {
        let kind = shared.kind();
        let mut header = [0; HEADER];
        for (to, word) in header.chunks_mut(4).zip(kind) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        let (number, life) = shared.born(kind, true);
        Conversation {
            number,
            life,
            header,
            header_at: 0,
            rounds: kind[0],
            out: kind[1],
            missing: kind[2],
            out_at: kind[3],
            in_at: kind[3],
            finished: false,
        }
    }

    fn server(shared: &Shared) -> Conversation {
        let (number, life) = shared.born([0; 4], false);
        Conversation {
            number,
            life,
            header: [0; HEADER],
            header_at: 0,
            rounds: 0,
            out: 0,
            missing: 0,
            out_at: 0,
            in_at: 0,
            finished: false,
        }
    }

    /// What the header says.
    fn kind(&self) -> [u32; 4] {
        std::array::from_fn(|n| {
            let word = &self.header[4 * n..4 * n + 4];
            u32::from_be_bytes([word[0], word[1], word[2], word[3]])
        })
    }

    /// Something happened.
    fn touch(&self, now: Instant) {
        self.life.at.store(now.as_nanos(), Ordering::Relaxed);
        self.life.rounds.store(self.rounds, Ordering::Relaxed);
        self.life.out.store(self.out, Ordering::Relaxed);
        self.life.missing.store(self.missing, Ordering::Relaxed);
    }
}

impl Load {
    /// Has a conversation, at either end.
    pub(super) fn converse(&mut self, conn: &mut LoadConn, tcb: &mut Tcb, now: Instant) -> bool {
        let Some(shared) = self.soak.clone() else { return false };
        let is_client = conn.role == Role::SoakClient;
        let mut own = conn.conversation.take().unwrap_or_else(|| {
            Box::new(match is_client {
                true => Conversation::client(&shared),
                false => Conversation::server(&shared),
            })
        });
        let mut moved = false;
        let result = loop {
            match self.step(&mut own, is_client, &shared, tcb) {
                Ok(true) => moved = true,
                Ok(false) => break Ok(()),
                Err(what) => break Err(what),
            }
        };
        if moved {
            own.touch(now);
        }
        if let Err(what) = result {
            self.fail(conn, &format!("{what}, of {}", own.life.describe()));
        }
        if own.finished && !conn.closing && (is_client || tcb.eof()) {
            conn.closing = true;
            tcb.shutdown_write();
        }
        conn.conversation = Some(own);
        false
    }

    /// Reads or writes something. Returns whether it could.
    fn step(
        &self,
        own: &mut Conversation,
        is_client: bool,
        shared: &Shared,
        tcb: &mut Tcb,
    ) -> Result<bool, String> {
        if own.header_at < HEADER {
            return Self::header(own, is_client, tcb);
        }
        if own.finished {
            return if tcb.received() > 0 { Err("was sent too much".into()) } else { Ok(false) };
        }
        // The client sends first, the server answers what is whole.
        let may_write = is_client || own.missing == 0;
        if own.out > 0 && may_write {
            return self.say(own, shared, tcb);
        }
        if own.missing > 0 {
            return self.hear(own, shared, tcb);
        }
        own.rounds -= 1;
        if own.rounds == 0 {
            own.finished = true;
        } else {
            let [_, up, down, _] = own.kind();
            (own.out, own.missing) = if is_client { (up, down) } else { (down, up) };
        }
        Ok(true)
    }

    fn header(own: &mut Conversation, is_client: bool, tcb: &mut Tcb) -> Result<bool, String> {
        if is_client {
            return match tcb.send(&own.header[own.header_at..]) {
                Ok(n) => {
                    own.header_at += n;
                    Ok(n > 0)
                }
                Err(tcp::Error::WouldBlock) => Ok(false),
                Err(error) => Err(format!("cannot send: {error}")),
            };
        }
        let at = own.header_at;
        let n = tcb.receive(&mut own.header[at..]).unwrap_or(0);
        own.header_at += n;
        if n == 0 && tcb.eof() {
            return Err("came to its end within the header".into());
        }
        if own.header_at == HEADER {
            let [rounds, up, down, place] = own.kind();
            if rounds == 0 || up == 0 || down == 0 || place as usize >= PERIOD {
                return Err("received a wrong header".into());
            }
            (own.rounds, own.missing, own.out) = (rounds, up, down);
            (own.in_at, own.out_at) = (place, place);
        }
        Ok(n > 0)
    }

    fn say(&self, own: &mut Conversation, shared: &Shared, tcb: &mut Tcb) -> Result<bool, String> {
        let n = (own.out as usize).min(1 + shared.random(LONGEST as u32) as usize);
        match tcb.send(self.pattern.from(own.out_at, n)) {
            Ok(sent) => {
                own.out -= sent as u32;
                own.out_at = after(own.out_at, sent);
                Ok(sent > 0)
            }
            Err(tcp::Error::WouldBlock) => Ok(false),
            Err(error) => Err(format!("cannot send: {error}")),
        }
    }

    fn hear(&self, own: &mut Conversation, shared: &Shared, tcb: &mut Tcb) -> Result<bool, String> {
        let most = (own.missing as usize).min(LONGEST);
        with_buffer(most, |buffer| {
            let n = tcb.receive(buffer).unwrap_or(0);
            if n == 0 {
                let early = tcb.eof().then(|| "came to its end".to_owned());
                return early.map_or(Ok(false), Err);
            }
            if buffer[..n] != *self.pattern.from(own.in_at, n) {
                return Err("received wrong data".into());
            }
            own.missing -= n as u32;
            own.in_at = after(own.in_at, n);
            shared.bytes.fetch_add(n as u64, Ordering::Relaxed);
            Ok(true)
        })
    }

    /// A connection with a conversation has ended.
    pub(super) fn conversed(&mut self, conn: &LoadConn, error: Option<tcp::Error>) {
        let Some(shared) = self.soak.clone() else { return };
        let is_client = conn.role == Role::SoakClient;
        if !conn.open && !is_client {
            // A SYN that came twice, and late.
            return;
        }
        let finished = conn.conversation.as_ref().is_some_and(|own| own.finished);
        if let Some(own) = &conn.conversation {
            shared.lives.lock().remove(&own.number);
        }
        // A server that was heard to the end may lose the last acknowledgment.
        if !finished || (is_client && error.is_some()) {
            let of = conn.conversation.as_ref().map(|own| own.life.describe());
            let error = error.map_or("no error".to_owned(), |error| error.to_string());
            return self.fail(conn, &format!("was lost with {error}: {of:?}"));
        }
        if is_client {
            shared.done.fetch_add(1, Ordering::Relaxed);
            if let Some(remote) =
                conn.remote.as_deref().filter(|_| !shared.resting.load(Ordering::Relaxed))
            {
                self.calls.push_back(connect(*remote));
            }
        }
    }
}

/// The call that begins a conversation with a server at `remote`.
pub(crate) fn connect(remote: Endpoint) -> Call {
    let connection = LoadConn::new(Role::SoakClient, Some(remote));
    Call::Connect { remote, local: None, connection }
}
