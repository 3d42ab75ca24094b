//! What the contexts over one table of connections have made, and what of it they have handed to
//! their devices.
//!
//! Any thread sends for a connection, and is held up where it likes: the frames of one context may
//! still be on its stack while another has its turn for the same connection, and sends. New data
//! may then overtake older data, as in any network. A retransmission must not: it bears a later
//! timestamp than what it follows, and a peer drops what comes with an older one behind it (PAWS,
//! RFC 7323 5.3). So it waits until all is on its way that was made before it. That is a grace
//! period, as of read-copy-update: what each context has made by now is noted, and over when each
//! has handed on so much. Nobody waits for a lock, and contexts that go on making frames do not
//! prolong it.
//!
//! What waits for a device that is full counts as handed on. Queues of a device keep no order
//! between each other, whoever fills them.

use platform::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

/// The turns of a context in which connections have sent.
#[derive(Default)]
// As far as processors fetch memory: a context writes it all the time.
#[repr(align(128))]
struct Departure {
    /// So many there were. Only the holder of the context writes it.
    made: AtomicU64,
    /// The frames of so many have been handed to the device, or wait for it in order.
    handed: AtomicU64,
}

struct All {
    contexts: Box<[Departure]>,
    /// How often a connection was held back.
    holds: AtomicU32,
}

/// The departures of all contexts over one table.
#[derive(Clone)]
pub struct Departures(Arc<All>);

opaque_debug!([] Departures, "Departures");

impl Departures {
    /// Those of so many contexts.
    pub fn new(contexts: u16) -> Departures {
        let contexts = (0..contexts).map(|_| Departure::default()).collect();
        Departures(Arc::new(All { contexts, holds: AtomicU32::new(0) }))
    }

    #[inline]
    fn of(&self, context: u16) -> &Departure {
        &self.0.contexts[usize::from(context)]
    }

    /// A connection has sent in its turn, in `context`.
    #[inline]
    pub(crate) fn made(&self, context: u16) {
        // Who looks at it has had the connection's lock since.
        let made = &self.of(context).made;
        made.store(made.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }

    /// How many turns there were in `context`, for its holder.
    #[inline]
    pub(crate) fn turns(&self, context: u16) -> u64 {
        self.of(context).made.load(Ordering::Relaxed)
    }

    /// The frames of all `turns` of `context` have been handed to the device. Batches of a context
    /// are handed over in order, so a later report is one for the earlier ones.
    #[inline]
    pub fn handed_on(&self, context: u16, turns: u64) {
        self.of(context).handed.fetch_max(turns, Ordering::Release);
    }

    /// What contexts but `this` have made and not handed on; `None` if there is none. The wait is for
    /// this context as well: others may come to send what waits.
    pub(crate) fn under_way(&self, this: u16) -> Option<UnderWay> {
        let made = |departure: &Departure| departure.made.load(Ordering::Relaxed);
        let all = self.0.contexts.iter();
        let mut others = all.clone().enumerate().filter(|(at, _)| *at != usize::from(this));
        others
            .any(|(_, other)| other.handed.load(Ordering::Acquire) < made(other))
            .then(|| UnderWay(all.map(made).collect()))
    }

    /// A number for a hold that none had before.
    pub(crate) fn next_hold(&self) -> u32 {
        self.0.holds.fetch_add(1, Ordering::Relaxed)
    }
}

/// Does what a connection sends wait?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hold {
    /// It sends.
    #[default]
    No,
    /// It waits, since the hold of this number. Nothing was sent since.
    Since(u32),
    /// It has waited.
    Over,
}

/// What each context had made at some time.
#[derive(Debug)]
pub(crate) struct UnderWay(Box<[u64]>);

impl UnderWay {
    /// Has all of it been handed on?
    pub(crate) fn has_left(&self, departures: &Departures) -> bool {
        let mut pairs = self.0.iter().zip(&departures.0.contexts);
        pairs.all(|(made, departure)| departure.handed.load(Ordering::Acquire) >= *made)
    }
}

#[cfg(test)]
mod tests;
