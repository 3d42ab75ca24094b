//! [`Memberships`]: the groups that a UDP socket is a member of, and how it sends to groups.

use net::groups::{Filter, Sending};
use platform::Mutex;
use wire::Address;

#[derive(Debug)]
struct State {
    joined: Vec<(u16, Address, Filter)>,
    sending: Sending,
}

/// What a thread of the application sets, and one of the stack reads when a datagram comes
/// from, or goes to, a group.
#[derive(Debug)]
pub(crate) struct Memberships(Mutex<State>);

impl Default for Memberships {
    /// None; what is sent stays on the link, and members here hear it (as on Linux).
    fn default() -> Memberships {
        let sending = Sending { looped: true, ..Sending::default() };
        Memberships(Mutex::new(State { joined: Vec::new(), sending }))
    }
}

impl Memberships {
    /// What is wanted of `group` on an interface.
    pub(crate) fn filter(&self, interface: u16, group: Address) -> Option<Filter> {
        let state = self.0.lock();
        let is = |(i, g, _): &&(u16, Address, Filter)| (*i, *g) == (interface, group);
        state.joined.iter().find(is).map(|(_, _, filter)| filter.clone())
    }

    /// Sets it.
    pub(crate) fn set(&self, interface: u16, group: Address, filter: Filter) {
        let mut state = self.0.lock();
        state.joined.retain(|(i, g, _)| (*i, *g) != (interface, group));
        if !filter.is_none() {
            state.joined.push((interface, group, filter));
        }
    }

    /// Is nothing joined?
    pub(crate) fn is_empty(&self) -> bool {
        self.0.lock().joined.is_empty()
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
        group.is_all_hosts() || self.0.lock().joined.iter().any(wants)
    }

    /// How it sends.
    pub(crate) fn sending(&self) -> Sending {
        self.0.lock().sending
    }

    /// Changes how it sends.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Sending)) {
        change(&mut self.0.lock().sending);
    }
}
