//! Two stacks with threads of their own, each under the organization measured.

use crate::Error;
use crate::load::{Call, Flow, Flows, Load, Loads, Meter, Role, Socket, Way};
use crate::measure::sample::{Mark, OPENING, PATIENCE, Sample, check, failed};
use crate::setup::affinity::Confined;
use crate::setup::bench_plan::{BenchPlan, Peer, Workload};
use crate::setup::host::{self, DRIVER_PORT, STEERING, Side};
use crossbeam_utils::CachePadded;
use device::Device;
use instrument::Instruments;
use net::Counters;
use organizations::{Clock, Running, Setup};
use std::sync::Arc;
use std::time::{Duration, Instant};
use traffic::PeerCounts;
use wire::{Endpoint, FlowKey};

pub(crate) type Stack = Arc<dyn Running<Load>>;

/// The ports of flows that a side sends from: one for each unit that reports may
/// have to come to.
const SENDERS: u16 = 10_000;
/// The first port of flows that a side receives on.
const RECEIVERS: u16 = 40_000;

/// Starts the stack of one side.
fn start(
    plan: &BenchPlan,
    organization: &str,
    side: Side,
    device: Device,
    loads: &Loads,
    instruments: Option<Arc<Instruments>>,
) -> Result<Stack, Error> {
    let presentation = host::presentation(plan, loads.meter());
    let flows = flows(plan, side);
    if side == Side::Tested {
        loads.meter().set_flows(flows.clone(), plan.bytes());
    }
    let loads = loads.clone().with_flows(flows);
    let loads = loads.with_presentation(presentation.clone());
    let config = host::config(plan, side, &device);
    let setup = Setup {
        config,
        devices: vec![device],
        processors: plan.processors,
        options: plan.options.clone(),
        application: Box::new(move |_| loads.load()),
        clock: Clock::start(),
        instruments,
    };
    let stack = launch(organization, setup)?;
    if let Some(presentation) = presentation {
        let stack = Arc::downgrade(&stack);
        presentation.set_notify(Box::new(move |call| {
            if let Some(stack) = stack.upgrade() {
                stack.call(call);
            }
        }));
    }
    Ok(stack)
}

/// Starts a stack under `organization`.
pub(crate) fn launch(organization: &str, setup: Setup<Load>) -> Result<Stack, Error> {
    match organizations::start(organization, setup) {
        Some(started) => Ok(started?),
        None => Err(Error::Plan(format!("there is no organization '{organization}'"))),
    }
}

/// The flows of UDP that end at `side`.
pub(crate) fn flows(plan: &BenchPlan, side: Side) -> Flows {
    list(plan, side).into_iter().map(CachePadded::new).collect()
}

fn list(plan: &BenchPlan, side: Side) -> Vec<Flow> {
    if !plan.workload.is_udp() {
        return Vec::new();
    }
    let ends = |sender: Side, way| {
        (0..plan.connections).map(move |index| {
            let (from, to) = udp_ends(plan, sender, index);
            let flow = match way {
                Way::Send | Way::Stream => Flow::new(way, from, to),
                Way::Receive | Way::Drain | Way::Watch | Way::Echo => Flow::new(way, to, from),
            };
            // A stream gets no reports.
            if way == Way::Stream { flow } else { flow.of(plan.connections) }
        })
    };
    let driver = plan.peer == Peer::Driver;
    let mut flows = Vec::new();
    if plan.driver_begins() {
        let local = Endpoint { address: side.of(plan.family), port: DRIVER_PORT };
        let way = if plan.workload == Workload::UdpRr { Way::Echo } else { Way::Drain };
        return vec![Flow::new(way, local, local)];
    }
    if side.sends(plan) {
        flows.extend(ends(side, if driver { Way::Stream } else { Way::Send }));
    }
    if side.other().sends(plan) {
        flows.extend(ends(side.other(), Way::Receive));
    }
    flows
}

/// The two ends of flow number `index` that `sender` sends. To a driver, each
/// queue has as many flows as the others.
fn udp_ends(plan: &BenchPlan, sender: Side, index: usize) -> (Endpoint, Endpoint) {
    let from = Endpoint { address: sender.of(plan.family), port: SENDERS + index as u16 };
    let to = |port| Endpoint { address: sender.other().of(plan.family), port };
    if plan.peer == Peer::Stack {
        return (from, to(RECEIVERS + index as u16));
    }
    let queue = |remote| STEERING.flow(&FlowKey { local: from, remote }) as usize % plan.processors;
    let even = |&port: &u16| queue(to(port)) == index % plan.processors;
    (from, to((RECEIVERS..).take(1000).find(even).unwrap_or(RECEIVERS)))
}

/// Looks at flows that have not begun to send to a driver, at most.
const STARTING: usize = 100;
/// The calls that start the flows of UDP, with the side that each is for: receivers
/// first.
pub(crate) fn udp_calls(plan: &BenchPlan) -> Vec<(Side, Call)> {
    let (mut binds, mut sends) = (Vec::new(), Vec::new());
    for sender in [Side::Tested, Side::Peer].into_iter().filter(|side| side.sends(plan)) {
        let receiver = sender.other();
        // A side that sends has those flows first ([`flows`]).
        let before = if receiver.sends(plan) { plan.connections } else { 0 };
        for index in 0..plan.connections {
            let (from, to) = udp_ends(plan, sender, index);
            let socket = Socket { flow: (before + index) as u32, local: to };
            binds.push((receiver, Call::BindUdp(to, socket)));
            let socket = Socket { flow: index as u32, local: from };
            binds.push((sender, Call::BindUdp(from, socket)));
            sends.push((sender, Call::FlushUdp(socket)));
        }
    }
    binds.extend(sends);
    binds
}

/// The two stacks of a sample.
pub(crate) struct Stacks {
    tested: Stack,
    /// `None`: the peer is simulated.
    peer: Option<Stack>,
    pub(crate) driver: Option<Arc<PeerCounts>>,
    pub(crate) meter: Arc<Meter>,
    /// Those of the stack under test.
    pub(crate) instruments: Option<Arc<Instruments>>,
}

impl Stacks {
    pub(crate) fn start(plan: &BenchPlan, organization: &str) -> Result<Stacks, Error> {
        let (meter, instruments) = (Arc::new(plan.meter()), plan.make_instruments());
        let loads = Loads::new(plan.bytes(), meter.clone())
            .with_posted(plan.posted)
            .with_rest(plan.resting);
        if plan.peer == Peer::Driver {
            let (device, counts) = host::driver(plan);
            let ours = instruments.clone();
            let tested = start(plan, organization, Side::Tested, device, &loads, ours)?;
            return Ok(Stacks { tested, peer: None, driver: Some(counts), meter, instruments });
        }
        let (a, b) = host::devices(plan);
        let peer = start(plan, organization, Side::Peer, b, &loads, None)?;
        let ours = instruments.clone();
        let tested = start(plan, organization, Side::Tested, a, &loads, ours)?;
        Ok(Stacks { tested, peer: Some(peer), driver: None, meter, instruments })
    }

    /// Opens the connections and flows of `plan`, waits until they are established, and lets
    /// them begin.
    fn open(&self, plan: &BenchPlan, organization: &str) -> Result<(), Error> {
        self.open_held(plan, organization)?;
        self.release();
        Ok(())
    }

    /// Lets connections begin that waited until all are open.
    pub(crate) fn release(&self) {
        let stacks = [Some(&self.tested), self.peer.as_ref()];
        for (stack, waiting) in stacks.into_iter().zip(self.meter.held().release()) {
            let Some(stack) = stack else { continue };
            waiting.into_iter().for_each(|id| stack.notify(id));
        }
    }

    /// What the stack under test and its peer have counted.
    pub(crate) fn counters(&self) -> [Counters; 2] {
        let peer = self.peer.as_ref().map(|peer| peer.counters());
        [self.tested.counters(), peer.unwrap_or_default()]
    }

    /// As [`Stacks::open`], but lets none begin.
    pub(crate) fn open_held(&self, plan: &BenchPlan, organization: &str) -> Result<(), Error> {
        if let Some(driver) = &self.driver
            && !plan.driver_opens()
        {
            driver.go();
        }
        if plan.driver_opens() {
            return self.take_from_driver(plan, organization);
        }
        if plan.workload == Workload::Udp {
            for (side, call) in udp_calls(plan) {
                match (side, &self.peer) {
                    (Side::Tested, _) => self.tested.call(call),
                    (Side::Peer, Some(peer)) => peer.call(call),
                    (Side::Peer, None) => {}
                }
            }
            self.start_streams(plan);
            return Ok(());
        }
        if let Some(peer) = &self.peer {
            host::listens(plan).into_iter().for_each(|call| peer.call(call));
        }
        let ends = if self.peer.is_some() { 2 } else { 1 };
        for first in (0..plan.connections).step_by(OPENING) {
            let end = (first + OPENING).min(plan.connections);
            for index in first..end {
                self.tested.call(host::connect(plan, index));
            }
            self.wait_connected(ends * end as u64, plan, organization)?;
        }
        Ok(())
    }

    /// Lets flows begin that send to a driver, which have all been told to by now.
    fn start_streams(&self, plan: &BenchPlan) {
        self.warm_arp(plan);
        self.meter.start();
        // All units hear of that, and so wake; nobody listens there.
        self.tested.unlisten(Endpoint { address: Side::Tested.of(plan.family), port: 0 });
        let mut before = Vec::new();
        for _ in 0..STARTING {
            let silent = self.meter.silent();
            if silent.is_empty() {
                return;
            }
            // Where each has a thread, each has to be woken.
            if silent == before {
                silent.iter().for_each(|socket| self.tested.send(*socket));
            }
            before = silent;
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    /// Waits a while until each processor's flows know their neighbour's address: each
    /// flow has sent one datagram. Where flows without end have all processors, the
    /// thread that receives the answer may not run before the request times out.
    fn warm_arp(&self, plan: &BenchPlan) {
        let Some(driver) = &self.driver else { return };
        let enough = plan.processors.min(plan.connections);
        for _ in 0..STARTING {
            if driver.totals().packets_received >= enough as u64 {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    /// Listens, and waits until the simulated peers have connected, which they
    /// do of their own.
    fn take_from_driver(&self, plan: &BenchPlan, organization: &str) -> Result<(), Error> {
        let local = Endpoint { address: Side::Tested.of(plan.family), port: DRIVER_PORT };
        let listen = |role| self.tested.listen(local, role);
        match plan.workload {
            Workload::Udp | Workload::UdpRr => self.tested.bind(local, Socket { flow: 0, local }),
            Workload::Rr => listen(Role::Reply),
            Workload::Bulk if plan.direction.sends() => listen(Role::Stream),
            Workload::Bulk | Workload::Crr => listen(Role::Drain),
        }
        // A call to a busy stack would be one more to contend for its locks.
        if let Some(driver) = &self.driver {
            driver.begin();
        }
        let count = if plan.workload == Workload::Udp { 0 } else { plan.connections };
        self.wait_connected(count as u64, plan, organization)?;
        if let Some(driver) = &self.driver {
            driver.go();
        }
        Ok(())
    }

    /// Connections that are established, counted at each end that is a stack; or
    /// flows that a driver has had an echo of.
    fn connected(&self, plan: &BenchPlan) -> u64 {
        match (&self.driver, plan.workload) {
            (Some(driver), Workload::UdpRr) => driver.totals().established,
            _ => self.meter.totals().connected,
        }
    }

    fn wait_connected(
        &self,
        count: u64,
        plan: &BenchPlan,
        organization: &str,
    ) -> Result<(), Error> {
        // Simulated peers do not let one wait.
        let patience = if self.driver.is_some() { PATIENCE / 6 } else { PATIENCE };
        let start = Instant::now();
        while self.connected(plan) < count {
            check(&self.meter, plan, organization)?;
            if start.elapsed() > patience {
                return Err(failed(plan, organization, "connections were not established"));
            }
            std::thread::sleep(Duration::from_micros(100));
        }
        check(&self.meter, plan, organization)
    }

    /// Sleeps for `seconds`, or until something goes wrong.
    pub(crate) fn pass(&self, seconds: f64) {
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        while let Some(left) = end.checked_duration_since(Instant::now())
            && !self.meter.has_failed()
        {
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
}

impl Drop for Stacks {
    fn drop(&mut self) {
        self.tested.stop();
        if let Some(peer) = &self.peer {
            peer.stop();
        }
    }
}

/// Stacks of `plan` whose connections are warm.
pub(crate) fn begin(plan: &BenchPlan, organization: &str) -> Result<Stacks, Error> {
    // Not among what the threads of the last sample have exchanged.
    buffer::release();
    let confined = plan.confine.then(|| Confined::to(plan.processors)).transpose()?;
    let stacks = Stacks::start(plan, organization)?;
    // Threads that start later are started by those that there are.
    drop(confined);
    stacks.open(plan, organization)?;
    if let Some(counts) = &stacks.driver {
        stacks.meter.set_driver(counts.clone());
    }
    stacks.pass(plan.warm_up);
    Ok(stacks)
}

/// One sample.
pub(crate) fn sample(plan: &BenchPlan, organization: &str) -> Result<Sample, Error> {
    let stacks = begin(plan, organization)?;
    let mut mark = Mark::now(&stacks.meter, stacks.instruments.as_ref());
    stacks.pass(plan.seconds / 2.0);
    mark.half(&stacks.meter, plan);
    stacks.pass(plan.seconds / 2.0);
    while mark.is_empty(&stacks.meter, plan) {
        stacks.pass(0.05);
    }
    mark.sample(&stacks.meter, plan, organization)
}
