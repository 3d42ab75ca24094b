//! Both ends polled by one thread: nothing but the work itself.

use crate::Error;
use crate::load::presentation::Presentation;
use crate::load::{Call, Load, Loads, Meter, Wakes};
use crate::measure::sample::{Mark, OPENING, PATIENCE, Sample, check, failed};
use crate::measure::threads;
use crate::setup::affinity::Confined;
use crate::setup::bench_plan::{BenchPlan, Workload};
use crate::setup::host::{self, Side};
use crossbeam_queue::SegQueue;
use device::{Device, Receive, Transmit};
use instrument::{Instruments, ThreadTimer};
use net::{Application, Config, Counters, Domain, Egress, Observer, Unit};
use organizations::Clock;
use organizations::runtime::worker::{self, BATCH};
use std::sync::Arc;
use std::time::{Duration, Instant};
use wire::Packet;

/// A host with one unit.
struct Host {
    domain: Domain<Load>,
    egress: Egress,
    receive: Box<dyn Receive>,
    transmitters: Vec<Box<dyn Transmit>>,
    received: Vec<Packet>,
    /// Calls that the presentation layer has made; `None`: there is none.
    notified: Option<Arc<SegQueue<Call>>>,
    watch: ThreadTimer,
}

impl Host {
    fn new(
        config: Arc<Config>,
        device: Device,
        load: Load,
        presentation: Option<Arc<Presentation>>,
        watch: ThreadTimer,
    ) -> Option<Host> {
        let queue = device.queues.into_iter().next()?;
        let notified = presentation.map(|presentation| {
            let calls = Arc::new(SegQueue::new());
            let into = calls.clone();
            presentation.set_notify(Box::new(move |call| into.push(call)));
            calls
        });
        Some(Host {
            notified,
            egress: Egress::new(1),
            domain: Domain::new(config, Unit::ONLY, load),
            receive: queue.receive,
            transmitters: vec![queue.transmit],
            received: Vec::with_capacity(BATCH),
            watch,
        })
    }

    /// One round of an owner, as in `organizations::owned`, without the sleep.
    #[inline]
    fn round(&mut self, now: wire::Instant) {
        self.watch.begin();
        self.receive.receive(&mut self.received, BATCH);
        self.watch.received(&self.received);
        let Host { domain, egress, received, watch, .. } = self;
        match watch.observer() {
            Some(observer) => layers(domain, received, now, egress, observer),
            None => layers(domain, received, now, egress, &mut ()),
        }
        worker::transmit_counted(&mut self.transmitters, &mut self.egress, &mut self.watch);
        self.watch.end();
        if self.notified.is_some() {
            self.present(now);
        }
    }

    /// Does the work of the presentation layer.
    fn present(&mut self, now: wire::Instant) {
        let mut wakes = Wakes::default();
        self.domain.app.take_wakes(&mut wakes);
        Load::wake(wakes);
        while let Some(call) = self.notified.as_ref().and_then(|calls| calls.pop()) {
            self.domain.call(call, now, &mut self.egress);
        }
    }
}

#[inline]
fn layers(
    domain: &mut Domain<Load>,
    received: &mut Vec<Packet>,
    now: wire::Instant,
    egress: &mut Egress,
    observer: &mut impl Observer,
) {
    domain.look_ahead(received.iter());
    for frame in received.drain(..) {
        domain.input_observed(frame, now, egress, observer);
    }
    if domain.next_timeout().is_some_and(|at| at <= now) {
        domain.on_timeout(now, egress);
    }
    let room = egress.room();
    domain.serve_observed(now, egress, room, observer);
}

/// Two hosts in one thread.
pub(crate) struct Pair {
    tested: Host,
    peer: Host,
    clock: Clock,
    pub(crate) meter: Arc<Meter>,
    instruments: Option<Arc<Instruments>>,
}

/// Rounds between two looks at the meter.
const ROUNDS: usize = 64;
/// What a round takes if time is virtual.
const ROUND: Duration = Duration::from_micros(5);

impl Pair {
    /// Two hosts for `plan`, with no connection yet.
    pub(crate) fn new(plan: &BenchPlan) -> Result<Pair, Error> {
        Pair::with_clock(plan, Clock::start())
    }

    /// As [`Pair::new`], by the time of `clock`.
    pub(crate) fn with_clock(plan: &BenchPlan, clock: Clock) -> Result<Pair, Error> {
        let (meter, instruments) = (Arc::new(plan.meter()), plan.make_instruments());
        let loads = Loads::new(plan.bytes(), meter.clone())
            .with_posted(plan.posted)
            .with_rest(plan.resting);
        let (a, b) = host::devices(plan);
        let host = |side, device: Device| {
            let presentation = host::presentation(plan, &meter);
            let flows = threads::flows(plan, side);
            if side == Side::Tested {
                meter.set_flows(flows.clone(), plan.bytes());
            }
            let loads = loads.clone().with_flows(flows);
            let load = loads.with_presentation(presentation.clone()).load();
            let watched = instruments.as_ref().filter(|_| side == Side::Tested);
            let watch = ThreadTimer::new(watched, || "both ends".to_owned());
            let config = host::config(plan, side, &device);
            Host::new(config, device, load, presentation, watch)
                .ok_or_else(|| failed(plan, "uniprocessor", "the device has no queue"))
        };
        let (tested, peer) = (host(Side::Tested, a)?, host(Side::Peer, b)?);
        Ok(Pair { tested, peer, clock, meter, instruments })
    }

    #[inline]
    fn round(&mut self) {
        if let Some(time) = self.clock.virtual_time() {
            time.advance(time.now() + ROUND);
        }
        let now = self.clock.now();
        self.tested.round(now);
        self.peer.round(now);
    }

    /// Runs until `done` says so, asked now and then, but at most for `time`;
    /// returns whether it did.
    pub(crate) fn run_until(
        &mut self,
        time: Duration,
        mut done: impl FnMut(&Meter) -> bool,
    ) -> bool {
        let end = Instant::now() + time;
        loop {
            for _ in 0..ROUNDS {
                self.round();
            }
            if done(&self.meter) {
                return true;
            }
            if Instant::now() >= end {
                return false;
            }
        }
    }

    /// What the stack under test and its peer have counted.
    pub(crate) fn counters(&self) -> [Counters; 2] {
        [&self.tested, &self.peer].map(|host| host.domain.counters.clone())
    }

    /// Runs for `time`, or until something goes wrong.
    pub(crate) fn run(&mut self, time: Duration) {
        self.run_until(time, Meter::has_failed);
    }

    /// Opens the connections and flows of `plan`, waits until they are established, and
    /// lets them begin.
    pub(crate) fn open(&mut self, plan: &BenchPlan) -> Result<(), Error> {
        self.open_held(plan)?;
        self.release();
        Ok(())
    }

    /// Lets connections begin that waited until all are open.
    pub(crate) fn release(&mut self) {
        let now = self.clock.now();
        let hosts = [&mut self.tested, &mut self.peer];
        for (host, waiting) in hosts.into_iter().zip(self.meter.held().release()) {
            for id in waiting {
                host.domain.call(Call::Notify(id), now, &mut host.egress);
            }
        }
    }

    /// As [`Pair::open`], but lets none begin.
    pub(crate) fn open_held(&mut self, plan: &BenchPlan) -> Result<(), Error> {
        let now = self.clock.now();
        if plan.workload == Workload::Udp {
            for (side, call) in threads::udp_calls(plan) {
                let host = if side == Side::Tested { &mut self.tested } else { &mut self.peer };
                host.domain.call(call, now, &mut host.egress);
            }
            return Ok(());
        }
        for call in host::listens(plan) {
            self.peer.domain.call(call, now, &mut self.peer.egress);
        }
        for first in (0..plan.connections).step_by(OPENING) {
            let end = (first + OPENING).min(plan.connections);
            for index in first..end {
                let now = self.clock.now();
                self.tested.domain.call(host::connect(plan, index), now, &mut self.tested.egress);
            }
            let all = move |meter: &Meter| {
                meter.has_failed() || meter.totals().connected >= 2 * end as u64
            };
            if !self.run_until(PATIENCE, all) {
                return Err(failed(plan, "uniprocessor", "connections were not established"));
            }
        }
        check(&self.meter, plan, "uniprocessor")
    }
}

/// One sample.
pub(crate) fn sample(plan: &BenchPlan, organization: &str) -> Result<Sample, Error> {
    let _confined = plan.confine.then(|| Confined::to(plan.processors)).transpose()?;
    let mut pair = Pair::new(plan)?;
    pair.open(plan)?;
    pair.run(Duration::from_secs_f64(plan.warm_up));
    let mut mark = Mark::now(&pair.meter, pair.instruments.as_ref());
    pair.run(Duration::from_secs_f64(plan.seconds / 2.0));
    mark.half(&pair.meter, plan);
    pair.run(Duration::from_secs_f64(plan.seconds / 2.0));
    while mark.is_empty(&pair.meter, plan) {
        pair.run(Duration::from_millis(50));
    }
    mark.sample(&pair.meter, plan, organization)
}
