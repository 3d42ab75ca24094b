//! A long run of everything at once over a bad link, which looks at every byte,
//! and fails on a connection, a byte or a wake-up that is lost.

use crate::Error;
use crate::load::soak::{Shared, connect};
use crate::load::{Flow, Flows, Loads, Meter, Role, Socket, Way};
use crate::measure::threads::{self, Stack};
use crate::setup::bench_plan::check_names;
use crate::setup::bench_plan::{BenchPlan, Family};
use crate::setup::host::{self, STEERING, Side};
use crossbeam_utils::CachePadded;
use device::fault::{self, Spec};
use device::{Device, memory};
use organizations::{Clock, Options, Setup};
use serde::Serialize;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use wire::Endpoint;

/// How long nothing may happen in a conversation: far longer than the
/// retransmission time-outs that a bad link makes, far shorter than forever.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time between two looks of the watchdog.
const LOOK: Duration = Duration::from_millis(100);
/// The servers' port.
const PORT: u16 = 5000;
/// Ports of flows of UDP, at the sender and at the receiver.
const UDP_PORTS: [u16; 2] = [10_000, 40_000];
/// Flows of UDP.
const FLOWS: u16 = 4;
/// Bytes of a datagram's payload.
const DATAGRAM: usize = 1000;
/// How long TIME-WAIT lasts: ports have to come back.
const TIME_WAIT: Duration = Duration::from_secs(1);

/// What to do.
#[derive(Clone, Debug)]
pub struct Soak {
    /// The organizations, by name, one after the other, again and again.
    pub organizations: Vec<String>,
    /// Threads of each of the two stacks: a number in this range, drawn at random.
    pub threads: RangeInclusive<usize>,
    /// Connections at once, at most: a number up to this, drawn at random.
    pub connections: usize,
    /// How long in all.
    pub time: Duration,
    /// How long one pair of stacks lives.
    pub leg: Duration,
    /// What the link does to packets.
    pub faults: Spec,
    /// The family of the addresses.
    pub family: Family,
    /// The seed of what is drawn at random.
    pub seed: u64,
    /// What the organizations leave open.
    pub options: Options,
}

impl Default for Soak {
    fn default() -> Soak {
        Soak {
            organizations: organizations::CATALOG.iter().map(|e| e.name.to_owned()).collect(),
            threads: 2..=16,
            connections: 64,
            time: Duration::from_secs(60),
            leg: Duration::from_secs(10),
            faults: Spec {
                loss: 0.01,
                reorder: 0.02,
                duplicate: 0.005,
                delay: Duration::from_micros(200),
                jitter: Duration::from_micros(100),
                ..Spec::default()
            },
            family: Family::V4,
            seed: 1,
            options: Options::default(),
        }
    }
}

/// What one pair of stacks did, all of it right.
#[derive(Clone, Debug, Serialize)]
pub struct Leg {
    /// The organization's name.
    pub organization: String,
    /// Threads of each stack.
    pub threads: usize,
    /// Connections at once.
    pub connections: usize,
    /// The seed of what was drawn.
    pub seed: u64,
    /// Conversations from their first to their last byte.
    pub conversations: u64,
    /// Bytes of TCP that came and were looked at.
    pub bytes: u64,
    /// Datagrams sent.
    pub datagrams: u64,
    /// How long it took, seconds.
    pub seconds: f64,
}

impl Soak {
    /// Does it make sense?
    ///
    /// # Errors
    /// [`Error::Plan`], in one line that says what to change.
    pub fn check(&self) -> Result<(), Error> {
        let no = |what: &str| Err(Error::Plan(what.to_owned()));
        check_names(&self.organizations)?;
        if self.organizations.is_empty() {
            return no("there must be at least one organization");
        }
        if self.threads.is_empty() || *self.threads.start() == 0 || *self.threads.end() > 256 {
            return no("threads must be from 1 to 256, the least and the most like 2-16");
        }
        if !(1..=4096).contains(&self.connections) {
            return no("connections must be from 1 to 4096");
        }
        if self.leg.is_zero() {
            return no("a leg must take some time");
        }
        Ok(())
    }

    /// Does it, and tells `progress` about each leg.
    ///
    /// # Errors
    /// [`Error`], at the first one: what was lost, and from which seed.
    pub fn run(&self, progress: &mut dyn FnMut(&Leg)) -> Result<Vec<Leg>, Error> {
        self.check()?;
        let shared = Shared::new(Clock::start(), self.seed);
        let end = Instant::now() + self.time;
        let mut legs = Vec::new();
        // Each organization at least once.
        while legs.len() < self.organizations.len() || Instant::now() < end {
            let organization = &self.organizations[legs.len() % self.organizations.len()];
            let span = (self.threads.end() - self.threads.start() + 1) as u32;
            let single = organizations::find(organization).is_some_and(|entry| entry.single);
            let threads = self.threads.start() + shared.random(span) as usize;
            let threads = if single { 1 } else { threads };
            let connections = 1 + shared.random(self.connections as u32) as usize;
            let seed = u64::from(shared.random(u32::MAX));
            let leg = self.leg(organization, threads, connections, seed)?;
            progress(&leg);
            legs.push(leg);
        }
        Ok(legs)
    }

    fn leg(
        &self,
        organization: &str,
        threads: usize,
        connections: usize,
        seed: u64,
    ) -> Result<Leg, Error> {
        let start = Instant::now();
        let failed = |what: String| {
            let what =
                format!("{what} ({threads} threads, {connections} connections, seed {seed})");
            Error::Load { organization: organization.to_owned(), workload: "soak", what }
        };
        let pair = Pair::start(self, organization, threads, seed)?;
        pair.open(connections);
        let end = start + self.leg;
        while Instant::now() < end {
            pair.look().map_err(failed)?;
        }
        pair.shared.rest();
        // All that has begun ends.
        while pair.shared.living() > 0 {
            pair.look().map_err(failed)?;
        }
        pair.look().map_err(failed)?;
        Ok(Leg {
            organization: organization.to_owned(),
            threads,
            connections,
            seed,
            conversations: pair.shared.done.load(Ordering::Relaxed),
            bytes: pair.shared.bytes.load(Ordering::Relaxed),
            datagrams: pair.sending.iter().map(|flow| flow.count()).sum(),
            seconds: start.elapsed().as_secs_f64(),
        })
    }
}

/// Two stacks, and what they carry.
struct Pair {
    stacks: [Stack; 2],
    shared: Arc<Shared>,
    meter: Arc<Meter>,
    family: Family,
    /// The first stack's ends of the flows of UDP.
    sending: Flows,
}

impl Pair {
    fn start(soak: &Soak, organization: &str, threads: usize, seed: u64) -> Result<Pair, Error> {
        let (meter, clock) = (Arc::new(Meter::default()), Clock::start());
        let shared = Arc::new(Shared::new(clock, seed));
        let (a, b) =
            memory::pair(memory::Config::default().with_queues(threads).with_steering(STEERING));
        let a = fault::wrap(a, &soak.faults, seed);
        let loads = Loads::new(DATAGRAM, meter.clone()).with_soak(shared.clone());
        let start = |side: Side, device: Device, flows: Flows| {
            let loads = loads.clone().with_flows(flows);
            let setup = Setup {
                config: config(side, soak.family, &device),
                devices: vec![device],
                processors: threads,
                options: soak.options.clone(),
                application: Box::new(move |_| loads.load()),
                clock,
                instruments: None,
            };
            threads::launch(organization, setup)
        };
        let sending = flows(Side::Tested, soak.family);
        let peer = start(Side::Peer, b, flows(Side::Peer, soak.family))?;
        let tested = match start(Side::Tested, a, sending.clone()) {
            Ok(stack) => stack,
            Err(error) => {
                peer.stop();
                return Err(error);
            }
        };
        Ok(Pair { stacks: [tested, peer], shared, meter, family: soak.family, sending })
    }

    /// Begins.
    fn open(&self, connections: usize) {
        let [tested, peer] = &self.stacks;
        for (stack, side) in self.stacks.iter().zip([Side::Tested, Side::Peer]) {
            let at = Endpoint { address: side.of(self.family), port: PORT };
            stack.listen(at, Role::SoakServer);
            for flow in 0..FLOWS {
                let local = end(side, self.family, flow);
                stack.bind(local, Socket { flow: flow.into(), local });
            }
        }
        for index in 0..connections {
            // From either side to the other.
            let (from, to) = match index % 2 {
                0 => (tested, Side::Peer),
                _ => (peer, Side::Tested),
            };
            let remote = Endpoint { address: to.of(self.family), port: PORT };
            from.call(connect(remote));
        }
        self.flush();
    }

    fn flush(&self) {
        let tested = &self.stacks[0];
        for flow in 0..FLOWS {
            let local = end(Side::Tested, self.family, flow);
            tested.send(Socket { flow: flow.into(), local });
        }
    }

    /// The watchdog: waits a moment, and looks round. An error says what was lost.
    fn look(&self) -> Result<(), String> {
        let before: Vec<u64> = self.sending.iter().map(|flow| flow.count()).collect();
        std::thread::sleep(LOOK);
        // A window of UDP whose reports were lost has to be forgiven.
        let mut stuck = false;
        for (flow, before) in self.sending.iter().zip(before) {
            if flow.count() == before {
                flow.forgive();
                stuck = true;
            }
        }
        if stuck {
            self.flush();
        }
        if let Some(what) = self.meter.failure() {
            return Err(what);
        }
        match self.shared.starved(PATIENCE) {
            Some(what) => Err(format!("nothing has happened for 20 s in {what}")),
            None => Ok(()),
        }
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        self.stacks.iter().for_each(|stack| stack.stop());
    }
}

/// Where flow number `flow` ends at `side`.
fn end(side: Side, family: Family, flow: u16) -> Endpoint {
    let first = UDP_PORTS[usize::from(side == Side::Peer)];
    Endpoint { address: side.of(family), port: first + flow }
}

/// The flows of UDP at `side`: they go one way.
fn flows(side: Side, family: Family) -> Flows {
    let way = if side == Side::Tested { Way::Send } else { Way::Receive };
    let flow =
        |n| CachePadded::new(Flow::new(way, end(side, family, n), end(side.other(), family, n)));
    (0..FLOWS).map(flow).collect()
}

fn config(side: Side, family: Family, device: &Device) -> Arc<net::Config> {
    let plan = BenchPlan { family, ..BenchPlan::default() };
    let mut config = (*host::config(&plan, side, device)).clone();
    config.tcp = Arc::new(tcp::Config::default().with_time_wait(TIME_WAIT));
    Arc::new(config)
}
