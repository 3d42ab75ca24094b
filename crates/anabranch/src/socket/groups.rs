//! [`Memberships`]: the groups that a UDP socket is a member of, and how it sends to groups.

use net::groups::{Filter, Sending};
use platform::{Mutex, MutexGuard};
use wire::Address;

#[derive(Debug)]
struct State {
    joined: Vec<(u16, Address, Filter)>,
    sending: Sending,
}

/// What a thread of the application sets, and one of the stack reads when a datagram comes
/// from, or goes to, a group.
#[derive(Debug)]
pub(crate) struct Memberships {
    state: Mutex<State>,
    /// Held while what is wanted of a group is changed.
    changing: Mutex<()>,
}

impl Default for Memberships {
    /// None; what is sent stays on the link, and members here hear it (as on Linux).
    fn default() -> Memberships {
        let sending = Sending { looped: true, ..Sending::default() };
        let state = Mutex::new(State { joined: Vec::new(), sending });
        Memberships { state, changing: Mutex::default() }
    }
}

impl Memberships {
    /// What is wanted of `group` on an interface.
    pub(crate) fn filter(&self, interface: u16, group: Address) -> Option<Filter> {
        let state = self.state.lock();
        let is = |(i, g, _): &&(u16, Address, Filter)| (*i, *g) == (interface, group);
        state.joined.iter().find(is).map(|(_, _, filter)| filter.clone())
    }

    /// Nobody else changes what is wanted of a group until what is returned is dropped. Units do not wait
    /// for it.
    pub(crate) fn change_alone(&self) -> MutexGuard<'_, ()> {
        self.changing.lock()
    }

    /// Sets it.
    pub(crate) fn set(&self, interface: u16, group: Address, filter: Filter) {
        let mut state = self.state.lock();
        state.joined.retain(|(i, g, _)| (*i, *g) != (interface, group));
        if !filter.is_none() {
            state.joined.push((interface, group, filter));
        }
    }

    /// Is nothing joined?
    pub(crate) fn is_empty(&self) -> bool {
        self.state.lock().joined.is_empty()
    }

    /// Is what `source` sent to `group` for this socket, as it came by an interface? What this
    /// host has sent does not show by which, and is taken if it is wanted by any.
    pub(crate) fn wants(&self, interface: Option<u16>, group: Address, source: Address) -> bool {
        // RFC 3810 4.1/1
        let wants = |(by, of, filter): &(u16, Address, Filter)| {
            interface.is_none_or(|interface| *by == interface)
                && *of == group
                && filter.passes(source)
        };
        group.is_all_hosts() || self.state.lock().joined.iter().any(wants)
    }

    /// How it sends.
    pub(crate) fn sending(&self) -> Sending {
        self.state.lock().sending
    }

    /// Changes how it sends.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Sending)) {
        change(&mut self.state.lock().sending);
    }
}
