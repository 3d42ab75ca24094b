//! Which units a call is for.

use net::ip::Routes;
use net::{Application, Call, Config};
use platform::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use wire::{Endpoint, FlowKey};

/// With so many local ports for each unit, all have some left towards any destination for about as long.
const MANY: usize = 64;

/// Finds the units of calls, where each unit has connections of its own.
pub(crate) struct Router {
    config: Arc<Config>,
    units: u16,
    /// Active opens so far: units, or the ports that steer to them, have them in turn.
    opened: AtomicUsize,
}

impl Router {
    /// For `units` units, at least one.
    pub(crate) fn new(config: &Arc<Config>, units: usize) -> Router {
        let units = units.clamp(1, usize::from(u16::MAX)) as u16;
        Router { config: config.clone(), units, opened: AtomicUsize::new(0) }
    }

    /// Gives `call` to `to` with its unit, or once with each unit that has to know.
    /// One unit sends for a UDP socket, so that its datagrams stay in order.
    pub(crate) fn route<A: Application>(&self, call: Call<A>, to: impl FnMut(u16, Call<A>)) {
        let one = |call: &Call<A>| match call {
            Call::Notify(id) => id.unit,
            Call::FlushUdp(socket) => A::bound_to(socket).map_or(0, |at| at.port % self.units),
            Call::Connect { remote, local: Some(local), .. } if local.port != 0 => {
                self.unit_of(*local, *remote)
            }
            Call::Connect { remote, local, .. } => self.next_to_open(*local, *remote),
            // It answers for the host, or any does.
            _ => 0,
        };
        each_or_one(call, self.units, one, to);
    }

    /// The unit that opens a connection from any port: each in turn, or, where ports are few, as
    /// often as it has ports towards `remote`.
    fn next_to_open(&self, local: Option<Endpoint>, remote: Endpoint) -> u16 {
        let (nth, units) = (self.opened.fetch_add(1, Ordering::Relaxed), usize::from(self.units));
        let (first, last) = self.config.ephemeral_ports;
        let ports = usize::from(last.saturating_sub(first)) + 1;
        if ports >= MANY * units {
            return (nth % units) as u16;
        }
        let address = local.map_or(remote.address.unspecified(), |local| local.address);
        self.unit_of(Endpoint { address, port: first + (nth % ports) as u16 }, remote)
    }

    /// The host's present configuration.
    fn config(&self) -> Arc<Config> {
        self.config.host.current().unwrap_or_else(|| self.config.clone())
    }

    /// The unit that the connection between these two ends steers to. Where the port
    /// is not fixed, any unit may open the connection: it chooses a port that
    /// steers to it.
    fn unit_of(&self, mut local: Endpoint, remote: Endpoint) -> u16 {
        if local.address.is_unspecified()
            && let Some(route) = Routes::new(&self.config()).lookup(remote.address)
        {
            local.address = route.source;
        }
        let hash = self.config.steering.flow(&FlowKey { local, remote });
        (hash % u32::from(self.units)) as u16
    }
}

/// Gives `call` to `to`, once with each of `units` where all have to know (ports,
/// the end), else with the unit that `one` names.
pub(crate) fn each_or_one<A: Application>(
    call: Call<A>,
    units: u16,
    one: impl FnOnce(&Call<A>) -> u16,
    mut to: impl FnMut(u16, Call<A>),
) {
    let units = 0..units;
    match call {
        Call::Listen(local, listener) => {
            units.for_each(|unit| to(unit, Call::Listen(local, listener.clone())));
        }
        Call::Unlisten(local) => units.for_each(|unit| to(unit, Call::Unlisten(local))),
        Call::BindUdp(local, socket) => {
            units.for_each(|unit| to(unit, Call::BindUdp(local, socket.clone())));
        }
        Call::UnbindUdp(local) => units.for_each(|unit| to(unit, Call::UnbindUdp(local))),
        Call::Reset => units.for_each(|unit| to(unit, Call::Reset)),
        call @ (Call::Connect { .. } | Call::Notify(_) | Call::FlushUdp(_) | Call::Look) => {
            to(one(&call), call);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
