//! [`Bounds`]: the most that a stack may hold, whatever else its builder was told.

use super::Builder;

/// Upper bounds of what a builder was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes of each connection's buffer each way.
    pub(crate) buffer: usize,
    /// Connections of all units of concurrency together, one for each processor.
    pub(crate) connections: usize,
    /// Bytes of fragments that wait for the rest of their datagrams.
    pub(crate) fragment_bytes: usize,
}

impl Builder {
    /// Keeps the stack within these bounds.
    pub(crate) fn within(mut self, bounds: Bounds) -> Builder {
        self.tcp.receive_buffer = self.tcp.receive_buffer.min(bounds.buffer);
        self.tcp.send_buffer = self.tcp.send_buffer.min(bounds.buffer);
        let units = bounds.connections.div_ceil(self.processors.max(1));
        self.config.max_connections = self.config.max_connections.min(units);
        self.config.reassembly_bytes = self.config.reassembly_bytes.min(bounds.fragment_bytes);
        self
    }
}
