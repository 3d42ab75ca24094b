//! Datagrams without end. So that a sender neither outruns the link nor waits
//! for a clock, the receiver reports from time to time which datagram came last,
//! and the sender keeps a window outstanding. A datagram that is lost so costs
//! nothing but itself, and one that overtakes others no more.
//!
//! The flows of a host are shared by all its units: under some organizations any
//! thread takes any datagram.

use super::pattern::PERIOD;
use super::presentation::{Outbox, Sender, Undecoded};
use super::socket::Socket;
use super::watched::Watched;
use super::{Call, Load, with_buffer};
use crossbeam_utils::CachePadded;
use net::Datagram;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use wire::{Endpoint, Parts, Slice};

/// Datagrams of a flow that may be outstanding, if flows are few.
const WINDOW: u64 = 64;
/// Datagrams of all flows together: what the rings of a link hold, for most of
/// a lost window would never be reported.
const ALL: u64 = 128;
/// Flows that send without a window and have their turn in a round, at most: what
/// is sent in a round stays in the cache.
const TURNS: usize = 2;
/// The receiver reports after this part of a window.
const PARTS: u64 = 4;
/// Bytes of the number that each datagram starts with.
pub(crate) const NUMBER: usize = 8;

/// Rounds of a unit between two looks at the same flow, if flows are few.
const LOOK: u64 = 16 * 1024;

/// What a unit knows of flows that it looks at.
#[derive(Debug, Default)]
pub(super) struct Rescue {
    rounds: u64,
    /// What was reported of each flow at the last look.
    seen: Vec<Option<u64>>,
}

/// Which end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Send,
    /// Sends without a window, to nobody who reports.
    Stream,
    Receive,
    /// Receives what is not in the loads' pattern, and does not report.
    Drain,
    /// Receives stamped datagrams.
    Watch,
    /// Sends back what comes.
    Echo,
}

/// The flows of a host, as all its units know them.
pub(crate) type Flows = Arc<[CachePadded<Flow>]>;

/// One end of a flow.
#[derive(Debug)]
pub(crate) struct Flow {
    way: Way,
    local: Endpoint,
    remote: Endpoint,
    /// Datagrams that may be outstanding.
    window: u64,
    /// Sender: the datagrams sent; receiver: the greatest number that came.
    last: AtomicU64,
    /// The latest number that the receiver has reported.
    reported: AtomicU64,
    /// What was encoded for it, if there is a presentation layer.
    outbox: OnceLock<Arc<Outbox>>,
    /// What is known of a socket that is watched.
    watched: Option<Arc<Watched>>,
}

impl Flow {
    pub(crate) fn new(way: Way, local: Endpoint, remote: Endpoint) -> Flow {
        let (last, reported) = (AtomicU64::new(0), AtomicU64::new(0));
        let (outbox, window) = (OnceLock::new(), WINDOW);
        Flow { way, local, remote, window, last, reported, outbox, watched: None }
    }

    /// The number of flows that share a window.
    #[must_use]
    pub(crate) fn of(self, flows: usize) -> Flow {
        Flow { window: (ALL / flows.max(1) as u64).clamp(1, WINDOW), ..self }
    }

    /// The receiver reports each time when this many have come.
    fn step(&self) -> u64 {
        (self.window / PARTS).max(1)
    }

    /// A socket that is watched.
    pub(crate) fn watched(local: Endpoint, watched: Arc<Watched>) -> Flow {
        Flow { watched: Some(watched), ..Flow::new(Way::Watch, local, local) }
    }

    fn last(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    fn reported(&self) -> u64 {
        self.reported.load(Ordering::Relaxed)
    }

    /// The number of the next datagram, if the window has room for one.
    #[inline]
    fn next_number(&self) -> Option<u64> {
        let next =
            |last: u64| (last.saturating_sub(self.reported()) < self.window).then_some(last + 1);
        let before = self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        before.ok().map(|last| last + 1)
    }

    /// All that is outstanding counts as lost: nobody will report it.
    pub(crate) fn forgive(&self) {
        self.reported.fetch_max(self.last(), Ordering::Relaxed);
    }

    /// Datagrams sent or come so far.
    pub(crate) fn count(&self) -> u64 {
        self.last()
    }

    /// The datagrams of this flow that were sent, or the greatest number that
    /// came; none if it does not number them.
    pub(crate) fn datagrams(&self) -> Option<u64> {
        (!matches!(self.way, Way::Drain | Way::Echo)).then(|| self.last())
    }

    /// Its socket at number `index`, if it sends to a driver and has done no
    /// more than warm_arp.
    pub(crate) fn silent(&self, index: usize) -> Option<Socket> {
        let is_silent = self.way == Way::Stream && self.last() <= 1;
        is_silent.then_some(Socket { flow: index as u32, local: self.local })
    }

    /// Is a report due?
    #[inline]
    fn is_due(&self) -> bool {
        self.last().saturating_sub(self.reported()) >= self.step()
    }

    /// What to report, if a report is due: to one who asks.
    fn report(&self) -> Option<u64> {
        let last = self.last();
        let due = |reported: u64| (last.saturating_sub(reported) >= self.step()).then_some(last);
        self.reported.fetch_update(Ordering::Relaxed, Ordering::Relaxed, due).ok().map(|_| last)
    }
}

impl Load {
    /// A datagram has come; `false` if there is no room for it.
    pub(super) fn arrived(&mut self, socket: Socket, datagram: Datagram) -> bool {
        let Some(flow) = self.flows.get(socket.flow as usize) else { return true };
        if flow.way == Way::Echo {
            self.send_back(socket, datagram);
            return true;
        }
        let Some(number) = number(&datagram.payload) else {
            self.meter.fail("a datagram came out too short");
            return true;
        };
        if let Some(watched) = &flow.watched {
            return watched.take(number);
        }
        self.arrived_in_flow(socket, number, datagram);
        true
    }

    fn arrived_in_flow(&mut self, socket: Socket, number: u64, datagram: Datagram) {
        let Some(flow) = self.flows.get(socket.flow as usize) else { return };
        match flow.way {
            Way::Send => {
                if flow.last() < number {
                    return self.meter.fail("a report about a datagram that was never sent");
                }
                // Reports may overtake each other.
                flow.reported.fetch_max(number, Ordering::Relaxed);
                self.calls.push_back(Call::FlushUdp(socket));
            }
            Way::Stream | Way::Watch | Way::Echo => {}
            Way::Drain => self.take(None, datagram.payload),
            Way::Receive => {
                flow.last.fetch_max(number, Ordering::Relaxed);
                if flow.is_due() {
                    self.calls.push_back(Call::FlushUdp(socket));
                }
                self.take(Some(number), datagram.payload);
            }
        }
    }

    /// Copies the payload out and into the answer, as an application that echoes
    /// does.
    fn send_back(&mut self, socket: Socket, datagram: Datagram) {
        let Datagram { local, remote, payload } = datagram;
        let slice = with_buffer(self.bytes.max(65536), |buffer| {
            let mut at = 0;
            for part in &payload {
                buffer[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
            Slice::copy_of(&buffer[..at])
        });
        self.tally.received.add(slice.len() as u64);
        self.echoes.push_back(Datagram {
            local,
            remote,
            payload: std::iter::once(slice).collect(),
        });
        if self.echoes.len() == 1 {
            self.calls.push_back(Call::FlushUdp(socket));
        }
    }

    /// Copies the payload out, as an application that receives does; or has it
    /// decoded.
    fn take(&mut self, number: Option<u64>, mut payload: Parts) {
        if self.wakes.presentation().is_some() && number.is_some() {
            drop_front(&mut payload, NUMBER);
            return self.wakes.decode(Undecoded::datagram(payload));
        }
        let total = with_buffer(self.bytes.max(65536), |buffer| {
            let mut at = 0;
            for part in &payload {
                buffer[at..at + part.len()].copy_from_slice(part);
                at += part.len();
            }
            let is_right = |number| {
                let came = &buffer[NUMBER..at];
                match self.soak {
                    Some(_) => came == self.pattern.from(place(number), came.len()),
                    None => self.pattern.fits(place(number), came),
                }
            };
            if let Some(number) = number
                && (at != self.bytes || !is_right(number))
            {
                self.meter.fail("received a wrong datagram");
            }
            at
        });
        self.tally.received.add(total as u64);
    }

    /// The next call that streams make: each has a turn in each round.
    pub(super) fn next_turn(&mut self) -> Option<Call> {
        if self.turns >= self.streams.len().min(TURNS) || !self.meter.has_started() {
            // The others have theirs in the next rounds.
            self.turns = 0;
            return None;
        }
        self.turns += 1;
        self.streams.pop_front().map(Call::FlushUdp)
    }

    /// Now and then looks at a flow: if nothing of its window was reported since
    /// the last look, all of that is lost (while the neighbour's address was not
    /// known, say), and it begins anew.
    pub(super) fn rescue(&mut self) -> Option<Call> {
        if self.flows.is_empty() {
            return None;
        }
        let rescue = &mut self.rescue;
        rescue.rounds += 1;
        let between = (LOOK / self.flows.len() as u64).max(16);
        if !rescue.rounds.is_multiple_of(between) {
            return None;
        }
        rescue.seen.resize(self.flows.len(), None);
        let index = (rescue.rounds / between) as usize % self.flows.len();
        let flow = &self.flows[index];
        let reported = flow.reported();
        let same = rescue.seen[index].replace(reported) == Some(reported);
        if flow.way != Way::Send || !same || flow.last().saturating_sub(reported) < flow.window {
            return None;
        }
        flow.forgive();
        Some(Call::FlushUdp(Socket { flow: index as u32, local: flow.local }))
    }

    /// The next datagram of a flow, if it may send one.
    pub(super) fn compose(&mut self, socket: Socket) -> Option<Datagram> {
        let flow = self.flows.get(socket.flow as usize)?;
        let (local, remote) = (flow.local, flow.remote);
        if flow.way == Way::Stream && !self.meter.has_started() {
            let knocks = flow.last() == 0 && self.wakes.presentation().is_none();
            if !knocks {
                self.streams.push_back(socket);
                return None;
            }
        }
        let payload = match flow.way {
            Way::Send | Way::Stream if self.wakes.presentation().is_some() => {
                self.encoded(socket)?
            }
            Way::Send | Way::Stream => match flow.next_number() {
                Some(number) => self.plain(number),
                None => return self.end_turn(socket),
            },
            Way::Receive => Slice::copy_of(&flow.report()?.to_be_bytes()),
            Way::Echo => return self.echoes.pop_front(),
            Way::Drain | Way::Watch => return None,
        };
        let payload = std::iter::once(payload).collect();
        Some(Datagram { local, remote, payload })
    }

    /// The payload of datagram `number`, from the pattern.
    #[inline]
    fn plain(&self, number: u64) -> Slice {
        let mut slice = Slice::with_capacity(self.bytes);
        slice.append(&number.to_be_bytes());
        slice.append(self.pattern.from(place(number), self.bytes - NUMBER));
        self.tally.sent.add(self.bytes as u64);
        slice
    }

    /// The window is used up. A stream's turn is over so; the next one comes with
    /// the next round.
    #[inline]
    fn end_turn(&mut self, socket: Socket) -> Option<Datagram> {
        let flow = &self.flows[socket.flow as usize];
        if flow.way == Way::Stream {
            let reported = flow.last().saturating_sub(flow.window - flow.step());
            flow.reported.store(reported, Ordering::Relaxed);
            self.streams.push_back(socket);
        }
        None
    }

    /// The next payload that was encoded, with the number of its datagram in
    /// front.
    fn encoded(&mut self, socket: Socket) -> Option<Slice> {
        let flow = self.flows.get(socket.flow as usize)?;
        let host = self.wakes.presentation()?;
        let outbox = flow.outbox.get_or_init(|| Arc::new(host.outbox(0)));
        // A stream has its turns anyway; and since nothing but its turns holds it
        // back, who notified it in place would never come to an end.
        let stream = flow.way == Way::Stream;
        let (mut payload, mut shut) = (None, false);
        let refill = outbox.send(!stream, |slice, _| {
            if payload.is_some() {
                return false;
            }
            let Some(number) = flow.next_number() else {
                shut = true;
                return false;
            };
            if let Some(front) = slice.get_mut().and_then(|bytes| bytes.get_mut(..NUMBER)) {
                front.copy_from_slice(&number.to_be_bytes());
            }
            payload = Some(slice.clone());
            true
        });
        if refill {
            let outbox = outbox.clone();
            self.wakes.refill(outbox, Sender::Flow(socket));
        }
        if shut || (stream && payload.is_none()) {
            self.end_turn(socket);
        }
        let sent = payload.as_ref().map_or(0, |payload| payload.len());
        self.tally.sent.add(sent as u64);
        payload
    }
}

/// Where the payload behind `number` starts in the pattern.
fn place(number: u64) -> u32 {
    (number % PERIOD as u64) as u32
}

/// The number at the start of a payload, whichever parts it lies in.
fn number(payload: &Parts) -> Option<u64> {
    let mut bytes = payload.iter().flat_map(|part| part.iter().copied());
    let mut number = 0;
    for _ in 0..NUMBER {
        number = number << 8 | u64::from(bytes.next()?);
    }
    Some(number)
}

/// Takes the first `len` bytes off, which are there.
fn drop_front(payload: &mut Parts, mut len: usize) {
    for part in payload {
        let n = part.len().min(len);
        part.advance(n);
        len -= n;
    }
}
