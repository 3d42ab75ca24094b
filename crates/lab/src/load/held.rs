//! Connections that carry nothing until all are open: those that are open would take the time
//! of those that are not.

use super::{LoadConn, Role};
use net::ConnId;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The connections of an experiment that wait.
#[derive(Debug, Default)]
pub(crate) struct Held {
    holds: AtomicBool,
    /// Those that the stack under test has opened, and those that its peer has accepted.
    waiting: [Mutex<Vec<ConnId>>; 2],
}

/// Does a connection write before it has read anything?
fn begins(conn: &LoadConn) -> bool {
    matches!(conn.role, Role::Client | Role::Churn | Role::Source | Role::Both)
}

impl Held {
    /// Connections are to carry nothing before [`Held::release`].
    pub(crate) fn hold(&self) {
        self.holds.store(true, Ordering::Relaxed);
    }

    /// Is this connection to wait?
    #[inline]
    pub(super) fn holds(&self, conn: &LoadConn) -> bool {
        self.holds.load(Ordering::Relaxed) && begins(conn)
    }

    /// Notes a connection that has a name now.
    #[inline]
    pub(super) fn opened(&self, conn: &LoadConn, id: ConnId) {
        if self.holds(conn) {
            self.waiting[usize::from(conn.remote.is_none())].lock().push(id);
        }
    }

    /// All are open: who waits may begin. Returns the names that have to be notified, at the stack
    /// under test and at its peer.
    pub(crate) fn release(&self) -> [Vec<ConnId>; 2] {
        self.holds.store(false, Ordering::Relaxed);
        self.waiting.each_ref().map(|waiting| std::mem::take(&mut *waiting.lock()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;
    use wire::Endpoint;

    #[test]
    fn who_writes_first_waits_until_all_are_open() {
        let held = Held::default();
        let remote = Some(Endpoint { address: Ipv4Addr::LOCALHOST.into(), port: 1 });
        let conn = |role, remote| LoadConn::new(role, remote);
        let (client, echo) = (conn(Role::Client, remote), conn(Role::Echo, None));
        let source = conn(Role::Source, None);
        assert!(!held.holds(&client), "nothing is held yet");
        held.hold();
        let id = |slot| ConnId { unit: 0, slot, generation: 0 };
        held.opened(&client, id(1));
        held.opened(&echo, id(2));
        held.opened(&source, id(3));
        assert!(held.holds(&client) && held.holds(&source) && !held.holds(&echo));
        assert_eq!(held.release(), [vec![id(1)], vec![id(3)]]);
        assert!(!held.holds(&client));
        held.opened(&client, id(4));
        assert_eq!(held.release(), [vec![], vec![]]);
    }
}
