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
    flow: FlowKey,
    time_wait: Option<TimeWait>,
    port_allocated: bool,
}

/// Flows in TIME-WAIT, and the ports of active opens.
pub(crate) struct ClosedFlows {
    pub(super) time_wait: TimeWaitTable,
    pub(super) ports: PortAllocator<Keyed>,
    /// They are not kept here: they wait to be fetched.
    away: Option<Vec<ClosedFlow>>,
}

impl ClosedFlows {
    pub(super) fn new(config: &Config) -> ClosedFlows {
        let hasher = Keyed::new(config, Purpose::Tables);
        let (first, last) = config.ephemeral_ports;
        ClosedFlows {
            time_wait: TimeWaitTable::new(hasher, config.max_time_wait),
            ports: PortAllocator::new(first, last, Keyed::new(config, Purpose::Ports)),
            away: None,
        }
    }

    /// ClosedFlows that others keep.
    pub(super) fn elsewhere(config: &Config) -> ClosedFlows {
        ClosedFlows { away: Some(Vec::new()), ..ClosedFlows::new(config) }
    }

    /// Fetches what others are to keep.
    pub(super) fn fetch(&mut self) -> Vec<ClosedFlow> {
        self.away.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Keeps of a connection that is taken out what has to be kept.
    pub(super) fn leave<U>(&mut self, connection: &Connection<U>, now: Instant) {
        let Connection { flow, tcb, port_allocated, .. } = connection;
        let (time_wait, port_allocated) = (TimeWait::new(tcb), *port_allocated);
        let closed_flow = ClosedFlow { flow: *flow, time_wait, port_allocated };
        match &mut self.away {
            Some(away) if closed_flow.time_wait.is_some() || port_allocated => {
                away.push(closed_flow)
            }
            Some(_) => {}
            None => self.keep(closed_flow, now),
        }
    }

    /// Keeps what is left of a connection.
    pub(super) fn keep(&mut self, closed_flow: ClosedFlow, now: Instant) {
        let ClosedFlow { flow, time_wait, port_allocated } = closed_flow;
        if let Some(state) = time_wait {
            self.time_wait.insert(flow, state, port_allocated);
            self.expire(now);
        } else if port_allocated {
            self.ports.release(flow.remote, flow.local.port);
        }
    }

    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((flow, port_allocated)) = self.time_wait.expire(now) {
            if port_allocated {
                self.ports.release(flow.remote, flow.local.port);
            }
        }
    }

    pub(super) fn forget(&mut self, flow: &FlowKey) {
        if self.time_wait.remove(flow) {
            self.ports.release(flow.remote, flow.local.port);
        }
    }
}
