//! What is left of connections that have ended, and the ports of active opens.

use super::Connection;
use super::time_wait::TimeWaitTable;
use crate::config::Config;
use crate::link::Keyed;
use crate::ports::PortAllocator;
use tcp::time_wait::TimeWait;
use wire::{FlowKey, Instant};

/// Flows in TIME-WAIT, and ports.
pub(crate) struct Remains {
    pub(super) time_wait: TimeWaitTable,
    pub(super) ports: PortAllocator<Keyed>,
}

impl Remains {
    pub(super) fn new(config: &Config) -> Remains {
        let hasher = Keyed(config.secret);
        let (first, last) = config.ephemeral_ports;
        Remains {
            time_wait: TimeWaitTable::new(hasher, config.max_time_wait),
            ports: PortAllocator::new(first, last, hasher),
        }
    }

    /// Keeps of a connection that is taken out what has to be kept.
    pub(super) fn leave<U>(&mut self, connection: &Connection<U>, now: Instant) {
        let Connection { flow, tcb, port_allocated, .. } = connection;
        if let Some(state) = TimeWait::new(tcb) {
            self.time_wait.insert(*flow, state, *port_allocated);
            self.expire(now);
        } else if *port_allocated {
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
