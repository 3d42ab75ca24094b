//! [`Bounds`]: the most that a stack may hold, whatever else its builder was told.

use super::Builder;

/// Upper bounds of what a builder was told.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Bytes of each connection's buffer each way.
    pub(crate) buffer: usize,
    /// Bytes that a connection is ready to receive before anything is known of its application.
    pub(crate) first: usize,
    /// Bytes of memory of all connections, as for [`Builder::memory`].
    pub(crate) memory: usize,
    /// Bytes that keep each connection going beyond that, if it is a hard bound.
    pub(crate) reserve: Option<usize>,
    /// Connections of all units of concurrency together, one for each processor.
    pub(crate) connections: usize,
    /// Bytes of fragments that wait for the rest of their datagrams.
    pub(crate) fragment_bytes: usize,
}

impl Builder {
    /// Keeps the stack within these bounds.
    pub(crate) fn within(mut self, bounds: Bounds) -> Builder {
        let tcp = &mut self.tcp;
        for bytes in [
            &mut tcp.receive_buffer,
            &mut tcp.max_receive_buffer,
            &mut tcp.send_buffer,
            &mut tcp.max_send_buffer,
        ] {
            *bytes = (*bytes).min(bounds.buffer);
        }
        self.tcp.receive_buffer = self.tcp.receive_buffer.min(bounds.first);
        self.config.memory = self.config.memory.min(bounds.memory);
        self.config.memory_reserve = bounds.reserve;
        let units = bounds.connections.div_ceil(self.processors.max(1));
        self.config.max_connections = self.config.max_connections.min(units);
        // What waits there is small, but there may be many.
        self.config.max_time_wait = self.config.max_time_wait.min(units);
        self.config.reassembly_bytes = self.config.reassembly_bytes.min(bounds.fragment_bytes);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Stack;

    #[test]
    fn buffers_do_not_tune_themselves_beyond_the_bound() {
        let buffer = 64 << 10;
        let (memory, reserve) = (1 << 20, Some(1 << 20));
        let (first, connections) = (16 << 10, 16);
        let bounds = Bounds { buffer, first, memory, reserve, connections, fragment_bytes: 4096 };
        let tcp = Stack::builder().within(bounds).tcp;
        assert_eq!(tcp.receive_buffer, first);
        assert!(tcp.receive_buffer.max(tcp.max_receive_buffer) <= bounds.buffer);
        assert!(tcp.send_buffer.max(tcp.max_send_buffer) <= bounds.buffer);
    }
}
