//! [`AtomicBlocked`]: what waits for room, as other threads see it.

use net::{Blocked, Interfaces};
use platform::atomic::{AtomicU64, Ordering};

/// A [`Blocked`] in two words. Who reads it while it is written may see one of them new and the
/// other old, so whoever writes it tells those that wait for it afterwards.
#[derive(Default)]
pub(crate) struct AtomicBlocked([AtomicU64; 2]);

impl AtomicBlocked {
    #[inline]
    pub(crate) fn load(&self, order: Ordering) -> Blocked {
        let [connections, datagrams] = self.0.each_ref().map(|by| Interfaces(by.load(order)));
        Blocked { connections, datagrams }
    }

    #[inline]
    pub(crate) fn store(&self, blocked: Blocked, order: Ordering) {
        self.0[0].store(blocked.connections.0, order);
        self.0[1].store(blocked.datagrams.0, order);
    }
}
