//! Which units a call is for.

use net::{Application, Call};
use platform::atomic::{AtomicUsize, Ordering};

/// Finds the units of calls, where each unit has connections of its own.
pub(crate) struct Router {
    units: u16,
    /// Active opens so far: units have them in turn.
    opened: AtomicUsize,
}

impl Router {
    /// For `units` units, at least one.
    pub(crate) fn new(units: usize) -> Router {
        Router { units: units.clamp(1, usize::from(u16::MAX)) as u16, opened: AtomicUsize::new(0) }
    }

    /// Gives `call` to `to` with its unit, or once with each unit that has to know.
    /// One unit sends for a UDP socket, so that its datagrams stay in order.
    pub(crate) fn route<A: Application>(&self, call: Call<A>, to: impl FnMut(u16, Call<A>)) {
        let one = |call: &Call<A>| match call {
            Call::Notify(id) => id.unit,
            Call::FlushUdp(socket) => A::bound_to(socket).map_or(0, |at| at.port % self.units),
            _ => (self.opened.fetch_add(1, Ordering::Relaxed) % usize::from(self.units)) as u16,
        };
        each_or_one(call, self.units, one, to);
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
        call @ (Call::Connect { .. } | Call::Notify(_) | Call::FlushUdp(_)) => {
            to(one(&call), call);
        }
    }
}

#[cfg(test)]
mod tests;
