//! [`TcpShared`]: what a stream and its connection share.

pub(crate) mod posted;
mod unsent;
mod user;

use super::backlog::Backlog;
use super::registry::{Entry, Registry};
use super::ttl::Ttl;
use crate::closing::Closing;
use crate::error::SocketError;
use crate::options::{Setting, TcpOptions};
use crate::trace;
use crate::wait::Waiters;
use net::ConnId;
use net::application::ConnectError;
use platform::Mutex;
use platform::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::Arc;
use std::task::Waker;
use tcp::{ReceiveQueue, Tcb};
use unsent::Unsent;
pub(crate) use user::WriteLimits;
use wire::{FlowKey, Instant};

/// Slices at least this long are handed to TCP as they are; shorter ones are
/// copied together, so that small writes do not each hold a block.
const WHOLE: usize = 1024;

/// Where a connection is, as its stream sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Opening,
    Open,
    Closed,
}

/// What the stream wants of TCP, beside moving data.
#[derive(Debug, Default)]
struct PendingOptions {
    shutdown: bool,
    release: bool,
    abort: bool,
    /// Somebody asks for [`Rare::info`].
    info: bool,
}

/// What few sockets have: apart, so that it costs the others a pointer.
#[derive(Debug, Default)]
struct Rare {
    /// Options that TCP is to hear of, in the order in which they were made.
    settings: Vec<Setting>,
    /// What the stream wants its send buffer to be, if it said so (SO_SNDBUF).
    wanted_buffer: Option<usize>,
    /// The listener that has given it away before its handshake was over (RFC 7413).
    early: Option<Arc<ListenerShared>>,
    /// What TCP knew when somebody last asked.
    info: Option<tcp::Info>,
    info_waiters: Waiters,
}

#[derive(Debug)]
struct State {
    phase: Phase,
    id: Option<ConnId>,
    flow: Option<FlowKey>,
    /// The listener that still waits for this connection's handshake.
    listener: Option<Arc<ListenerShared>>,
    /// Why the connection ended; told once.
    error: Option<SocketError>,
    /// The same, for who reads and has not heard of it: whoever else did, he must not take the part
    /// that came for all.
    cut: Option<SocketError>,
    /// The domain has been told that there is something for it, and has not
    /// looked yet.
    notified: bool,

    /// Received and not read.
    unread: ReceiveQueue,
    /// What TCP was last told of it.
    last_advertised: usize,
    eof: bool,
    /// All up to the peer's FIN was taken: reading ends well, whatever happens
    /// to the connection later.
    finished: bool,
    shut_read: bool,
    readers: Waiters,
    /// A reader has left its buffer.
    posted: Option<posted::Posted>,

    /// Written and not yet with TCP, with the sums of the bytes if known.
    unsent: Unsent,
    unsent_bytes: usize,
    /// What TCP had queued when the domain last looked.
    queued: usize,
    send_buffer: usize,
    /// Writing waits once so many bytes were never sent (TCP_NOTSENT_LOWAT).
    notsent_lowat: usize,
    /// How many those were when the domain last looked, but for what went at once.
    notsent: usize,
    /// More follows at once behind what was written last (MSG_MORE).
    more: bool,
    /// TCP has to hear of that.
    more_is_news: bool,
    /// So many bytes that were read since are worth telling TCP of.
    worth_telling: usize,
    /// The peer has closed both ways, or TCP has given up: writing makes no sense any more.
    broken: bool,
    writers: Waiters,
    /// Bytes of a chunk that is sent as it is, and whether to sum it.
    chunk: usize,
    sum: bool,
    pending: PendingOptions,
    rare: Option<Box<Rare>>,
    closing: Arc<Closing>,
    /// This connection is one of `closing`.
    is_closing: bool,
    entry: Option<Entry<TcpShared>>,
}

/// What a listening socket and all domains share.
pub(crate) type ListenerShared = Backlog<TcpShared>;

/// What a stream and its connection share.
#[derive(Debug)]
pub(crate) struct TcpShared {
    state: Mutex<State>,
    pub(crate) ttl: Ttl,
    tos: AtomicU8,
    allow_fragments: AtomicBool,
    /// What it is opened with.
    options: Option<Arc<TcpOptions>>,
}

impl TcpShared {
    /// The socket of an active open.
    pub(crate) fn opening(closing: Arc<Closing>, options: Option<Arc<TcpOptions>>) -> TcpShared {
        let lowat = lowat(options.as_ref().and_then(|o| o.notsent_lowat));
        let tos = options.as_ref().map_or(0, |o| o.tos);
        let state = State {
            phase: Phase::Opening,
            id: None,
            flow: None,
            listener: None,
            error: None,
            cut: None,
            notified: false,
            unread: ReceiveQueue::new(),
            last_advertised: 0,
            eof: false,
            finished: false,
            shut_read: false,
            readers: Waiters::default(),
            posted: None,
            unsent: Unsent::default(),
            unsent_bytes: 0,
            queued: 0,
            send_buffer: 0,
            notsent_lowat: lowat,
            notsent: 0,
            more: false,
            more_is_news: false,
            worth_telling: 0,
            broken: false,
            writers: Waiters::default(),
            chunk: 0,
            sum: true,
            pending: PendingOptions::default(),
            rare: None,
            closing,
            is_closing: false,
            entry: None,
        };
        let tos = AtomicU8::new(tos);
        let cut = options.as_ref().is_some_and(|o| o.allow_fragments);
        let (state, allow_fragments) = (Mutex::new(state), AtomicBool::new(cut));
        TcpShared { state, ttl: Ttl::default(), tos, allow_fragments, options }
    }

    /// The socket of a passive open by `listener`.
    pub(crate) fn incoming(listener: Arc<ListenerShared>) -> TcpShared {
        let (ttl, closing) = (Ttl::like(&listener.ttl), listener.closing().clone());
        let socket = TcpShared { ttl, ..TcpShared::opening(closing, listener.options()) };
        socket.state.lock().listener = Some(listener);
        socket
    }

    // What the holder of the domain calls.

    /// Tells a new control block what the socket was opened with.
    #[inline]
    pub(crate) fn prepare(&self, tcb: &mut Tcb, now: Instant) {
        if let Some(options) = &self.options {
            options.apply(tcb, now);
        }
    }

    /// The type of service.
    #[inline]
    pub(crate) fn tos(&self) -> u8 {
        self.tos.load(Ordering::Relaxed)
    }

    pub(crate) fn allow_fragments(&self) -> bool {
        self.allow_fragments.load(Ordering::Relaxed)
    }

    /// The connection has this name now. With its first it is added to `all` of the stack.
    pub(crate) fn opened(this: &Arc<Self>, id: ConnId, flow: &FlowKey, all: &Registry<Self>) {
        let mut state = this.state.lock();
        state.flow = Some(*flow);
        // A connection that migrates is opened again, with another name.
        if state.id.replace(id).is_none() {
            state.entry = Some(all.add(this, usize::from(flow.local.port ^ flow.remote.port)));
        }
    }

    pub(crate) fn connect_failed(&self, error: ConnectError, wakes: &mut Vec<Waker>) {
        trace::not_opened(error.into());
        let mut state = self.state.lock();
        state.phase = Phase::Closed;
        state.error = Some(error.into());
        state.wake_all(wakes);
    }

    /// There will be no connection for this socket.
    pub(crate) fn refused(&self, wakes: &mut Vec<Waker>) {
        let listener = self.state.lock().listener.take();
        if let Some(listener) = listener {
            listener.arrived(None, wakes);
        }
    }

    /// May it be the application's before its handshake is over (RFC 7413)?
    pub(crate) fn opens_early(&self, now: Instant) -> bool {
        let mut state = self.state.lock();
        let listener = state.listener.clone().filter(|listener| listener.reserve_early(now));
        let opens = listener.is_some();
        if opens {
            state.rare().early = listener;
        }
        opens
    }

    /// The handshake is done, or need not be.
    pub(crate) fn connected(socket: &Arc<TcpShared>, tcb: &mut Tcb, wakes: &mut Vec<Waker>) {
        let mut state = socket.state.lock();
        let listener = state.listener.take();
        if tcb.is_synchronized() {
            state.early_ends(None);
        }
        drop(state);
        if let Some(listener) = listener
            && !listener.arrived(Some(socket.clone()), wakes)
        {
            tcb.abort();
        }
    }

    /// Moves data both ways between the socket and TCP, and does what the stream has
    /// asked for.
    pub(crate) fn exchange(&self, tcb: &mut Tcb, wakes: &mut Vec<Waker>) {
        let mut state = self.state.lock();
        state.notified = false;
        let mut opened = None;
        if state.phase == Phase::Opening && tcb.is_open() {
            state.phase = Phase::Open;
            opened = state.flow;
            state.sum = tcb.config().checksum;
            state.chunk = tcb.chunk_size();
            state.writers.take(wakes);
        }
        state.give(tcb);
        state.take(tcb, wakes);
        state.fulfil(tcb);
        state.tell_info(tcb, wakes);
        state.note_limit(tcb);
        let is_acknowledged = state.unsent.is_empty()
            && matches!(tcb.state(), tcp::State::FinWait2 | tcp::State::TimeWait);
        if is_acknowledged || state.pending.abort {
            state.closing_ends();
        }
        if let Some(error) = tcb.error() {
            state.breaks(Some(error));
        }
        state.queued = tcb.queued();
        state.send_buffer = match state.rare.as_ref().and_then(|rare| rare.wanted_buffer) {
            Some(bytes) => bytes.min(tcb.queue_limit()),
            None => tcb.send_buffer(),
        };
        let room = state.send_buffer.saturating_sub(state.queued);
        // A writer is woken for much at a time, unless it is what the path waits for.
        let share = if tcb.lacks_data() { 16 } else { 3 };
        // What is SACKed leaves with the hole before it.
        let mut room = room >= state.send_buffer.saturating_sub(tcb.sacked()) / share;
        if state.notsent_lowat != usize::MAX {
            // What goes at once is as good as sent.
            state.notsent = tcb.unsent().saturating_sub(tcb.sendable_now());
            room &= 2 * (state.notsent + state.unsent_bytes) < state.notsent_lowat;
        }
        if !state.writers.is_empty() && (state.broken || room) {
            state.writers.take(wakes);
        }
        if state.broken {
            state.readers.take(wakes);
        }
        drop(state);
        if let Some(flow) = opened {
            trace::opened(&flow);
        }
    }

    /// It has been silent for a while: lets go of memory that only a busy one needs.
    pub(crate) fn rest(&self) {
        let mut state = self.state.lock();
        state.unsent.rest();
        state.unread.rest();
    }

    /// The connection has ended.
    pub(crate) fn closed(&self, tcb: &mut Tcb, wakes: &mut Vec<Waker>) {
        let ended;
        let listener = {
            let mut state = self.state.lock();
            state.take(tcb, wakes);
            state.tell_info(tcb, wakes);
            state.phase = Phase::Closed;
            state.closing_ends();
            state.eof = true;
            let error = tcb.error();
            state.breaks(error);
            state.unsent.clear();
            state.unsent_bytes = 0;
            let is_reset = error == Some(tcp::Error::Reset);
            state.early_ends(is_reset.then(|| tcb.time()));
            state.wake_all(wakes);
            ended = state.flow.map(|flow| (flow, error.map(SocketError::from)));
            state.listener.take()
        };
        if let Some((flow, error)) = ended {
            trace::closed(&flow, error);
        }
        if let Some(listener) = listener {
            listener.arrived(None, wakes);
        }
    }
}

/// What bounds the bytes that were never sent; 0 does not, as on Linux, or nothing would get past.
fn lowat(bytes: Option<usize>) -> usize {
    bytes.filter(|bytes| *bytes > 0).unwrap_or(usize::MAX)
}

impl Drop for State {
    fn drop(&mut self) {
        self.closing_ends();
        self.early_ends(None);
    }
}

impl State {
    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Its handshake has ended, by a `reset` at this time or otherwise.
    fn early_ends(&mut self, reset: Option<Instant>) {
        if let Some(listener) = self.rare.as_mut().and_then(|rare| rare.early.take()) {
            listener.early_ended(reset);
        }
    }

    /// What was written, and the FIN behind it, are to be acknowledged.
    fn closing_begins(&mut self) {
        let resets = self.pending.abort || (self.pending.release && !self.unread.is_empty());
        if self.phase == Phase::Open && !self.is_closing && !resets {
            self.is_closing = true;
            self.closing.begin();
        }
    }

    /// All has been acknowledged, or nobody waits for that any more.
    fn closing_ends(&mut self) {
        if std::mem::take(&mut self.is_closing) {
            self.closing.end();
        }
    }

    /// Writing makes no sense from here on, and this is why. Whoever asks first hears why, whether the
    /// domain has already closed the connection or not.
    fn breaks(&mut self, error: Option<tcp::Error>) {
        if !std::mem::replace(&mut self.broken, true) {
            self.error = error.map(SocketError::from);
            self.cut = self.error.filter(|_| !self.finished);
        }
    }

    fn wake_all(&mut self, wakes: &mut Vec<Waker>) {
        self.readers.take(wakes);
        self.writers.take(wakes);
        if let Some(rare) = &mut self.rare {
            rare.info_waiters.take(wakes);
        }
    }

    /// Bytes that may be written now.
    fn room(&self) -> usize {
        if self.notsent + self.unsent_bytes >= self.notsent_lowat {
            return 0;
        }
        // How scarce memory is, who last had a turn long ago has not heard.
        let most = self.send_buffer.min(self.closing.most_written());
        most.saturating_sub(self.queued + self.unsent_bytes)
    }

    /// Tells what TCP knows, if somebody has asked.
    fn tell_info(&mut self, tcb: &Tcb, wakes: &mut Vec<Waker>) {
        if std::mem::take(&mut self.pending.info) {
            let rare = self.rare();
            rare.info = Some(tcb.info());
            rare.info_waiters.take(wakes);
        }
    }

    /// What was written goes to TCP.
    fn give(&mut self, tcb: &mut Tcb) {
        while let Some((mut slice, sum)) = self.unsent.pop_front() {
            let len = slice.len();
            // Nobody waits for room who is gone, and the connection is to be an orphan.
            let sent = if len < WHOLE && !self.pending.release {
                tcb.send(&slice)
            } else {
                tcb.send_slice(slice.clone(), sum).map(|()| len)
            };
            match sent {
                // No room: the rest goes when something has been acknowledged.
                Err(tcp::Error::WouldBlock) => {
                    self.unsent.push_front((slice, sum));
                    break;
                }
                Ok(n) if n < len => {
                    slice.advance(n);
                    self.unsent_bytes -= n;
                    self.unsent.push_front((slice, None));
                    break;
                }
                // A connection that can send no more says so by its error.
                Ok(_) | Err(_) => self.unsent_bytes -= len,
            }
        }
        if self.more_is_news && self.unsent.is_empty() {
            tcb.set_more(self.more);
            self.more_is_news = false;
        }
        self.unsent.shrink();
    }

    /// What was received comes from TCP. It counts there for as long as nobody has
    /// read it: its bytes against the window, its memory against the bound that both
    /// queues have together.
    fn take(&mut self, tcb: &mut Tcb, wakes: &mut Vec<Waker>) {
        let before = (self.unread.len(), self.eof);
        while let Some(slice) = tcb.take_out() {
            // Nobody will read it: it is acknowledged and forgotten, as by
            // shutdown(2).
            if !self.shut_read {
                self.unread.push(slice, tcb.waste_limit());
            }
        }
        self.finished |= tcb.eof();
        self.eof |= self.finished;
        self.last_advertised = self.unread.len();
        tcb.set_memory_outside(self.unread.footprint());
        tcb.set_unread_outside(self.unread.len());
        let filled = self.posted.as_ref().is_some_and(|posted| posted.has_some());
        if (self.unread.len(), self.eof) != before || filled {
            self.readers.take(wakes);
        }
    }

    fn fulfil(&mut self, tcb: &mut Tcb) {
        if let Some(rare) = &mut self.rare {
            std::mem::take(&mut rare.settings).into_iter().for_each(|s| s.apply(tcb));
        }
        if self.pending.abort {
            tcb.abort();
        } else if !self.unsent.is_empty() {
            // Closing comes after what was written.
        } else if self.pending.release {
            // RFC 2525 2.17: data that nobody will read is worth a reset.
            if self.unread.is_empty() { tcb.release() } else { tcb.abort() }
        } else if self.pending.shutdown {
            tcb.shutdown_write();
        }
    }
}

#[cfg(test)]
mod tests;
