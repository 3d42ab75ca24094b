//! What a stream asks of [`TcpShared`].

use super::{Phase, State, TcpShared, lowat};
use crate::error::SocketError;
use crate::options::{Setting, TcpOptions};
use crate::wait::Asked;
use net::ConnId;
use platform::MutexGuard;
use platform::atomic::Ordering;
use std::io;
use std::task::{Context, Poll, Waker};
use wire::{FlowKey, Slice};

impl State {
    /// Why reading ends, if not by the peer's FIN, for who reads: he hears it, whoever has heard before
    /// why the connection ended.
    fn take_cut(&mut self) -> Option<SocketError> {
        if self.finished {
            return None;
        }
        self.error.take().or(self.cut).inspect(|_| self.cut = None)
    }
}

/// The most bytes that are read before TCP is told, however many may wait unread.
const WORTH_TELLING: usize = 128 * 1024;

impl State {
    /// How much may wait unread changes: by options, with what the path needs, and where memory is scarce. Who
    /// reads all must have told of it, or its window stays shut until it is probed.
    pub(super) fn note_limit(&mut self, tcb: &tcp::Tcb) {
        self.worth_telling = (tcb.unread_limit() / 8).min(WORTH_TELLING);
    }
}

/// How a stream cuts what it writes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteLimits {
    pub(crate) room: usize,
    pub(crate) chunk: usize,
    pub(crate) sum: bool,
}

impl TcpShared {
    pub(crate) fn flow(&self) -> Option<FlowKey> {
        self.state.lock().flow
    }

    /// The connection's name, once it has one.
    pub(crate) fn id(&self) -> Option<ConnId> {
        self.state.lock().id
    }

    /// Its two ends, unless the connection has ended.
    pub(crate) fn live_flow(&self) -> Option<FlowKey> {
        let state = self.state.lock();
        state.flow.filter(|_| state.phase != Phase::Closed)
    }

    /// Is it a connection that somebody has, or may have: not at its end, and not one that waits for its handshake?
    pub(crate) fn is_taken(&self) -> bool {
        let state = self.state.lock();
        state.flow.is_some() && state.phase != Phase::Closed && state.listener.is_none()
    }

    /// Waits for the end of the connection.
    pub(crate) fn poll_closed(&self, cx: &Context<'_>) -> Poll<()> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        if state.broken || state.phase == Phase::Closed {
            return Poll::Ready(());
        }
        state.readers.add(cx, &mut asked);
        Poll::Pending
    }

    pub(crate) fn take_error(&self) -> Option<io::Error> {
        self.state.lock().error.take().map(io::Error::from)
    }

    /// The connection to notify, if there is one and it has not been.
    fn to_notify(state: &mut State) -> Option<ConnId> {
        if state.phase == Phase::Closed || state.notified {
            return None;
        }
        state.notified = state.id.is_some();
        state.id
    }

    pub(crate) fn poll_connected(&self, cx: &Context<'_>) -> Poll<io::Result<()>> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        match state.phase {
            Phase::Open => Poll::Ready(Ok(())),
            Phase::Closed => Poll::Ready(match state.error.take() {
                Some(error) => Err(error.into()),
                // Opened and ended before anyone looked.
                None => Ok(()),
            }),
            Phase::Opening => {
                state.writers.add(cx, &mut asked);
                Poll::Pending
            }
        }
    }

    /// Takes up to `max` bytes of what was received. Nothing: the end. Beside
    /// it, the connection to notify if TCP should open its window.
    #[allow(clippy::type_complexity)]
    pub(crate) fn poll_read(
        &self,
        cx: Option<&Context<'_>>,
        max: usize,
        peek: bool,
    ) -> Poll<io::Result<(wire::Parts, Option<ConnId>)>> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        if state.shut_read || max == 0 {
            return Poll::Ready(Ok((wire::Parts::new(), None)));
        }
        if state.unread.is_empty() {
            if let Some(error) = state.take_cut() {
                return Poll::Ready(Err(error.into()));
            }
            if state.eof {
                return Poll::Ready(Ok((wire::Parts::new(), None)));
            }
            return state.readers.wait(cx, &mut asked);
        }
        Poll::Ready(Ok(TcpShared::take_unread(&mut state, max, peek)))
    }

    /// As [`TcpShared::poll_read`], of what is there: it says nothing of the end, and leaves
    /// the error to the next read.
    pub(crate) fn read_unread(&self, max: usize) -> (wire::Parts, Option<ConnId>) {
        let mut state = self.state.lock();
        if state.shut_read || max == 0 || state.unread.is_empty() {
            return (wire::Parts::new(), None);
        }
        TcpShared::take_unread(&mut state, max, false)
    }

    fn take_unread(state: &mut State, max: usize, peek: bool) -> (wire::Parts, Option<ConnId>) {
        let parts = if peek { state.unread.peek_parts(max) } else { state.unread.pop_parts(max) };
        let read = state.last_advertised.saturating_sub(state.unread.len());
        let notify = (read > 0 && read >= state.worth_telling)
            .then(|| TcpShared::to_notify(state))
            .flatten();
        (parts, notify)
    }

    /// How much may be written now, and how.
    pub(crate) fn poll_room(&self, cx: Option<&Context<'_>>) -> Poll<io::Result<WriteLimits>> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        if state.broken || state.phase == Phase::Closed {
            return Poll::Ready(Err(match state.error.take() {
                Some(error) => error.into(),
                None => io::ErrorKind::BrokenPipe.into(),
            }));
        }
        if state.pending.shutdown {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let room = state.room();
        if room == 0 {
            return state.writers.wait(cx, &mut asked);
        }
        Poll::Ready(Ok(WriteLimits { room, chunk: state.chunk, sum: state.sum }))
    }

    /// Adds what was written. Returns the connection to notify.
    pub(crate) fn write(
        &self,
        slices: impl Iterator<Item = (Slice, Option<u16>)>,
        more: bool,
    ) -> Option<ConnId> {
        let mut state = self.state.lock();
        state.more_is_news |= more | state.more;
        state.more = more;
        for (slice, sum) in slices {
            state.unsent_bytes += slice.len();
            state.unsent.push_back((slice, sum));
        }
        TcpShared::to_notify(&mut state)
    }

    /// Nothing more will be read. Returns the connection to notify if what waits is forgotten, for then its
    /// window opens.
    pub(crate) fn shutdown_read(&self, wakes: &mut Vec<Waker>) -> Option<ConnId> {
        let mut state = self.state.lock();
        state.shut_read = true;
        state.readers.take(wakes);
        if state.unread.is_empty() {
            return None;
        }
        state.unread.clear();
        TcpShared::to_notify(&mut state)
    }

    /// No more will be written. `Err` if there is no connection. Who waits to write hears of it, for there may
    /// never be room.
    pub(crate) fn shutdown_write(&self, wakes: &mut Vec<Waker>) -> io::Result<Option<ConnId>> {
        let mut state = self.state.lock();
        if state.phase == Phase::Closed {
            return Err(io::ErrorKind::NotConnected.into());
        }
        state.pending.shutdown = true;
        state.writers.take(wakes);
        state.closing_begins();
        Ok(TcpShared::to_notify(&mut state))
    }

    /// The stream is gone.
    pub(crate) fn release(&self, abort: bool) -> Option<ConnId> {
        let mut state = self.state.lock();
        state.pending.release = true;
        state.pending.abort |= abort;
        state.closing_begins();
        TcpShared::to_notify(&mut state)
    }

    /// Is there something to read (or an end of it), is there room to write (or an
    /// end of that), as far as it is asked? Waits for one of the two.
    pub(crate) fn poll_ready(
        &self,
        cx: &Context<'_>,
        reads: bool,
        writes: bool,
    ) -> Poll<(bool, bool)> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        let ended = state.error.is_some() || state.phase == Phase::Closed;
        let readable = ended || state.eof || state.shut_read || !state.unread.is_empty();
        let writable = ended || state.broken || state.pending.shutdown || state.room() > 0;
        let ready = (reads && readable, writes && writable);
        if ready.0 || ready.1 {
            return Poll::Ready(ready);
        }
        if reads {
            state.readers.add(cx, &mut asked);
        }
        if writes {
            state.writers.add(cx, &mut asked);
        }
        Poll::Pending
    }

    /// Asks for [`TcpShared::poll_info`]. Returns the connection to notify.
    pub(crate) fn ask_info(&self) -> Option<ConnId> {
        let mut state = self.state.lock();
        state.pending.info = true;
        TcpShared::to_notify(&mut state)
    }

    /// What TCP knew of the connection when the domain was last asked.
    pub(crate) fn poll_info(&self, cx: &Context<'_>) -> Poll<io::Result<tcp::Info>> {
        let mut asked = Asked::default();
        let mut state = self.state.lock();
        if let Some(info) = state.rare.as_ref().and_then(|rare| rare.info.as_ref())
            && (!state.pending.info || state.phase == Phase::Closed)
        {
            return Poll::Ready(Ok(*info));
        }
        if state.phase == Phase::Closed {
            return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
        }
        state.rare().info_waiters.add(cx, &mut asked);
        Poll::Pending
    }

    /// TCP is to hear of `setting`. Returns the connection to notify.
    pub(crate) fn set(&self, setting: Setting) -> Option<ConnId> {
        let mut state = self.state.lock();
        // Nobody would take it out any more.
        if state.phase == Phase::Closed {
            return None;
        }
        state.rare().settings.push(setting);
        TcpShared::to_notify(&mut state)
    }

    /// Bounds what is written and was never sent, from now on.
    pub(crate) fn set_notsent_lowat(&self, bytes: Option<usize>) {
        let mut state = self.state.lock();
        state.notsent_lowat = lowat(bytes);
        if state.notsent_lowat == usize::MAX {
            state.notsent = 0;
        }
        TcpShared::wake_for_room(state);
    }

    /// Wakes who waits to write, if there is room now.
    fn wake_for_room(mut state: MutexGuard<'_, State>) {
        let mut wakes = Vec::new();
        if state.room() > 0 {
            state.writers.take(&mut wakes);
        }
        drop(state);
        wakes.into_iter().for_each(Waker::wake);
    }

    /// Has those who wait look once more.
    pub(crate) fn wake_all(&self) {
        let mut wakes = Vec::new();
        self.state.lock().wake_all(&mut wakes);
        wakes.into_iter().for_each(Waker::wake);
    }

    /// Sets the type of service.
    pub(crate) fn set_tos(&self, tos: u8) {
        self.tos.store(tos, Ordering::Relaxed);
    }

    /// Routers may cut what is sent from now on, or not.
    pub(crate) fn set_allow_fragments(&self, allow: bool) {
        self.allow_fragments.store(allow, Ordering::Relaxed);
    }

    /// What the socket was opened with.
    pub(crate) fn options(&self) -> Option<&TcpOptions> {
        self.options.as_deref()
    }

    /// Bounds what is written and not acknowledged, from now on.
    pub(crate) fn set_send_buffer(&self, bytes: usize) {
        let mut state = self.state.lock();
        state.rare().wanted_buffer = Some(bytes.max(1));
        if state.phase == Phase::Open {
            state.send_buffer = bytes.max(1);
        }
        TcpShared::wake_for_room(state);
    }
}
