//! The two hosts of an experiment.

use crate::load::presentation::Presentation;
use crate::load::{CHURN_PORTS, Call, FIRST_PORT, LoadConn, Meter, NUMBER, Role};
use crate::setup::bench_plan::{self, BenchPlan, Family, Peer, Workload};
use device::{Device, Medium, fault, memory};
use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use traffic::PeerCounts;
use wire::steering::Steering;
use wire::{Address, Endpoint, EthernetAddress};

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The stack under test, which opens the connections.
    Tested,
    /// Its peer.
    Peer,
}

impl Side {
    /// Its address of IPv4.
    pub(crate) fn address(self) -> Address {
        self.of(Family::V4)
    }
    /// Its address.
    pub(crate) fn of(self, family: Family) -> Address {
        let last = if self == Side::Tested { 1 } else { 2 };
        match family {
            Family::V4 => Ipv4Addr::new(10, 99, 0, last).into(),
            Family::V6 => Ipv6Addr::new(0xfd99, 0, 0, 0, 0, 0, 0, last.into()).into(),
        }
    }
    /// Its addresses with the lengths of their prefixes, on a device with this address.
    pub(crate) fn addresses(self, family: Family, at: EthernetAddress) -> Vec<(Address, u8)> {
        match family {
            Family::V4 => vec![(self.of(family), 24)],
            Family::V6 => vec![(self.of(family), 64), (wire::ipv6::link_local(at).into(), 64)],
        }
    }
    pub(crate) fn other(self) -> Side {
        if self == Side::Tested { Side::Peer } else { Side::Tested }
    }
    /// Does this side send bulk or datagrams?
    pub(crate) fn sends(self, plan: &BenchPlan) -> bool {
        match self {
            Side::Tested => plan.direction.sends(),
            Side::Peer => plan.direction.receives(),
        }
    }
}

/// The first port of listeners whose connections carry something.
const ACTIVE_PORT: u16 = FIRST_PORT;
/// The first port of listeners whose connections stay idle.
const IDLE_PORT: u16 = 6000;
/// Connections to one port: well within the ephemeral range.
const PER_PORT: usize = 16 * 1024;

/// The steering of both ends, which the devices share.
pub(crate) const STEERING: Steering = Steering::new(0x616e_6162);

fn link(plan: &BenchPlan) -> memory::Config {
    memory::Config::default()
        .with_mtu(plan.mtu)
        .with_queues(plan.processors)
        .with_steering(STEERING)
        .with_transmit_checksum(!plan.checksum)
}

/// The devices, back to back.
pub(crate) fn devices(plan: &BenchPlan) -> (Device, Device) {
    let (tested, peer) = memory::pair(link(plan));
    match &plan.faults {
        Some(faults) => (fault::wrap(tested, faults, FAULTS_SEED), peer),
        None => (tested, peer),
    }
}

/// Where chance starts on a bad link: each run has the same.
const FAULTS_SEED: u64 = 0xbad;

/// Bytes of the window that a simulated receiver announces, at most: what keeps
/// packets in flight in the second-level cache.
const DRIVER_WINDOW: u32 = 256 * 1024;
/// Bytes that all connections together may have in flight to it, but for
/// [`LEAST_WINDOW`] each.
const DRIVER_WINDOWS: usize = 1 << 20;
/// Bytes of the window of one of very many connections: some segments.
const LEAST_WINDOW: u32 = 8 * 1024;
/// Answers that wait at a driver, at most: more than windows let there be. Were the
/// device full, connections whose handshake is not complete would wait behind
/// those that send without end.
const DRIVER_RING: usize = 1 << 16;

/// The window that a simulated receiver announces to each of `connections`, bytes.
fn driver_window(connections: usize) -> u32 {
    ((DRIVER_WINDOWS / connections.max(1)) as u32).clamp(LEAST_WINDOW, DRIVER_WINDOW)
}

/// The window that the stack under test announces to each simulated sender, bytes: as large, and
/// at least two segments. Simulated senders have no congestion control: what a window lets them
/// send and a queue of the stack has no room for is lost, and repeated late. So all windows
/// together have to fit into queues, and do not grow.
fn tested_window(plan: &BenchPlan) -> usize {
    let two = 2 * plan.mtu.saturating_sub(40);
    (DRIVER_WINDOWS / plan.connections.max(1)).clamp(two, (DRIVER_WINDOW as usize).max(two))
}

/// The port that simulated senders send to.
pub(crate) const DRIVER_PORT: u16 = 5001;

/// The device with a simulated peer behind it, and what that counts.
pub(crate) fn driver(plan: &BenchPlan) -> (Device, Arc<PeerCounts>) {
    let receives = plan.direction.receives();
    let whole = if plan.workload == Workload::Udp { plan.bytes() } else { usize::MAX };
    let config = traffic::Config {
        link: link(plan).with_ring(DRIVER_RING),
        stack: Side::Tested.of(plan.family).ip(),
        peer: Side::Peer.of(plan.family).ip(),
        connections: if plan.driver_opens() { plan.connections } else { 0 },
        stack_port: DRIVER_PORT,
        window: driver_window(plan.connections),
        payload: plan.segment.unwrap_or(whole),
        mss: plan.segment.unwrap_or(usize::MAX),
        buffers: plan.receive_buffers.bytes(),
        checksum: plan.checksum,
        message: plan.bytes(),
        held: true,
        ..traffic::Config::default()
    };
    match (plan.workload, receives) {
        (Workload::Bulk, false) | (Workload::Crr, _) => traffic::sink(&config),
        (Workload::Bulk, true) => traffic::source(&config),
        (Workload::Rr, _) => traffic::echoed(&config),
        (Workload::Udp, false) => traffic::udp_sink(&config),
        (Workload::Udp, true) => traffic::udp_source(&config),
        (Workload::UdpRr, _) => traffic::udp_echoed(&config),
    }
}

/// The configuration of one host on `device`.
pub(crate) fn config(plan: &BenchPlan, side: Side, device: &Device) -> Arc<net::Config> {
    let interface = net::InterfaceConfig {
        is_ethernet: device.capabilities.medium == Medium::Ethernet,
        ethernet: device.ethernet,
        vlan: None,
        addresses: side.addresses(plan.family, device.ethernet),
        mtu: device.capabilities.mtu,
        transmit_checksum: device.capabilities.transmit_checksum,
        segmentation: device.capabilities.segmentation,
    };
    let seed = if side == Side::Tested { 0x5eed } else { 0xfeed };
    let mut config = net::Config::new(vec![interface], seed);
    config.steering = STEERING;
    config.burst = plan.burst;
    config.express = plan.express;
    config.ephemeral_ports = (1024, 65535);
    // Those that a churn has closed stand beside those that it opens.
    config.max_connections = config.max_connections.max(2 * plan.connections);
    let tcp = || tcp::Config::default().with_congestion(plan.congestion);
    config.tcp = Arc::new(tcp());
    if plan.peer == Peer::Driver && !plan.direction.receives() {
        // A stack that stops waits as long for what peers have not said yet; simulated
        // ones say it at once. What it receives itself, it answers at once, too.
        let delayed_ack = Duration::from_millis(5);
        config.tcp = Arc::new(tcp().with_delayed_ack(delayed_ack));
    }
    if plan.peer == Peer::Driver && plan.direction.receives() && plan.workload == Workload::Bulk {
        config.tcp = Arc::new(tcp().with_receive_buffer(tested_window(plan)));
    }
    if plan.workload == Workload::Crr {
        // Ports have to come back within the sample.
        config.tcp = Arc::new(tcp().with_time_wait(Duration::from_millis(20)));
        config.max_time_wait = 8192;
    }
    Arc::new(config)
}

/// The presentation layer of a host, if the plan has one.
pub(crate) fn presentation(plan: &BenchPlan, meter: &Arc<Meter>) -> Option<Arc<Presentation>> {
    let front = if plan.workload == Workload::Udp { NUMBER } else { 0 };
    let with = plan.presentation == bench_plan::Presentation::Xdr;
    with.then(|| Arc::new(Presentation::new(plan.bytes(), front, meter.findings().clone())))
}

/// What the connections of `side` do, those that carry something.
pub(crate) fn role(plan: &BenchPlan, side: Side) -> Role {
    match (plan.workload, side) {
        (Workload::Rr, Side::Tested) => Role::Client,
        (Workload::Crr, Side::Tested) => Role::Churn,
        (Workload::Rr | Workload::Crr, Side::Peer) => Role::Echo,
        (Workload::Bulk | Workload::Udp | Workload::UdpRr, _) => {
            match (side.sends(plan), side.other().sends(plan)) {
                (true, true) => Role::Both,
                (true, false) => Role::Source,
                (false, _) => Role::Sink,
            }
        }
    }
}

/// The calls that make the peer listen.
pub(crate) fn listens(plan: &BenchPlan) -> Vec<Call> {
    let ports = plan.connections.div_ceil(PER_PORT) as u16;
    let ports = if plan.workload == Workload::Crr { ports.max(CHURN_PORTS) } else { ports };
    let any = Side::Peer.of(plan.family).unspecified();
    let active = (0..ports).map(|n| (ACTIVE_PORT + n, role(plan, Side::Peer)));
    let idle = (0..ports).map(|n| (IDLE_PORT + n, Role::Idle));
    let calls = active.chain(idle);
    calls.map(|(port, role)| Call::Listen(Endpoint { address: any, port }, role)).collect()
}

/// The call that opens the connection number `index`.
pub(crate) fn connect(plan: &BenchPlan, index: usize) -> Call {
    let (first, role) = if index < plan.active() {
        (ACTIVE_PORT, role(plan, Side::Tested))
    } else {
        (IDLE_PORT, Role::Idle)
    };
    let port = first + (index / PER_PORT) as u16;
    let remote = Endpoint { address: Side::Peer.of(plan.family), port };
    let conn = LoadConn::new(role, Some(remote));
    let connection = if role == Role::Idle { conn } else { conn.counted() };
    Call::Connect { remote, local: None, connection }
}

#[cfg(test)]
mod tests;
