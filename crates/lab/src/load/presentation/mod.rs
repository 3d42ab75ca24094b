//! The presentation layer on top of the loads: messages are encoded before they
//! go to the transport, and decoded after they come from it.
//!
//! Neither is done while a connection is held. What there is to decode and to
//! encode is gathered there, as whole messages, and done with the wake-ups
//! ([`net::Application::wake`]): by whichever thread the organization gives
//! that to, and for one connection by several at once where packets are the
//! unit of concurrency. What was encoded waits in the [`Outbox`] of its
//! connection or flow; one that ran dry is notified.

mod stream;
mod tcp;
mod xdr;

pub(crate) use stream::Presented;
pub(crate) use xdr::Message;

use super::Call;
use super::findings::Findings;
use super::socket::Socket;
use net::ConnId;
use nfs3_types::xdr_codec::{Pack, Unpack};
use parking_lot::Mutex;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::Read;
use std::sync::{Arc, OnceLock};
use stream::{LAST, MARK};
use wire::{Parts, Slice, checksum};

/// Messages that are encoded at a time.
const REFILL: usize = 8;
/// Bytes of an outbox below which it is filled again, in messages.
const LOW: usize = 6;

/// How calls reach the stack from outside of its domains.
pub(crate) type Notify = Box<dyn Fn(Call) + Send + Sync>;

/// The presentation layer of a host.
pub(crate) struct Presentation {
    /// Records in a message.
    records: usize,
    /// Bytes that a datagram has in front of its message.
    front: usize,
    notify: OnceLock<Notify>,
    findings: Arc<Findings>,
}

impl Presentation {
    /// Messages of at most `bytes` bytes; in a datagram, behind `front` others.
    pub(crate) fn new(bytes: usize, front: usize, findings: Arc<Findings>) -> Presentation {
        let records = Message::records_in(bytes.saturating_sub(front));
        Presentation { records, front, notify: OnceLock::new(), findings }
    }

    /// Says how calls reach the stack.
    pub(crate) fn set_notify(&self, notify: Notify) {
        let _ = self.notify.set(notify);
    }

    fn message_len(&self) -> usize {
        Message::len_of(self.records)
    }

    /// An empty outbox whose slices have `chunk` bytes; 0: a message each.
    pub(crate) fn outbox(&self, chunk: usize) -> Outbox {
        let low = LOW * if chunk == 0 { 1 } else { self.message_len().div_ceil(chunk) };
        Outbox { chunk, low, out: Mutex::default() }
    }
}

/// A message as it came.
#[derive(Debug)]
pub(crate) struct Undecoded {
    /// Its number, if it is known.
    number: Option<u32>,
    payload: Parts,
}

impl Undecoded {
    /// The message in a datagram.
    pub(crate) fn datagram(payload: Parts) -> Undecoded {
        Undecoded { number: None, payload }
    }

    fn len(&self) -> usize {
        self.payload.iter().map(Slice::len).sum()
    }

    /// Decodes it, looks at it, and drops it: is it what it must be?
    fn is_right(&self, records: usize) -> bool {
        let mut reader = Reader { parts: &self.payload, at: 0 };
        let Ok((message, len)) = Message::unpack(&mut reader) else { return false };
        let numbered = self.number.is_none_or(|number| number == message.number);
        numbered && len == self.len() && message.is_right(records)
    }
}

/// Reads what lies in several parts.
struct Reader<'a> {
    parts: &'a [Slice],
    at: usize,
}

impl Read for Reader<'_> {
    #[inline]
    fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        while let Some(part) = self.parts.first() {
            let rest = &part[self.at..];
            if rest.is_empty() {
                (self.parts, self.at) = (&self.parts[1..], 0);
                continue;
            }
            let n = rest.len().min(to.len());
            to[..n].copy_from_slice(&rest[..n]);
            self.at += n;
            return Ok(n);
        }
        Ok(0)
    }

    #[inline]
    fn read_exact(&mut self, to: &mut [u8]) -> std::io::Result<()> {
        if let Some(bytes) =
            self.parts.first().and_then(|part| part.get(self.at..)?.get(..to.len()))
        {
            to.copy_from_slice(bytes);
            self.at += to.len();
            return Ok(());
        }
        let mut done = 0;
        while done < to.len() {
            match self.read(&mut to[done..])? {
                0 => return Err(std::io::ErrorKind::UnexpectedEof.into()),
                n => done += n,
            }
        }
        Ok(())
    }
}

/// What was encoded for one connection or flow and not sent yet.
pub(crate) struct Outbox {
    /// Bytes of a slice of a stream: a segment's. 0: messages go as datagrams.
    chunk: usize,
    /// Slices below which it is filled again.
    low: usize,
    out: Mutex<Out>,
}

#[derive(Default)]
struct Out {
    /// Each with its sum.
    ready: VecDeque<(Slice, u16)>,
    /// The start of a slice that is not full.
    tail: Option<Slice>,
    /// The number of the next message.
    next: u32,
    /// Somebody encodes for it, or is about to.
    refilling: bool,
    /// There was nothing when something could be sent: who fills it says so.
    starved: bool,
}

impl std::fmt::Debug for Outbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Outbox")
    }
}

impl Outbox {
    /// Hands slices to `send` until it declines one. Returns whether it is to be
    /// filled now. `waits`: if there are none left, the sender is to be notified
    /// when there are.
    pub(crate) fn send(&self, waits: bool, mut send: impl FnMut(&mut Slice, u16) -> bool) -> bool {
        let mut out = self.out.lock();
        loop {
            let Some((slice, sum)) = out.ready.front_mut() else {
                out.starved |= waits;
                break;
            };
            let sum = *sum;
            if !send(slice, sum) {
                break;
            }
            out.ready.pop_front();
        }
        let refill = out.ready.len() < self.low && !out.refilling;
        out.refilling |= refill;
        refill
    }

    /// Encodes some more messages. Returns whether somebody waits for them.
    fn refill(&self, presentation: &Presentation) -> bool {
        let (first, tail) = {
            let mut out = self.out.lock();
            let first = out.next;
            out.next = first.wrapping_add(REFILL as u32);
            (first, out.tail.take())
        };
        let numbers = (0..REFILL as u32).map(|n| first.wrapping_add(n));
        let mut slices = Vec::new();
        let tail = if self.chunk == 0 {
            slices.extend(numbers.map(|number| datagram(number, presentation)));
            None
        } else {
            self.stream(numbers, tail, presentation.records, &mut slices)
        };
        let mut out = self.out.lock();
        out.ready.extend(slices);
        out.tail = tail;
        out.refilling = false;
        std::mem::take(&mut out.starved)
    }

    /// Encodes messages as records of a stream, behind `tail`, in slices of a
    /// segment each, so that what was summed here is not summed again.
    fn stream(
        &self,
        numbers: impl Iterator<Item = u32>,
        tail: Option<Slice>,
        records: usize,
        slices: &mut Vec<(Slice, u16)>,
    ) -> Option<Slice> {
        let mut current = tail.unwrap_or_else(|| Slice::with_capacity(self.chunk));
        for number in numbers {
            with_scratch(|bytes| {
                encode_record(number, records, bytes);
                let mut rest = bytes.as_slice();
                while !rest.is_empty() {
                    let room = (self.chunk - current.len()).min(rest.len());
                    let n = current.append(&rest[..room]);
                    rest = &rest[n..];
                    if n < room || current.len() == self.chunk {
                        let full =
                            std::mem::replace(&mut current, Slice::with_capacity(self.chunk));
                        let sum = checksum::sum(&full);
                        slices.push((full, sum));
                    }
                }
            });
        }
        Some(current)
    }
}

/// Message `number` as the payload of a datagram.
fn datagram(number: u32, presentation: &Presentation) -> (Slice, u16) {
    with_scratch(|bytes| {
        bytes.resize(presentation.front, 0);
        encode(number, presentation.records, bytes);
        (Slice::copy_of(bytes), 0)
    })
}

/// Makes a message and encodes it behind `bytes`.
fn encode(number: u32, records: usize, bytes: &mut Vec<u8>) {
    let message = Message::of(number, records);
    // Memory does not refuse, and no count is beyond 32 bits.
    let _ = message.pack(bytes);
}

/// As [`encode`], with the record mark in front.
fn encode_record(number: u32, records: usize, bytes: &mut Vec<u8>) {
    let mark = LAST | Message::len_of(records) as u32;
    bytes.extend_from_slice(&mark.to_be_bytes());
    encode(number, records, bytes);
}

/// Runs `f` with an empty buffer of this thread.
fn with_scratch<R>(f: impl FnOnce(&mut Vec<u8>) -> R) -> R {
    thread_local! {
        static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    SCRATCH.with_borrow_mut(|bytes| {
        bytes.clear();
        f(bytes)
    })
}

/// An outbox to be filled, and who sends from it.
struct Refill {
    outbox: Arc<Outbox>,
    sender: Sender,
}

/// Who sends from an outbox.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Sender {
    Connection(ConnId),
    Flow(Socket),
}

impl Sender {
    fn call(self) -> Call {
        match self {
            Sender::Connection(id) => Call::Notify(id),
            Sender::Flow(socket) => Call::FlushUdp(socket),
        }
    }
}

/// Work of the presentation layer, gathered while a domain is held.
#[derive(Default)]
pub struct Wakes {
    /// Whose; `None`: nobody's, there is none.
    host: Option<Arc<Presentation>>,
    decode: Vec<Undecoded>,
    refill: Vec<Refill>,
}

impl Wakes {
    /// For the presentation layer of a host.
    pub(crate) fn of(host: Arc<Presentation>) -> Wakes {
        Wakes { host: Some(host), ..Wakes::default() }
    }

    pub(crate) fn presentation(&self) -> Option<&Arc<Presentation>> {
        self.host.as_ref()
    }

    pub(crate) fn decode(&mut self, message: Undecoded) {
        self.decode.push(message);
    }

    pub(crate) fn refill(&mut self, outbox: Arc<Outbox>, sender: Sender) {
        self.refill.push(Refill { outbox, sender });
    }

    /// Is there no work?
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.decode.is_empty() && self.refill.is_empty()
    }

    /// Moves the work to `to`.
    #[inline]
    pub(crate) fn give(&mut self, to: &mut Wakes) {
        if self.is_empty() {
            return;
        }
        if to.host.is_none() {
            to.host = self.host.clone();
            std::mem::swap(&mut self.decode, &mut to.decode);
            std::mem::swap(&mut self.refill, &mut to.refill);
        } else {
            to.decode.append(&mut self.decode);
            to.refill.append(&mut self.refill);
        }
    }

    /// Does the work.
    #[inline]
    pub(crate) fn work(self) {
        if let Some(host) = self.host {
            work(&host, self.decode, self.refill);
        }
    }
}

fn work(host: &Arc<Presentation>, decode: Vec<Undecoded>, refill: Vec<Refill>) {
    let mut bytes = 0;
    for message in decode {
        if !message.is_right(host.records) {
            host.findings.fail("decoded a wrong message");
        }
        bytes += message.len() + if message.number.is_some() { MARK } else { host.front };
    }
    if bytes > 0 {
        host.findings.add_decoded(bytes as u64);
    }
    for Refill { outbox, sender } in refill {
        if outbox.refill(host) {
            notify(host, sender.call());
        }
    }
}

/// A call that waits, and whose it is.
type Waiting = (Arc<Presentation>, Call);

thread_local! {
    /// Calls that wait until the one that is being made returns; `None`: none is
    /// being made on this thread.
    static WAITING: RefCell<Option<VecDeque<Waiting>>> =
        const { RefCell::new(None) };
}

/// Makes `call`. Where calls are made in place, they end with wake-ups, which
/// come here again: those wait, so that the stack does not grow.
fn notify(host: &Arc<Presentation>, call: Call) {
    let first = WAITING.with_borrow_mut(|waiting| match waiting {
        Some(waiting) => {
            waiting.push_back((host.clone(), call));
            None
        }
        None => {
            *waiting = Some(VecDeque::new());
            Some(call)
        }
    });
    let Some(call) = first else { return };
    let mut next = Some((host.clone(), call));
    while let Some((host, call)) = next {
        if let Some(notify) = host.notify.get() {
            notify(call);
        }
        next = WAITING.with_borrow_mut(|waiting| waiting.as_mut()?.pop_front());
    }
    WAITING.set(None);
}
