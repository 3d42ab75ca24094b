//! The load of `scripts/dispatch-cost`: a fixed number of bytes over a few
//! connections, from simulated senders or to simulated receivers that live in the
//! device. Only what starts the organization differs between the programs. Tests of
//! the catalog use it, too.

use device::memory;
use net::application::ConnectError;
use net::{Application, Config, Datagram, InterfaceConfig};
use organizations::{Clock, Options, Running, Setup, StartError};
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use tcp::{Events, Tcb};
use wire::{Endpoint, Instant};

const CONNECTIONS: u64 = 4;
const PORT: u16 = 5001;

/// Reads to the end, or writes so many bytes; then closes.
pub struct Load {
    sends: bool,
    buffer: Vec<u8>,
    closed: Sender<Option<tcp::Error>>,
}

impl Application for Load {
    /// Bytes that are still to be written.
    type Connection = u64;
    type Listener = ();
    type Udp = ();
    type Wakes = ();

    fn incoming(&mut self, (): &()) -> Option<u64> {
        None
    }

    fn connect_failed(&mut self, _: u64, error: ConnectError) {
        panic!("{error}");
    }

    #[inline]
    fn ready(&mut self, unsent: &mut u64, tcb: &mut Tcb, _: Events, _: Instant) -> bool {
        if !tcb.is_synchronized() {
            return false;
        }
        while let Ok(1..) = tcb.receive(&mut self.buffer) {}
        while *unsent > 0 {
            let most = self.buffer.len().min(*unsent as usize);
            match tcb.send(&self.buffer[..most]) {
                Ok(n @ 1..) => *unsent -= n as u64,
                _ => return false,
            }
        }
        if self.sends || tcb.eof() {
            tcb.shutdown_write();
        }
        false
    }

    fn closed(&mut self, _: u64, tcb: &mut Tcb) {
        let _ = self.closed.send(tcb.error());
    }

    fn datagram(&mut self, (): &(), _: Datagram) -> bool {
        true
    }
}

/// Moves so many bytes over what `start` starts. Returns how many packets with
/// data went by.
///
/// # Panics
/// If it does not start, or a connection fails, or bytes are missing.
pub fn transfer(
    sends: bool,
    bytes: u64,
    processors: usize,
    start: impl FnOnce(Setup<Load>) -> Result<Arc<dyn Running<Load>>, StartError>,
) -> u64 {
    let each = bytes / CONNECTIONS;
    let link = memory::Config::default().with_queues(processors);
    let limit = if sends { u64::MAX } else { each };
    let far = traffic::Config { link, window: 256 * 1024, limit, ..traffic::Config::default() };
    let (device, counts) = if sends { traffic::sink(&far) } else { traffic::source(&far) };
    let interface = InterfaceConfig {
        is_ethernet: true,
        ethernet: device.ethernet,
        vlan: None,
        addresses: vec![(far.stack.into(), 24)],
        mtu: device.capabilities.mtu,
        transmit_checksum: device.capabilities.transmit_checksum,
        segmentation: device.capabilities.segmentation,
    };
    let mut config = Config::new(vec![interface], 1);
    config.steering = far.link.steering;
    let (closed, ends) = channel();
    let make = move |_| Load { sends, buffer: vec![0; 16 * 1024], closed: closed.clone() };
    let running = start(Setup {
        config: Arc::new(config),
        devices: vec![device],
        processors,
        options: Options::default(),
        application: Box::new(make),
        clock: Clock::start(),
        instruments: None,
    })
    .expect("it starts");
    let remote = Endpoint { address: far.peer.into(), port: PORT };
    for _ in 0..CONNECTIONS {
        running.connect(remote, None, if sends { each } else { 0 });
    }
    for _ in 0..CONNECTIONS {
        assert_eq!(ends.recv().expect("an end"), None);
    }
    running.stop();
    let totals = counts.totals();
    assert_eq!(totals.bytes_acked + totals.bytes_received, each * CONNECTIONS);
    totals.packets_sent + totals.packets_received
}
