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
        let tcp = &mut self.tcp;
        for bytes in [
            &mut tcp.receive_buffer,
            &mut tcp.max_receive_buffer,
            &mut tcp.send_buffer,
            &mut tcp.max_send_buffer,
        ] {
            *bytes = (*bytes).min(bounds.buffer);
        }
        let units = bounds.connections.div_ceil(self.processors.max(1));
        self.config.max_connections = self.config.max_connections.min(units);
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
        let bounds = Bounds { buffer: 64 << 10, connections: 16, fragment_bytes: 4096 };
        let tcp = Stack::builder().within(bounds).tcp;
        assert!(tcp.receive_buffer.max(tcp.max_receive_buffer) <= bounds.buffer);
        assert!(tcp.send_buffer.max(tcp.max_send_buffer) <= bounds.buffer);
    }
}
