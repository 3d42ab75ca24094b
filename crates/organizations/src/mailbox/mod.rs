//! Threads that own connections, and get their packets by mailboxes. A thread for each
//! processor receives, demultiplexes by a packet filter, and posts each batch to the
//! mailboxes of the threads concerned. Each of these owns a domain, and sends by the
//! transmitters of its processor. What a device cannot take now, the processor's thread
//! offers again.
//!
//! So a packet costs a hand-off and passes no lock of a connection: the other
//! way to serialize, beside [`crate::locked`], that Willmann 2006 compares.

mod deadlines;
mod dispatcher;
pub mod group_threads;
mod inbox;
mod owner;
pub mod thread_per_connection;

pub(crate) use dispatcher::{Demux, dispatch};
pub(crate) use inbox::{Frame, Inbox, Mailbox, Message, Posted};
pub(crate) use owner::Owner;

use self::deadlines::Deadlines;
use crate::runtime::check::check;
use crate::runtime::processors::{Processors, Receivers};
use crate::runtime::sleeper::Parker;
use crate::runtime::threads::Threads;
use crate::{Clock, Setup, StartError};
use crossbeam_utils::CachePadded;
use instrument::{Instruments, QueueWatch};
use net::{Application, Config, Counters};
use platform::Mutex;
use platform::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use wire::Instant;

/// What all threads share, but for the mailboxes.
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) clock: Clock,
    pub(crate) processors: Processors,
    /// When the threads of each processor that own domains are to be woken.
    deadlines: Box<[CachePadded<Deadlines>]>,
    /// The dispatchers are to end.
    stopping: AtomicBool,
    dispatchers: Threads,
    /// What was dropped on the way to an owner.
    pub(crate) lost: Mutex<Counters>,
    pub(crate) instruments: Option<Arc<Instruments>>,
    /// All mailboxes, as the instruments see them.
    pub(crate) queue: QueueWatch,
}

impl Shared {
    /// What `organization` needs on its processors; and the receivers, for the
    /// dispatchers.
    pub(crate) fn new<A: Application>(
        setup: &mut Setup<A>,
        organization: &'static str,
    ) -> Result<(Arc<Shared>, Receivers), StartError> {
        check(setup, organization)?;
        let (processors, receivers) = Processors::new(setup)?;
        let instruments = setup.instruments.clone();
        let shared = Arc::new(Shared {
            queue: QueueWatch::new(instruments.as_ref(), || "mailbox".to_owned()),
            instruments,
            config: setup.config.clone(),
            clock: setup.clock,
            deadlines: processors.iter().map(|_| CachePadded::default()).collect(),
            processors,
            stopping: AtomicBool::new(false),
            dispatchers: Threads::new(setup),
            lost: Mutex::default(),
        });
        shared.processors.show_locks(shared.instruments.as_ref());
        Ok((shared, receivers))
    }

    /// The deadlines of the owners that belong to `processor`.
    fn deadlines_of(&self, processor: usize) -> &Deadlines {
        &self.deadlines[processor % self.deadlines.len()]
    }

    /// Has the thread of `processor` wake `parker`'s thread, which calls this after it has
    /// announced that it sleeps, at `at` or before.
    fn wake_by(&self, processor: usize, parker: &Arc<Parker>, at: Instant) {
        if self.deadlines_of(processor).set(parker, at) {
            self.processors.of_unit(processor).sleeper.notify_by(at);
        }
    }

    /// Ends the dispatchers, once the owners have ended, and closes the devices.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.processors.wake_all();
        self.dispatchers.join();
        self.processors.close(self.clock);
    }

    /// Counts frames that were dropped before any domain has seen them.
    pub(crate) fn count_lost(&self, frames: u64) {
        if frames > 0 {
            self.queue.dropped(frames as usize);
            let lost = &mut *self.lost.lock();
            lost.packets_in += frames;
            (0..frames).for_each(|_| lost.drop(net::DropReason::MailboxFull));
        }
    }
}
