//! Processors of a stack whose threads all may send: the transmitters of each, and
//! how its thread is woken.

use super::sleeper::Sleeper;
use super::transmitter::{self, Transmitter};
use super::worker::{Queues, deal};
use crate::runtime::check::refuse_surplus;
use crate::{Clock, Setup};
use crossbeam_utils::CachePadded;
use device::Receive;
use instrument::Instruments;
use net::Application;
use std::ops::Deref;
use std::sync::Arc;

/// What the thread of a processor shares with those that send by it.
pub(crate) struct Processor {
    pub(crate) transmitter: Transmitter,
    pub(crate) sleeper: Sleeper,
}

/// The receiving halves of one queue of each device, by processor.
pub(crate) type Receivers = Vec<Vec<Box<dyn Receive>>>;

/// The processors of a stack. Units belong to them in turn.
pub(crate) struct Processors(Arc<[CachePadded<Processor>]>);

impl Processors {
    /// As many as `setup` says, with a queue of each of its devices; and the
    /// receivers, for their threads.
    ///
    /// # Errors
    /// If a device has more queues than that, or the system gives no more descriptors.
    pub(crate) fn new<A: Application>(
        setup: &mut Setup<A>,
    ) -> Result<(Processors, Receivers), crate::StartError> {
        let (mut all, mut receivers) = (Vec::new(), Vec::new());
        refuse_surplus(setup)?;
        let devices = std::mem::take(&mut setup.devices);
        for Queues { receivers: ours, transmitters } in deal(devices, setup.processors) {
            receivers.push(ours);
            let processor =
                Processor { transmitter: Transmitter::new(transmitters), sleeper: Sleeper::new()? };
            all.push(CachePadded::new(processor));
        }
        Ok((Processors(all.into()), receivers))
    }

    /// The processor that unit `unit` belongs to.
    #[inline]
    pub(crate) fn of_unit(&self, unit: usize) -> &Processor {
        &self.0[unit % self.0.len()]
    }

    /// Shows the locks of the transmitters to the instruments, if there are any.
    pub(crate) fn show_locks(&self, instruments: Option<&Arc<Instruments>>) {
        let Some(instruments) = instruments else { return };
        for index in 0..self.0.len() {
            let weak = Arc::downgrade(&self.0);
            let counts = move || weak.upgrade().map(|all| all[index].transmitter.counts());
            instruments.lock("transmitters", counts);
        }
    }

    /// Frames that were dropped, as too many waited for a device.
    pub(crate) fn dropped(&self) -> u64 {
        self.0.iter().map(|processor| processor.transmitter.dropped()).sum()
    }

    /// Wakes the thread of each.
    pub(crate) fn wake_all(&self) {
        self.0.iter().for_each(|processor| processor.sleeper.notify());
    }

    /// Sends what waits for the devices, for as long as draining takes, and closes
    /// them.
    pub(crate) fn close(&self, clock: Clock) {
        let in_time = transmitter::until_drained(clock);
        self.0.iter().for_each(|processor| processor.transmitter.close(&in_time));
    }
}

impl Deref for Processors {
    type Target = [CachePadded<Processor>];

    #[inline]
    fn deref(&self) -> &Self::Target {
        &self.0
    }
}
