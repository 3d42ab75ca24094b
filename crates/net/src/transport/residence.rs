//! Where connections live: the one thing that an organization which moves them
//! between units tells the transport layer.

use crate::application::{Application, Call};
use crate::config::Unit;
use crate::connections::ConnId;
use wire::FlowKey;

/// Has a connection that has migrated this flow?
pub(crate) type Elsewhere = Box<dyn Fn(&FlowKey) -> bool + Send>;

/// Where the connections of a unit live.
pub(crate) enum Residence<A: Application> {
    /// Here, from the first segment to the last.
    Settled,
    /// Here until they are established; then they migrate.
    Transient {
        /// Those that are to migrate now.
        leaving: Vec<ConnId>,
        /// Why no connection may open now, if none may.
        refusal: Option<&'static str>,
        /// Which flows are taken, though not here.
        elsewhere: Elsewhere,
    },
    /// They come from elsewhere. What the application asks of a host is for another
    /// unit to do.
    Guest {
        /// Calls for that unit.
        calls: Vec<Call<A>>,
    },
}

impl<A: Application> Residence<A> {
    /// Does a connection migrate once it is established?
    #[inline]
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, Residence::Transient { .. })
    }

    /// Why no connection may open now, if none may.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        match self {
            Residence::Transient { refusal, .. } => *refusal,
            _ => None,
        }
    }

    /// Has a connection that has migrated this flow?
    pub(crate) fn is_elsewhere(&self, flow: &FlowKey) -> bool {
        match self {
            Residence::Transient { elsewhere, .. } => elsewhere(flow),
            _ => false,
        }
    }

    /// Lets connections open, or not for this reason.
    pub(crate) fn set_refusal(&mut self, why: Option<&'static str>) {
        if let Residence::Transient { refusal, .. } = self {
            *refusal = why;
        }
    }

    /// The connection has been established, and is to migrate.
    pub(crate) fn leave(&mut self, id: ConnId) {
        if let Residence::Transient { leaving, .. } = self {
            leaving.push(id);
        }
    }

    /// Takes the names of those that are to migrate now.
    pub(crate) fn take_leaving(&mut self) -> Vec<ConnId> {
        match self {
            Residence::Transient { leaving, .. } => std::mem::take(leaving),
            _ => Vec::new(),
        }
    }

    /// Does `unit` do this call itself? Another one is for [`Residence::keep_call`].
    #[inline]
    pub(crate) fn does(&self, call: &Call<A>, unit: Unit) -> bool {
        match (self, call) {
            (Residence::Guest { .. }, Call::Notify(id)) => id.unit == unit.index,
            (Residence::Guest { .. }, call) => matches!(call, Call::FlushUdp(_)),
            _ => true,
        }
    }

    /// Keeps a call that another unit is to do.
    pub(crate) fn keep_call(&mut self, call: Call<A>) {
        if let Residence::Guest { calls } = self {
            calls.push(call);
        }
    }

    /// Takes the calls that another unit is to do.
    pub(crate) fn take_calls(&mut self) -> Vec<Call<A>> {
        match self {
            Residence::Guest { calls } => std::mem::take(calls),
            _ => Vec::new(),
        }
    }
}
