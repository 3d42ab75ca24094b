//! [`Rig`]: the organization and the stacks that a case runs on.

use crate::family::{CLIENT, CLIENT_V6, SERVER, SERVER_V6, server};
use anabranch::device::{fault, memory};
use anabranch::{Counters, Organization, Stack, TcpConfig, TcpListener, TcpStream};
use std::time::Duration;

/// An organization and a number of processors.
#[derive(Clone, Copy, Debug)]
pub struct Rig {
    /// The organization's name in the catalog.
    pub organization: &'static str,
    /// How many threads process packets.
    pub processors: usize,
}

/// The link between the two stacks.
#[derive(Clone, Debug)]
pub struct Link {
    /// Bytes of the largest datagram.
    pub mtu: usize,
    /// Packets that each receive queue holds.
    pub ring: usize,
    /// Checksums and segmentation are left to the link.
    pub offload: bool,
    /// Faults of the server's device, as text.
    pub faults: &'static str,
    /// The seed of the faults.
    pub seed: u64,
}

impl Default for Link {
    fn default() -> Link {
        Link { mtu: 1500, ring: 256, offload: false, faults: "", seed: 1 }
    }
}

/// Two stacks.
#[derive(Debug)]
pub struct Pair {
    /// Has the address [`SERVER`].
    pub server: Stack,
    /// Has the address [`CLIENT`].
    pub client: Stack,
}

/// Do the stacks of tests let plain segments pass the layers by? They do, unless the variable
/// `ANABRANCH_EXPRESS` is `off`.
///
/// # Panics
/// If the variable is something else: a test that means to go the long way would go the short one.
pub fn express() -> bool {
    match std::env::var("ANABRANCH_EXPRESS").as_deref() {
        Err(_) | Ok("on") => true,
        Ok("off") => false,
        Ok(other) => panic!("ANABRANCH_EXPRESS is {other:?}: say on or off"),
    }
}

/// TCP's parameters for tests, with short time-outs.
fn hasty() -> TcpConfig {
    TcpConfig::default()
        .with_min_rto(Duration::from_millis(20))
        .with_initial_rto(Duration::from_millis(200))
        .with_max_rto(Duration::from_secs(2))
        .with_time_wait(Duration::from_millis(200))
        .with_fin_wait_2(Duration::from_secs(5))
}

impl Rig {
    /// `organization` in Rust's spelling, with underscores.
    pub fn new(organization: &str, processors: usize) -> Rig {
        let name = organization.replace('_', "-");
        let organization: Organization = name.parse().expect("in the catalog");
        Rig { organization: organization.name(), processors }
    }

    /// Runs `case`, with a watchdog.
    ///
    /// # Panics
    /// If the case does, or hangs.
    pub fn run(self, name: &str, case: fn(Rig)) {
        // By a pointer: there are over a thousand of these, and one watchdog.
        crate::within(name, move || case(self));
    }

    /// Two stacks over a good link.
    pub fn pair(self) -> Pair {
        self.pair_over(Link::default())
    }

    /// Two stacks over `link`.
    pub fn pair_over(self, link: Link) -> Pair {
        self.pair_with(link, |_| ())
    }

    /// Two stacks over `link`, whose TCP parameters `tune` changes.
    pub fn pair_with(self, link: Link, tune: impl FnOnce(&mut TcpConfig)) -> Pair {
        let (mut left, right) = memory::pair(
            memory::Config::default()
                .with_queues(self.processors)
                .with_mtu(link.mtu)
                .with_ring(link.ring)
                .with_transmit_checksum(link.offload)
                .with_segmentation(if link.offload { 65535 } else { 0 }),
        );
        if !link.faults.is_empty() {
            left = fault::wrap(left, &link.faults.parse().expect("faults"), link.seed);
        }
        let mut tcp = hasty();
        tune(&mut tcp);
        let start = |device, address: &str, address_v6: &str| {
            let mut builder = Stack::builder().device(device).address(format!("{address}/24"));
            // IPv6 needs 1280 bytes.
            if link.mtu >= 1280 {
                builder = builder.address(format!("{address_v6}/64"));
            }
            builder
                .organization(self.organization)
                .processors(self.processors)
                .tcp(tcp.clone())
                .express(express())
                .start()
                .expect("a stack")
        };
        Pair { server: start(left, SERVER, SERVER_V6), client: start(right, CLIENT, CLIENT_V6) }
    }
}

impl Pair {
    /// A listener on `port` of the server.
    pub fn listen(&self, port: u16) -> TcpListener {
        TcpListener::bind(&self.server, (server(), port)).expect("listen")
    }

    /// A stream to `port` of the server.
    pub fn connect(&self, port: u16) -> TcpStream {
        TcpStream::connect(&self.client, (server(), port)).expect("connect")
    }

    /// A connection by way of `port`: the server's end and the client's.
    pub fn connected(&self, port: u16) -> (TcpStream, TcpStream) {
        let listener = self.listen(port);
        let there = self.connect(port);
        let (here, peer) = listener.accept().expect("accept");
        assert_eq!(peer, there.local_addr().expect("local address"));
        (here, there)
    }
}

/// Checks that every packet that came in has been accounted for.
///
/// # Panics
/// If it has not.
pub fn conserved(counters: &Counters) {
    let accounted = counters.delivered + counters.absorbed + counters.dropped_in_all();
    assert_eq!(counters.packets_in, accounted, "{counters:?}");
}

/// Bytes of buffers that the process has allocated and not freed, in use or in a pool.
pub fn buffers() -> usize {
    buffer::pool_counts().iter().map(|c| c.capacity * c.allocated).sum()
}
