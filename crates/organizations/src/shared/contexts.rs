//! What organizations with a shared table of connections are made of: a context
//! for each thread, which is a domain over the table.

use crate::locked::Shared;
use crate::runtime::processors::Receivers;
use crate::runtime::routing::each_or_one;
use crate::{Setup, StartError};
use net::ip::SharedReassembly;
use net::{Application, Call, Departures, Domain, HostShared, SharedRef, SharedTable, Unit};
use platform::RandomState;
use std::hash::BuildHasher;
use std::sync::Arc;
use sync::adaptive::Adaptive;
use sync::counted::LockCounts;
use sync::{DynLock, RawLock};

/// Contexts over one table: one for each processor's thread, and behind them as
/// many for borrowed threads.
pub(crate) type Contexts<A> =
    Shared<Adaptive, A, SharedRef<DynLock, <A as Application>::Connection>>;

/// Makes the contexts, over a table of `shards` shards.
pub(crate) fn contexts<A: Application>(
    setup: Setup<A>,
    organization: &'static str,
    shards: usize,
) -> Result<(Arc<Contexts<A>>, Receivers), StartError> {
    let (kind, counted) = (setup.options.lock, setup.instruments.is_some());
    let count = 2 * setup.processors.min(1024) as u16;
    Shared::new(setup, organization, usize::MAX, Adaptive::default, |config, make| {
        let table = Arc::new(SharedTable::new(config, shards, move || DynLock::new(kind, counted)));
        let reassembly = SharedReassembly::new(config);
        let host_shared = HostShared::new(config);
        let departures = Departures::new(count);
        let domain = |index| {
            let unit = Unit::any(index, count);
            let conns = SharedRef::new(table.clone());
            Domain::with_connections(config.clone(), unit, make(unit), conns)
                .sharing(&host_shared)
                .reassembling(reassembly.clone())
                .departing(departures.clone())
        };
        (0..count).map(domain).collect()
    })
}

/// Shows the locks of contexts, shards and connections to the instruments.
pub(crate) fn show_locks<A: Application + 'static>(shared: &Arc<Contexts<A>>) {
    shared.show_locks("context");
    let Some(instruments) = &shared.instruments else { return };
    let table = shared.groups[0].domain.with(|domain| domain.connections().table().clone());
    let (shards, slots) = (Arc::downgrade(&table), Arc::downgrade(&table));
    instruments.lock("connection table", move || {
        let (table, mut counts) = (shards.upgrade()?, LockCounts::default());
        table.shard_locks().for_each(|lock| counts.add(&lock.counts()));
        Some(counts)
    });
    instruments.lock("connection", move || {
        let (table, mut counts) = (slots.upgrade()?, LockCounts::default());
        table.for_each_slot_lock(|lock| counts.add(&lock.counts()));
        Some(counts)
    });
}

/// Does a call on the calling thread: what every context has to know in each, the
/// rest in one of the contexts for borrowed threads: one whose processor is one of the first
/// `threads`, which have a thread that goes on with what is left there. `note` hears of it before,
/// once for each context.
pub(crate) fn call_in_place<A: Application>(
    shared: &Contexts<A>,
    hasher: &RandomState,
    threads: usize,
    call: Call<A>,
    note: impl Fn(&Call<A>),
) {
    let (contexts, processors) = (shared.groups.len(), shared.processors.len());
    let borrowed = |call: &Call<A>| {
        if let Call::Look = call {
            // The first context's thread sleeps until what is due of the host: it has to hear
            // that this is sooner now.
            return 0;
        }
        let thread = hasher.hash_one(platform::thread::current().id()) as usize;
        (processors + thread % threads.clamp(1, contexts - processors)) as u16
    };
    each_or_one(call, contexts as u16, borrowed, |context, call| {
        note(&call);
        shared.call(usize::from(context), call);
    });
}
