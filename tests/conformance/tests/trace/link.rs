//! The stack under test, as the far end of its link sees it.

use crate::app::{App, Record, Talk};
use crate::script::{Opener, Plan};
use anabranch_device_input::frames;
use device::{Device, memory};
use net::{Call, Config, Domain, Egress, InterfaceConfig, Unit};
use organizations::{Clock, Options, Running, Setup};
use platform::thread;
use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;
use wire::steering::Steering;
use wire::{Address, Endpoint, Instant, Packet};

/// The stack's address.
pub const STACK: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
/// The far end's.
pub const FAR: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The stack's port for connections of this manner; it stands for the number of
/// the connection, too, since the manners differ.
pub const PORT: u16 = 100;
/// The stack's port for datagrams.
pub const DATAGRAMS: u16 = 53;

const STEERING: Steering = Steering::new(11);

/// A stack.
pub trait Link {
    /// Starts it, with this application.
    fn start(&mut self, record: Record);
    /// Asks something of it.
    fn call(&mut self, call: Call<App>);
    /// Delivers frames to it, all at once.
    fn put(&mut self, frames: Vec<Packet>);
    /// What it has sent; if nothing, some time has passed.
    fn take(&mut self) -> Vec<Packet>;
}

/// The end at the stack.
pub fn here(port: u16) -> Endpoint {
    Endpoint { address: Address::from(STACK), port }
}

/// The end at the other side.
pub fn there(port: u16) -> Endpoint {
    Endpoint { address: Address::from(FAR), port }
}

/// Makes a stack listen to what `plans` need, and open what it has to open.
pub fn prepare(link: &mut impl Link, plans: &[Plan], far_port: u16) {
    link.call(Call::BindUdp(here(DATAGRAMS), ()));
    for (number, plan) in plans.iter().enumerate() {
        let number = number as u16;
        link.call(match plan.opener {
            Opener::Peer => Call::Listen(here(PORT + number), plan.manner),
            Opener::Stack => {
                let (remote, connection) = (there(far_port + number), Talk::new(plan.manner));
                Call::Connect { remote, local: None, connection }
            }
        });
    }
}

fn config() -> Config {
    let interface = InterfaceConfig {
        is_ethernet: true,
        ethernet: frames::OURS,
        vlan: None,
        addresses: vec![(STACK.into(), 24)],
        mtu: 1500,
        transmit_checksum: false,
        segmentation: 0,
    };
    let mut config = Config::new(vec![interface], 3);
    config.steering = STEERING;
    config.express = anabranch_conformance::express();
    // So that turns and stays end in the midst of what there is to do.
    config.burst = 4;
    config.tcp = Arc::new(
        tcp::Config::default()
            .with_nagle(false)
            // Repeated soon enough, and never given up within a test.
            .with_initial_rto(Duration::from_millis(50))
            .with_min_rto(Duration::from_millis(50))
            .with_max_rto(Duration::from_secs(5))
            .with_retries(255)
            .with_syn_retries(255),
    );
    config
}

/// A domain, driven by hand: each frame is worked off before the next comes.
pub struct ByHand {
    domain: Option<Domain<App>>,
    now: Instant,
    egress: Egress,
    sent: VecDeque<Packet>,
}

impl ByHand {
    /// Not started yet.
    pub fn new() -> ByHand {
        let now = Instant::from_millis(1000);
        ByHand { domain: None, now, egress: Egress::new(1), sent: VecDeque::new() }
    }

    fn with(&mut self, f: impl FnOnce(&mut Domain<App>, Instant, &mut Egress)) {
        let (now, egress) = (self.now, &mut self.egress);
        let domain = self.domain.as_mut().expect("started");
        f(domain, now, egress);
        loop {
            let due = domain.next_timeout().is_some_and(|at| at <= now);
            if due {
                domain.on_timeout(now, egress);
            }
            if !domain.serve(now, egress, usize::MAX) && !due {
                break;
            }
        }
        self.sent.append(egress.batch(0));
    }
}

impl Link for ByHand {
    fn start(&mut self, record: Record) {
        self.domain = Some(Domain::new(Arc::new(config()), Unit::ONLY, App(record)));
    }

    fn call(&mut self, call: Call<App>) {
        self.with(|domain, now, egress| domain.call(call, now, egress));
    }

    fn put(&mut self, frames: Vec<Packet>) {
        for frame in frames {
            self.with(|domain, now, egress| domain.input(frame, now, egress));
        }
    }

    fn take(&mut self) -> Vec<Packet> {
        if self.sent.is_empty() {
            self.now += Duration::from_millis(5);
            self.with(|_, _, _| ());
        }
        self.sent.drain(..).collect()
    }
}

/// An organization, behind a device in memory.
pub struct Threads {
    name: &'static str,
    options: Options,
    near: Option<Device>,
    far: Device,
    running: Option<Arc<dyn Running<App>>>,
}

impl Threads {
    /// `name` of the catalog, not started yet.
    pub fn new(name: &'static str, queues: usize, options: Options) -> Threads {
        let ethernet = [frames::OURS, frames::PEER];
        let (near, far) = memory::pair(
            memory::Config::default()
                .with_queues(queues)
                .with_steering(STEERING)
                .with_ethernet(ethernet),
        );
        Threads { name, options, near: Some(near), far, running: None }
    }

    fn running(&self) -> &dyn Running<App> {
        &**self.running.as_ref().expect("started")
    }
}

impl Link for Threads {
    fn start(&mut self, record: Record) {
        let device = self.near.take().expect("not started");
        let setup = Setup {
            config: Arc::new(config()),
            processors: device.queues.len(),
            devices: vec![device],
            options: self.options.clone(),
            application: Box::new(move |_| App(record.clone())),
            clock: Clock::start(),
            instruments: None,
        };
        let started = organizations::start(self.name, setup).expect("in the catalog");
        self.running = Some(started.expect("it starts"));
    }

    fn call(&mut self, call: Call<App>) {
        self.running().call(call);
    }

    fn put(&mut self, frames: Vec<Packet>) {
        let mut batch: device::Batch = frames.into();
        while !batch.is_empty() {
            self.far.queues[0].transmit.transmit(&mut batch);
            if !batch.is_empty() {
                thread::yield_now();
            }
        }
    }

    fn take(&mut self) -> Vec<Packet> {
        let mut sent = Vec::new();
        for queue in &mut self.far.queues {
            queue.receive.receive(&mut sent, usize::MAX);
        }
        if sent.is_empty() {
            thread::sleep(Duration::from_micros(200));
        }
        sent
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(running) = &self.running {
            running.stop();
        }
    }
}
