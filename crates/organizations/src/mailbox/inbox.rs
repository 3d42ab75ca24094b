//! The mailbox of a domain's owner, and how the owner is woken.

use crate::runtime::sleeper::Parker;
use crate::runtime::worker::FRAMES;
use instrument::{QueueWatch, TraceStamp};
use net::{Application, Call, ClosedFlow, Connection, Counters};
use platform::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use wire::Packet;

/// A mailbox in use keeps room for this many messages and frames.
const KEEP: usize = 64;

/// A packet in a mailbox.
pub(crate) struct Frame {
    pub(crate) packet: Packet,
    /// It is as it came from the device; and not put together from fragments,
    /// which a domain has seen before.
    pub(crate) whole: bool,
    pub(crate) stamp: TraceStamp,
}

impl Frame {
    /// Put together from fragments.
    pub(crate) fn reassembled(packet: Packet) -> Frame {
        Frame { packet, whole: false, stamp: TraceStamp::NONE }
    }
}

/// What became of a frame that was posted.
pub(crate) enum Posted {
    /// The owner will take it.
    Done,
    /// There was no room, and it is gone.
    Full,
    /// The mailbox is closed; here is the frame.
    Closed(Frame),
}

/// What an owner is told to do.
pub(crate) enum Message<A: Application> {
    Call(Call<A>),
    /// A connection has migrated here.
    Adopt(Box<Connection<A::Connection>>),
    /// What is left of a connection that was elsewhere.
    Keep(ClosedFlow),
    Stop,
}

/// What lies in a mailbox.
pub(crate) struct Inbox<A: Application> {
    pub(crate) messages: VecDeque<Message<A>>,
    pub(crate) frames: VecDeque<Frame>,
    /// Its owner takes nothing any more.
    pub(crate) closed: bool,
}

impl<A: Application> Default for Inbox<A> {
    fn default() -> Self {
        Inbox { messages: VecDeque::new(), frames: VecDeque::new(), closed: false }
    }
}

impl<A: Application> Inbox<A> {
    fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.frames.is_empty()
    }

    /// Puts a batch in. Frames for which there is no room are dropped; returns how many.
    fn put(&mut self, batch: &mut Vec<Packet>, mut stamp: TraceStamp, queue: &QueueWatch) -> u64 {
        let fit = batch.len().min(self.room());
        let lost = batch.len() - fit;
        stamp = queue.put(stamp, || self.frames.len() + fit);
        self.frames.extend(batch.drain(..fit).map(|packet| {
            let stamp = std::mem::replace(&mut stamp, TraceStamp::NONE);
            Frame { packet, whole: true, stamp }
        }));
        batch.clear();
        lost as u64
    }

    /// Frames that there is room for.
    pub(crate) fn room(&self) -> usize {
        FRAMES.saturating_sub(self.frames.len())
    }
}

/// A mailbox: what others give an owner to do.
pub(crate) struct Mailbox<A: Application> {
    pub(crate) inbox: Mutex<Inbox<A>>,
    pub(crate) parker: Arc<Parker>,
    /// What the owner has counted, as of its last round.
    pub(crate) counters: Mutex<Counters>,
}

impl<A: Application> Default for Mailbox<A> {
    fn default() -> Self {
        Mailbox { inbox: Mutex::default(), parker: Arc::default(), counters: Mutex::default() }
    }
}

impl<A: Application> Mailbox<A> {
    pub(crate) fn is_empty(&self) -> bool {
        self.inbox.lock().is_empty()
    }

    /// Posts a message; gives it back if the mailbox is closed.
    pub(crate) fn send(&self, message: Message<A>) -> Result<(), Message<A>> {
        {
            let mut inbox = self.inbox.lock();
            if inbox.closed {
                return Err(message);
            }
            inbox.messages.push_back(message);
        }
        self.parker.notify();
        Ok(())
    }

    /// Puts a frame before those that have come, even if there is no room: it is never
    /// [`Posted::Full`].
    pub(crate) fn post_first(&self, frame: Frame) -> Posted {
        {
            let mut inbox = self.inbox.lock();
            if inbox.closed {
                return Posted::Closed(frame);
            }
            inbox.frames.push_front(frame);
        }
        self.parker.notify();
        Posted::Done
    }

    /// Posts one frame.
    pub(crate) fn post(&self, frame: Frame) -> Posted {
        {
            let mut inbox = self.inbox.lock();
            if inbox.closed {
                return Posted::Closed(frame);
            }
            if inbox.room() == 0 {
                return Posted::Full;
            }
            inbox.frames.push_back(frame);
        }
        self.parker.notify();
        Posted::Done
    }

    /// Posts a batch, as it came from a device, and wakes the owner once. Frames for
    /// which there is no room are dropped; returns how many. If the mailbox is closed,
    /// all stay in `batch`. `stamp` goes with the first.
    pub(crate) fn post_batch(
        &self,
        batch: &mut Vec<Packet>,
        stamp: TraceStamp,
        queue: &QueueWatch,
    ) -> u64 {
        self.post_locked(self.inbox.lock(), batch, stamp, queue)
    }

    /// The same, where the caller holds the lock of the inbox.
    pub(crate) fn post_locked(
        &self,
        mut inbox: MutexGuard<'_, Inbox<A>>,
        batch: &mut Vec<Packet>,
        stamp: TraceStamp,
        queue: &QueueWatch,
    ) -> u64 {
        if inbox.closed {
            return 0;
        }
        let lost = inbox.put(batch, stamp, queue);
        drop(inbox);
        self.parker.notify();
        lost
    }

    /// Takes all out, into `into`, which is empty.
    pub(crate) fn take(&self, into: &mut Inbox<A>) {
        let mut inbox = self.inbox.lock();
        std::mem::swap(&mut inbox.messages, &mut into.messages);
        std::mem::swap(&mut inbox.frames, &mut into.frames);
    }

    /// Closes the mailbox, and takes out what is left.
    pub(crate) fn close(&self) -> Inbox<A> {
        std::mem::replace(&mut *self.inbox.lock(), Inbox { closed: true, ..Inbox::default() })
    }
}

impl<A: Application> Inbox<A> {
    /// Lets go of memory that only a busy mailbox needs.
    pub(crate) fn shrink(&mut self) {
        if self.frames.capacity() > KEEP {
            self.frames = VecDeque::new();
        }
        if self.messages.capacity() > KEEP {
            self.messages = VecDeque::new();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
