//! Connections that migrate from one domain to another. The box with everything of a
//! connection moves ([`Domain::extract`], [`Domain::adopt`]). Lists and timers hold
//! names; in the old domain these find nothing any more.

use super::Domain;
use crate::Egress;
use crate::application::{Application, Call, ConnectError};
use crate::config::{Config, Unit};
use crate::connections::{ClosedFlow, ConnId, Connection, Connections, OpenError, OwnedTable};
use crate::down::Down;
use crate::transport::{Residence, Transport};
use std::sync::Arc;
use wire::{FlowKey, Instant};

impl<A: Application> Domain<A> {
    /// A domain for connections that come by [`Domain::adopt`]. What is left of
    /// them and what their application asks for go elsewhere
    /// ([`Domain::take_closed_flows`], [`Domain::take_calls`]). `generation` is new
    /// among those that domains with this unit's index have had.
    pub fn for_guests(config: Arc<Config>, unit: Unit, generation: u32, app: A) -> Domain<A> {
        let conns = OwnedTable::for_guests(unit.index, generation, &config);
        let mut domain = Domain::with_connections(config, unit, app, conns);
        domain.transport.residence = Residence::Guest { calls: Vec::new() };
        domain.transport.share.is_of_guest();
        domain
    }

    /// From now on, connections leave once they are established, before the
    /// application hears of it ([`Domain::take_leaving`]); and packets put
    /// together from fragments may be those of connections that have left: all
    /// come by [`Domain::take_misrouted`]. `elsewhere` says whether one that has left has a flow, which
    /// then cannot be opened.
    pub fn migrate_on_established(
        &mut self,
        elsewhere: impl Fn(&FlowKey) -> bool + Send + 'static,
    ) {
        let elsewhere = Box::new(elsewhere);
        let (leaving, refusal) = (Vec::new(), None);
        self.transport.residence = Residence::Transient { leaving, refusal, elsewhere };
    }

    /// Refuses to open connections, for this reason; `None` allows it again. It counts
    /// only where connections migrate.
    pub fn set_refusal(&mut self, why: Option<&'static str>) {
        self.transport.residence.set_refusal(why);
    }

    /// The connections that are to leave now. Each has to be extracted before the
    /// next round.
    pub fn take_leaving(&mut self) -> Vec<ConnId> {
        self.transport.residence.take_leaving()
    }

    /// Takes a connection out, with all that has come for it.
    pub fn extract(&mut self, id: ConnId, now: Instant) -> Option<Box<Connection<A::Connection>>> {
        let (transport, mut cx) = self.cx(now);
        transport.end_batch(&mut cx);
        let Domain { transport, conns, .. } = self;
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
            ready.schedule(connection);
            // None of its entries are here, so the time does not matter.
            timers.arm(connection, Instant::ZERO);
        });
        Ok(id)
    }

    /// Resets a connection that was extracted and that no unit takes. To the application
    /// it was never opened.
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
        let interface = transport.interface_of(&connection);
        transport.transmit(&mut connection, interface, now, 1, counters, &mut down);
        transport.share.forget(&mut connection);
        conns.retire(&connection, now);
        counters.closed += 1;
        counters.refused_no_thread += u64::from(matches!(error, ConnectError::Refused(_)));
        let Connection { tcb, user, .. } = *connection;
        if tcb.is_passive() { app.refused(user) } else { app.connect_failed(user, error) }
    }

    /// What is left of guests that have ended, for another domain to keep.
    pub fn take_closed_flows(&mut self) -> Vec<ClosedFlow> {
        self.conns.take_closed_flows()
    }

    /// Keeps what is left of a connection that has ended elsewhere.
    pub fn keep_closed_flow(&mut self, closed_flow: ClosedFlow, now: Instant) {
        self.conns.keep_closed_flow(closed_flow, now);
    }

    /// What the application of guests has asked for, for another unit to do.
    pub fn take_calls(&mut self) -> Vec<Call<A>> {
        self.transport.residence.take_calls()
    }
}

#[cfg(test)]
mod tests;
