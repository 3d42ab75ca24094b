//! What is left of connections that have ended, and the ports of active opens.

use super::Connection;
use super::time_wait::TimeWaitTable;
use crate::config::Config;
use crate::hash::{Keyed, Purpose};
use crate::ports::PortAllocator;
use tcp::time_wait::TimeWait;
use wire::{FlowKey, Instant};

/// What is left of one connection, on its way from the unit in which it ended
/// to the one that keeps it.
#[derive(Debug)]
pub struct ClosedFlow {
    pub(super) flow: FlowKey,
    time_wait: Option<TimeWait>,
    port_allocated: bool,
}

/// What is left of a table's connections: kept here, or for others to fetch.
pub(crate) enum ClosedFlows {
    Kept(Kept),
    /// Those of guests, which the unit keeps that they come from.
    ToFetch(Vec<ClosedFlow>),
}

/// Flows in TIME-WAIT, and the ports of active opens.
pub(crate) struct Kept {
    time_wait: TimeWaitTable,
    ports: PortAllocator<Keyed>,
}

impl ClosedFlows {
    pub(super) fn new(config: &Config) -> ClosedFlows {
        let (first, last) = config.ephemeral_ports;
        ClosedFlows::Kept(Kept {
            time_wait: TimeWaitTable::new(config.max_time_wait),
            ports: PortAllocator::new(first, last, Keyed::new(config, Purpose::Ports)),
        })
    }

    /// The flows in TIME-WAIT, where they are kept.
    #[inline]
    pub(super) fn time_wait(&self) -> Option<&TimeWaitTable> {
        match self {
            ClosedFlows::Kept(kept) => Some(&kept.time_wait),
            ClosedFlows::ToFetch(_) => None,
        }
    }

    /// The ports of active opens, where they are kept.
    pub(super) fn ports(&mut self) -> Option<&mut PortAllocator<Keyed>> {
        match self {
            ClosedFlows::Kept(kept) => Some(&mut kept.ports),
            ClosedFlows::ToFetch(_) => None,
        }
    }

    /// What is kept of this flow in TIME-WAIT.
    #[inline]
    pub(super) fn in_time_wait(
        &mut self,
        flow: &FlowKey,
        hash: impl FnOnce() -> u32,
    ) -> Option<&mut TimeWait> {
        match self {
            ClosedFlows::Kept(kept) => kept.time_wait.get_mut(flow, hash),
            ClosedFlows::ToFetch(_) => None,
        }
    }

    /// Fetches what others are to keep.
    pub(super) fn fetch(&mut self) -> Vec<ClosedFlow> {
        match self {
            ClosedFlows::Kept(_) => Vec::new(),
            ClosedFlows::ToFetch(flows) => std::mem::take(flows),
        }
    }

    /// Notes what has to be kept of a connection that is taken out, whose flow has this hash.
    pub(super) fn leave<U>(&mut self, connection: &Connection<U>, hash: u32, now: Instant) {
        let Connection { flow, tcb, port_allocated, .. } = connection;
        let (time_wait, port_allocated) = (TimeWait::new(tcb), *port_allocated);
        if time_wait.is_some() || port_allocated {
            self.keep(ClosedFlow { flow: *flow, time_wait, port_allocated }, hash, now);
        }
    }

    /// Keeps what is left of a connection, whose flow has this hash.
    pub(super) fn keep(&mut self, closed_flow: ClosedFlow, hash: u32, now: Instant) {
        match self {
            ClosedFlows::Kept(kept) => kept.keep(closed_flow, hash, now),
            ClosedFlows::ToFetch(flows) => flows.push(closed_flow),
        }
    }

    /// Ends TIME-WAIT of the flows whose time is over, or that are too many.
    pub(super) fn expire(&mut self, now: Instant) {
        if let ClosedFlows::Kept(kept) = self {
            kept.expire(now);
        }
    }

    /// Ends TIME-WAIT of this flow.
    pub(super) fn forget(&mut self, flow: &FlowKey, hash: u32) {
        if let ClosedFlows::Kept(kept) = self
            && kept.time_wait.remove(flow, hash)
        {
            kept.ports.release(flow.remote, flow.local.port);
        }
    }
}

impl Kept {
    fn keep(&mut self, closed_flow: ClosedFlow, hash: u32, now: Instant) {
        let ClosedFlow { flow, time_wait, port_allocated } = closed_flow;
        if let Some(state) = time_wait {
            self.time_wait.insert(flow, hash, state, port_allocated);
            self.expire(now);
        } else if port_allocated {
            self.ports.release(flow.remote, flow.local.port);
        }
    }

    fn expire(&mut self, now: Instant) {
        while let Some((flow, port_allocated)) = self.time_wait.expire(now) {
            if port_allocated {
                self.ports.release(flow.remote, flow.local.port);
            }
        }
    }
}
