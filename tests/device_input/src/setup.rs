//! How a domain is set up.

use crate::frames;
use net::{Config, InterfaceConfig};
use std::sync::Arc;
use std::time::Duration;
use wire::Address;

pub(crate) const OURS: [u8; 4] = [10, 0, 0, 1];
pub(crate) const MAX_CONNECTIONS: usize = 6;

pub(crate) fn address(a: [u8; 4]) -> Address {
    std::net::Ipv4Addr::from(a).into()
}

/// A configuration as the bits of `kind` say, with the ways past the layers or without: with small
/// tables and buffers.
pub(crate) fn config(kind: u8, express: bool) -> Config {
    let is = |bit: u8| kind & bit != 0;
    let interface = InterfaceConfig {
        is_ethernet: !is(1),
        ethernet: frames::OURS,
        vlan: is(2).then_some(5),
        addresses: vec![(address(OURS), 24)],
        mtu: if is(4) { 576 } else { 1500 },
        transmit_checksum: is(8),
        segmentation: if is(8) { 20_000 } else { 0 },
    };
    let mut config = Config::new(vec![interface], 1);
    config.express = express;
    config.max_connections = MAX_CONNECTIONS;
    config.max_time_wait = 3;
    config.reassembly_bytes = 200_000;
    config.tcp = Arc::new(
        tcp::Config::default()
            .with_receive_buffer(if is(16) { 2000 } else { 30_000 })
            .with_send_buffer(30_000)
            .with_timestamps(!is(32))
            .with_sack(!is(64))
            .with_time_wait(Duration::from_secs(1)),
    );
    config
}
