//! Stacks of one device in memory. (They are one program, since an organization with an application
//! takes long to be compiled.)

extern crate anabranch_organizations as organizations;

mod ended;
mod full_device;

use device::Device;
use net::application::ConnectError;
use net::{Application, Config, Datagram, InterfaceConfig};
use organizations::{Clock, Options, Running, Setup};
use std::net::Ipv4Addr;
use std::sync::Arc;
use tcp::{Events, Tcb};
use wire::Address;

/// One that panics when a connection cannot be opened, and says nothing.
struct App;

impl Application for App {
    type Connection = ();
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<()> {
        None
    }
    fn connect_failed(&mut self, (): (), error: ConnectError) {
        panic!("some tests want this: {error}");
    }
    fn ready(&mut self, (): &mut (), _: &mut Tcb, _: Events, _: wire::Instant) -> bool {
        false
    }
    fn closed(&mut self, (): (), _: &mut Tcb) {}
    fn datagram(&mut self, (): &(), _: Datagram) -> bool {
        false
    }
}

/// Starts the organization called `name` over `device`, with the address 10.0.0.1.
fn start(name: &str, device: Device, processors: usize) -> Arc<dyn Running<App>> {
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
        application: Box::new(|_| App),
        clock: Clock::start(),
        instruments: None,
    };
    organizations::start(name, setup).expect("an organization").expect("it starts")
}
