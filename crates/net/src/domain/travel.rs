//! Connections that go from one domain to another: the box with everything of
//! its connection travels ([`Domain::extract`], [`Domain::adopt`]). Lists and
//! timers hold names, which find nothing any more where it was.

use super::Domain;
use crate::Egress;
use crate::application::{Application, Call, ConnectError};
use crate::config::{Config, Unit};
use crate::connections::{ConnId, Connection, Connections, OpenError, OwnedTable, Remnant};
use crate::down::Down;
use crate::transport::Transport;
use std::sync::Arc;
use wire::Instant;

/// What a domain may do itself that has only guests.
pub(super) fn is_own<A: Application>(call: &Call<A>, unit: Unit) -> bool {
    match call {
        Call::Notify(id) => id.unit == unit.index,
        Call::FlushUdp(_) => true,
        _ => false,
    }
}

impl<A: Application> Domain<A> {
    /// A domain for connections that come by [`Domain::adopt`]. What is left of
    /// them and what their application asks for go elsewhere
    /// ([`Domain::take_remains`], [`Domain::take_calls`]). `generation` is new
    /// among those that domains with this unit's index have had.
    pub fn for_guests(config: Arc<Config>, unit: Unit, generation: u32, app: A) -> Domain<A> {
        let conns = OwnedTable::for_guests(unit.index, generation, &config);
        let domain = Domain::with_connections(config, unit, app, conns);
        Domain { calls_away: Some(Vec::new()), ..domain }
    }

    /// From now on, connections leave once they are established, before the
    /// application hears of it ([`Domain::take_leaving`]); and packets put
    /// together from fragments may be those of connections that have left: all
    /// come by [`Domain::take_resteered`].
    pub fn hand_over(&mut self) {
        self.transport.hands_over = true;
        self.defers_reassembled = true;
    }

    /// Can another connection find a thread to live in? If not, those that want
    /// to be opened are refused.
    pub fn set_short_of_threads(&mut self, is_short: bool) {
        self.transport.is_short_of_threads = is_short;
    }

    /// The connections that are to leave now. Each has to be extracted before the
    /// next round.
    pub fn take_leaving(&mut self) -> Vec<ConnId> {
        std::mem::take(&mut self.transport.leaving)
    }

    /// Takes a connection out, with all that has come for it.
    pub fn extract(&mut self, id: ConnId, now: Instant) -> Option<Box<Connection<A::Connection>>> {
        let Domain { transport, conns, counters, .. } = self;
        transport.end_batch(conns, now, counters);
        let connection = conns.take_out(id);
        transport.timers.clear_away(conns);
        connection
    }

    /// Takes a connection in. The application is told its new name, and gets its
    /// turn.
    ///
    /// # Errors
    /// If there is one with its flow, or no room; it comes back.
    #[allow(clippy::type_complexity)]
    pub fn adopt(
        &mut self,
        connection: Box<Connection<A::Connection>>,
    ) -> Result<ConnId, (OpenError, Box<Connection<A::Connection>>)> {
        let Domain { transport, conns, app, .. } = self;
        let id = conns.put_in(connection)?;
        let Transport { ready, timers, .. } = transport;
        conns.with_id(id, |connection| {
            app.opened(&mut connection.user, id, &connection.flow);
            Transport::<A>::schedule(ready, connection);
            // None of its entries are here, so the time does not matter.
            timers.arm(connection, Instant::ZERO);
        });
        Ok(id)
    }

    /// Resets a connection that was extracted to leave and has nowhere to go: to
    /// the application it is one that was never opened.
    pub fn refuse(
        &mut self,
        mut connection: Box<Connection<A::Connection>>,
        error: ConnectError,
        now: Instant,
        egress: &mut Egress,
    ) {
        let Domain { transport, conns, app, ip, link, counters, .. } = self;
        connection.tcb.abort();
        let mut down = Down { ip, link, egress, now, observer: () };
        transport.speak(&mut connection, now, 1, counters, &mut down);
        conns.bury(&connection, now);
        counters.closed += 1;
        counters.refused_no_thread += u64::from(error == ConnectError::NoThread);
        let Connection { tcb, user, .. } = *connection;
        if tcb.is_passive() { app.refused(user) } else { app.connect_failed(user, error) }
    }

    /// What is left of guests that have ended, for another domain to keep.
    pub fn take_remains(&mut self) -> Vec<Remnant> {
        self.conns.fetch_remains()
    }

    /// Keeps what is left of a connection that has ended elsewhere.
    pub fn keep_remains(&mut self, remnant: Remnant, now: Instant) {
        self.conns.keep_remains(remnant, now);
    }

    /// What the application of guests has asked for, for another unit to do.
    pub fn take_calls(&mut self) -> Vec<Call<A>> {
        self.calls_away.as_mut().map(std::mem::take).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
