//! The way to 127/8, ::1 and to the stack's own addresses.

use ::device::{Device, Medium, memory};
use net::{Config, InterfaceConfig};
use std::net::{Ipv4Addr, Ipv6Addr};

/// Bytes of the largest datagram: as large as IPv4 has them.
const MTU: usize = u16::MAX as usize;

/// Adds the loopback interface, the last one, to `config`, and returns its device. What is
/// sent by it comes up again, unchanged and without transport checksums, on that of the
/// `queues` that it steers to; so it is one more device to every organization.
pub(super) fn add(config: &mut Config, queues: usize) -> Device {
    let device = memory::loopback(
        memory::Config::default()
            .with_medium(Medium::Ip)
            .with_mtu(MTU)
            .with_queues(queues)
            .with_steering(config.steering)
            .with_transmit_checksum(true),
    );
    config.loopback = u16::try_from(config.interfaces.len()).ok();
    config.interfaces.push(InterfaceConfig {
        is_ethernet: false,
        ethernet: device.ethernet,
        vlan: None,
        addresses: vec![(Ipv4Addr::LOCALHOST.into(), 8), (Ipv6Addr::LOCALHOST.into(), 128)],
        mtu: MTU,
        transmit_checksum: true,
        segmentation: 0,
    });
    device
}
