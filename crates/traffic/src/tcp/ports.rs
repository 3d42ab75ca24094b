//! The table of a peer's connections: by both ports.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A connection's index by [`key`].
pub(super) type ByPorts = HashMap<u32, u32, BuildHasherDefault<PortsHash>>;

/// A hash of two ports, which nobody attacks.
#[derive(Default)]
pub(super) struct PortsHash(u64);

impl Hasher for PortsHash {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {}
    fn write_u32(&mut self, ports: u32) {
        self.0 = u64::from(ports).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

/// The stack's port above the peer's.
pub(super) fn key(stack_port: u16, peer_port: u16) -> u32 {
    u32::from(stack_port) << 16 | u32::from(peer_port)
}
