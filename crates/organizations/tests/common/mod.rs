//! A stack of one device in memory.

use crate::organizations::{self, Clock, Options, Running, Setup};
use device::Device;
use net::{Application, Config, InterfaceConfig};
use std::net::Ipv4Addr;
use std::sync::Arc;
use wire::Address;

/// Starts the organization called `name` over `device`, with the address 10.0.0.1.
pub fn start<A: Application + 'static>(
    name: &str,
    device: Device,
    processors: usize,
    application: fn() -> A,
) -> Arc<dyn Running<A>> {
    let interface = InterfaceConfig {
        is_ethernet: device.capabilities.medium == device::Medium::Ethernet,
        ethernet: device.ethernet,
        vlan: None,
        addresses: vec![(Address::from(Ipv4Addr::new(10, 0, 0, 1)), 24)],
        mtu: device.capabilities.mtu,
        transmit_checksum: false,
        segmentation: 0,
    };
    let setup = Setup {
        config: Arc::new(Config::new(vec![interface], 0)),
        devices: vec![device],
        processors,
        options: Options::default(),
        application: Box::new(move |_| application()),
        clock: Clock::start(),
        instruments: None,
    };
    organizations::start(name, setup).expect("an organization").expect("it starts")
}
