//! Packets handed to the threads that own their connections: a thread for each
//! processor receives, demultiplexes by a packet filter, and posts each batch
//! to the mailboxes of the threads concerned, each of which owns a domain. Those
//! send by themselves, by the transmitters of the processor that they belong to;
//! what its device cannot take now, the processor's thread offers again.
//!
//! So a packet costs a hand-off and passes no lock of a connection: the other
//! way to serialize, beside [`crate::locked`], that Willmann 2006 compares.

mod dispatcher;
mod mailbox;
mod owner;

pub(crate) use dispatcher::{Sorter, dispatch};
pub(crate) use mailbox::{Frame, Letters, Mailbox, Message, Parker, Posted};
pub(crate) use owner::Owner;

use crate::instrument::{Instruments, QueueWatch};
use crate::out::{self, Out};
use crate::worker::{self, Queues, Sleeper};
use crate::{Clock, Setup, StartError};
use crossbeam_utils::CachePadded;
use device::Receive;
use net::{Application, Config, Counters};
use std::sync::Arc;
use sync::system::Mutex;
use sync::system::atomic::{AtomicBool, Ordering};
use sync::system::thread::JoinHandle;

/// What a dispatcher shares with the owners that belong to its processor.
pub(crate) struct Processor {
    pub(crate) out: Out,
    pub(crate) sleeper: Sleeper,
}

/// The receiving halves of one queue of each device, by processor.
type Receivers = Vec<Vec<Box<dyn Receive>>>;

/// What all threads share, but for the mailboxes.
pub(crate) struct Shared {
    pub(crate) config: Arc<Config>,
    pub(crate) clock: Clock,
    pub(crate) processors: Vec<CachePadded<Processor>>,
    /// The dispatchers are to end.
    stopping: AtomicBool,
    dispatchers: Mutex<Vec<JoinHandle<()>>>,
    /// What was dropped on the way to an owner.
    pub(crate) lost: Mutex<Counters>,
    pub(crate) instruments: Option<Arc<Instruments>>,
    /// All mailboxes, to the instruments.
    pub(crate) queue: QueueWatch,
}

impl Shared {
    /// What `organization` needs on its processors; and the receivers, for the
    /// dispatchers.
    pub(crate) fn new<A: Application>(
        setup: &mut Setup<A>,
        organization: &'static str,
    ) -> Result<(Arc<Shared>, Receivers), StartError> {
        let processors = setup.processors;
        if processors == 0 || processors > 1024 {
            return Err(StartError::Processors { organization, allowed: "1 to 1024", processors });
        }
        crate::check_queues(setup)?;
        let mut receivers = Vec::new();
        let mut outs = Vec::new();
        let devices = std::mem::take(&mut setup.devices);
        for Queues { receivers: ours, transmitters } in worker::deal(devices, processors) {
            receivers.push(ours);
            let processor = Processor { out: Out::new(transmitters), sleeper: Sleeper::new()? };
            outs.push(CachePadded::new(processor));
        }
        let instruments = setup.instruments.clone();
        let shared = Arc::new(Shared {
            queue: QueueWatch::of(instruments.as_ref(), || "mailbox".to_owned()),
            instruments,
            config: setup.config.clone(),
            clock: setup.clock,
            processors: outs,
            stopping: AtomicBool::new(false),
            dispatchers: Mutex::default(),
            lost: Mutex::default(),
        });
        shared.show_locks();
        Ok((shared, receivers))
    }

    /// Shows the transmitters' locks to the instruments, if there are any.
    fn show_locks(self: &Arc<Self>) {
        let Some(instruments) = &self.instruments else { return };
        for index in 0..self.processors.len() {
            let weak = Arc::downgrade(self);
            instruments.lock("transmitters", move || {
                weak.upgrade()
                    .map(|shared| shared.processors[index].out.counts())
                    .unwrap_or_default()
            });
        }
    }

    /// The processor that owner number `index` belongs to.
    pub(crate) fn processor_of(&self, index: usize) -> &Processor {
        &self.processors[index % self.processors.len()]
    }

    /// Ends the dispatchers, once the owners have ended, and closes the devices.
    pub(crate) fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.processors.iter().for_each(|processor| processor.sleeper.notify());
        let dispatchers: Vec<_> = self.dispatchers.lock().drain(..).collect();
        crate::join(dispatchers.into_iter());
        let in_time = out::until_silence(self.clock);
        self.processors.iter().for_each(|processor| processor.out.close(&in_time));
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
