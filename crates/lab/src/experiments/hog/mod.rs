//! What well-behaved sockets keep beside a hog.
//!
//! Some sockets of UDP, or connections that carry messages and their echoes, get
//! what they can well take, at a steady rate; first alone, then beside a socket
//! that is sent a thousand times its share and reads no more than that share.
//! What the well-behaved lose, in goodput and in latency, is what the
//! organization lets the hog take.
//!
//! The traffic comes from a thread of its own that drives the device directly.
//! The device's ring is large, so that not the ring but the organization decides
//! whose packets are lost; what the ring lost is counted.

mod generator;
mod paced;
mod sent;

use crate::Error;
use crate::load::watched::Watched;
use crate::load::{Flow, Loads, Meter, Role, Socket};
use crate::measure::cacheline_latency::CachelineLatency;
use crate::measure::run::Progress;
use crate::measure::speed::Paces;
use crate::measure::threads::{self, Stack};
use crate::setup::bench_plan::BenchPlan;
use crate::setup::bench_plan::check_names;
use crate::setup::host::{self, STEERING, Side};
use crate::statistics::median;
use crossbeam_utils::CachePadded;
use device::memory;
use generator::{Generator, Parts};
use instrument::{Counted, Histogram};
use organizations::{Clock, Options, Setup};
use paced::Clients;
use sent::Sent;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wire::Endpoint;

/// The first port of well-behaved sockets.
const GOOD_PORT: u16 = 40_000;
/// The first port that well-behaved senders use.
const SENDER_PORT: u16 = 10_000;
/// The hog's port, at either end.
const HOG_PORT: u16 = 9_999;
/// How long connections may take until they are established.
const PATIENCE: Duration = Duration::from_secs(60);

/// What the well-behaved speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// UDP: datagrams one way.
    Udp,
    /// TCP: messages and their echoes.
    Tcp,
}

impl Protocol {
    /// Its name on the command line and in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Protocol::Udp => "udp",
            Protocol::Tcp => "tcp",
        }
    }
}

/// What to measure.
#[derive(Clone, Debug)]
pub struct Hog {
    /// The organizations, by name; their samples are interleaved.
    pub organizations: Vec<String>,
    /// Processors of the stack under test. The generator has a thread beside.
    pub processors: usize,
    /// What the well-behaved speak.
    pub protocol: Protocol,
    /// How many of them there are.
    pub sockets: usize,
    /// Datagrams or messages a second of each.
    pub rate: f64,
    /// How many times that the hog sends.
    pub factor: f64,
    /// Bytes of a datagram's payload.
    pub bytes: usize,
    /// Packets that a ring of the device holds; there is one a processor.
    pub ring: usize,
    /// Length of each half of a sample, alone and beside the hog, seconds.
    pub seconds: f64,
    /// Time before each half, seconds.
    pub warm_up: f64,
    /// Samples of each organization.
    pub repeat: usize,
    /// What the organizations leave open.
    pub options: Options,
    /// Packets that a connection may send in its turn.
    pub burst: usize,
}

impl Default for Hog {
    fn default() -> Hog {
        Hog {
            organizations: vec!["uniprocessor".to_owned()],
            processors: 1,
            protocol: Protocol::Udp,
            sockets: 8,
            rate: 2000.0,
            factor: 1000.0,
            bytes: 64,
            ring: 4096,
            seconds: 1.0,
            warm_up: 0.2,
            repeat: 3,
            options: Options::default(),
            burst: 32,
        }
    }
}

/// A sample: how far the processors were apart, how fast they were, and both halves.
type Taken = (Option<CachelineLatency>, Paces, [Half; 2]);

/// The figures of one organization; medians of the samples.
#[derive(Clone, Debug, Serialize)]
pub struct HogRow {
    /// The organization's name.
    pub organization: String,
    /// Processors of the stack under test.
    pub processors: usize,
    /// `udp` or `tcp`.
    pub protocol: &'static str,
    /// Well-behaved sockets or connections.
    pub sockets: usize,
    /// Datagrams or messages a second of each.
    pub rate_per_s: f64,
    /// Packets that a ring of the device holds.
    pub ring: usize,
    /// What the hog sent, datagrams a second.
    pub hog_per_s: f64,
    /// Of that, what the ring had no room for.
    pub hog_lost_in_ring: f64,
    /// Of what the well-behaved were sent, what arrived, alone.
    pub goodput_alone: f64,
    /// The same beside the hog.
    pub goodput_with_hog: f64,
    /// Of what the well-behaved were sent beside the hog, what the ring had no
    /// room for (or, over TCP, what was held back, too much being on its way).
    pub lost_in_ring: f64,
    /// Goodput beside the hog, of that alone.
    pub goodput_ratio: f64,
    /// Latency alone, 50 of 100, microseconds.
    pub p50_alone_us: f64,
    /// Beside the hog.
    pub p50_with_hog_us: f64,
    /// Latency alone, 99 of 100, microseconds.
    pub p99_alone_us: f64,
    /// Beside the hog.
    pub p99_with_hog_us: f64,
    /// How many times that is.
    pub p99_ratio: f64,
    /// How far the stack's processors and the generator's were apart at each sample:
    /// samples of different states of the machine are not to be compared.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cacheline_ns: Vec<CachelineLatency>,
    /// What a fixed piece of work took before and after each sample, as in [`crate::Row`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub piece_ns: Vec<Paces>,
}

/// One half of a sample.
#[derive(Clone, Copy, Debug)]
struct Half {
    goodput: f64,
    lost: f64,
    p50: f64,
    p99: f64,
    hog_per_s: f64,
    hog_lost: f64,
}

impl Hog {
    /// Does it make sense?
    ///
    /// # Errors
    /// [`Error::Plan`], in one line that says what to change.
    pub fn check(&self) -> Result<(), Error> {
        let no = |what: &str| Err(Error::Plan(what.to_owned()));
        check_names(&self.organizations)?;
        if self.organizations.is_empty() || self.processors == 0 || self.repeat == 0 {
            return no("organizations, processors and repeat must be at least 1");
        }
        if !(1..=10_000).contains(&self.sockets) {
            return no("sockets must be from 1 to 10000");
        }
        if !(1.0..=1e6).contains(&self.rate) || !(1.0..=1e6).contains(&self.factor) {
            return no("the rate and the factor must be from 1 to 1000000");
        }
        if !(8..=1472).contains(&self.bytes) {
            return no("bytes must be from 8 to 1472");
        }
        if !(1..=1 << 20).contains(&self.ring) {
            return no("the ring must hold from 1 to 1048576 packets");
        }
        if !(self.seconds > 0.0 && self.seconds <= 3600.0) {
            return no("seconds must be more than 0 and at most 3600");
        }
        Ok(())
    }

    /// Measures, organizations in turn.
    ///
    /// # Errors
    /// [`Error`], at the first one.
    pub fn run(&self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Vec<HogRow>, Error> {
        self.check()?;
        let total = self.repeat * self.organizations.len();
        let mut samples = vec![Vec::new(); self.organizations.len()];
        for round in 0..self.repeat {
            for (index, organization) in self.organizations.iter().enumerate() {
                let done = round * self.organizations.len() + index;
                progress(Progress { done, total, organization });
                let several = self.processors_of(organization) + 1;
                let (cacheline, (paces, sample)) = CachelineLatency::around(several, || {
                    Paces::around(several, || self.sample(organization))
                });
                samples[index].push((cacheline, paces, sample?));
            }
        }
        progress(Progress { done: total, total, organization: "" });
        let rows = self.organizations.iter().zip(&samples);
        Ok(rows.map(|(organization, samples)| self.row(organization, samples)).collect())
    }

    fn row(&self, organization: &str, samples: &[Taken]) -> HogRow {
        let of = |f: &dyn Fn(&Half, &Half) -> f64| {
            median(&samples.iter().map(|(.., [alone, hog])| f(alone, hog)).collect::<Vec<f64>>())
        };
        HogRow {
            organization: organization.to_owned(),
            processors: self.processors_of(organization),
            protocol: self.protocol.name(),
            sockets: self.sockets,
            rate_per_s: self.rate,
            ring: self.ring,
            hog_per_s: of(&|_, hog| hog.hog_per_s),
            hog_lost_in_ring: of(&|_, hog| hog.hog_lost),
            goodput_alone: of(&|alone, _| alone.goodput),
            goodput_with_hog: of(&|_, hog| hog.goodput),
            lost_in_ring: of(&|_, hog| hog.lost),
            goodput_ratio: of(&|alone, hog| hog.goodput / alone.goodput.max(1e-9)),
            p50_alone_us: of(&|alone, _| alone.p50),
            p50_with_hog_us: of(&|_, hog| hog.p50),
            p99_alone_us: of(&|alone, _| alone.p99),
            p99_with_hog_us: of(&|_, hog| hog.p99),
            p99_ratio: of(&|alone, hog| hog.p99 / alone.p99.max(1e-9)),
            cacheline_ns: samples.iter().filter_map(|(cacheline, ..)| *cacheline).collect(),
            piece_ns: samples.iter().map(|(_, paces, _)| *paces).collect(),
        }
    }

    /// One, for organizations that run on one only.
    fn processors_of(&self, organization: &str) -> usize {
        let single = organizations::find(organization).is_some_and(|entry| entry.single);
        if single { 1 } else { self.processors }
    }

    fn sample(&self, organization: &str) -> Result<[Half; 2], Error> {
        let bench = Bench::start(self, organization)?;
        bench.wait(self, organization)?;
        let alone = bench.half(self, organization)?;
        bench.hog_on.store(true, Ordering::Relaxed);
        let with_hog = bench.half(self, organization)?;
        Ok([alone, with_hog])
    }
}

fn failed(organization: &str, what: &str) -> Error {
    Error::Load { organization: organization.to_owned(), workload: "hog", what: what.to_owned() }
}

/// A stack, its sockets, and the generator.
struct Bench {
    stack: Stack,
    /// Well-behaved sockets of UDP.
    good: Vec<Arc<Watched>>,
    /// Latency of the echoes over TCP.
    echoes: Arc<Histogram>,
    counts: Arc<Sent>,
    meter: Arc<Meter>,
    hog_on: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bench {
    fn start(hog: &Hog, organization: &str) -> Result<Bench, Error> {
        let processors = hog.processors_of(organization);
        let (ours, theirs) = memory::pair(
            memory::Config::default()
                .with_queues(processors)
                .with_steering(STEERING)
                .with_ring(hog.ring),
        );
        let (clock, meter) = (Clock::start(), Arc::new(Meter::default()));
        let reader = |every| Arc::new(Watched::new(clock, every));
        let is_udp = hog.protocol == Protocol::Udp;
        let good: Vec<_> = (0..hog.sockets * usize::from(is_udp)).map(|_| reader(0)).collect();
        // It reads no more than its share.
        let slow = reader((1e9 / hog.rate) as u64);
        let at = |side: Side, port| Endpoint { address: side.address(), port };
        let mut flows = vec![Flow::watched(at(Side::Tested, HOG_PORT), slow)];
        flows.extend(good.iter().enumerate().map(|(index, watched)| {
            Flow::watched(at(Side::Tested, GOOD_PORT + index as u16), watched.clone())
        }));
        let count = flows.len();
        let flows = flows.into_iter().map(CachePadded::new).collect();
        let loads = Loads::new(hog.bytes, meter.clone()).with_flows(flows);
        let target = ours.ethernet;
        let clients_config = config(hog, Side::Peer, &theirs);
        let stack = launch(hog, organization, ours, loads, clock)?;
        for flow in 0..count as u16 {
            let port = if flow == 0 { HOG_PORT } else { GOOD_PORT + flow - 1 };
            let local = at(Side::Tested, port);
            stack.bind(local, Socket { flow: flow.into(), local });
        }
        stack.listen(at(Side::Tested, GOOD_PORT), Role::Echo);
        let (counts, echoes) = (Arc::new(Sent::default()), Arc::new(Histogram::default()));
        let (hog_on, stop) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let clients = || Clients::new(hog.sockets, counts.clone(), echoes.clone());
        let ends = (0..hog.sockets as u16).map(|index| {
            let port = if is_udp { GOOD_PORT + index } else { GOOD_PORT };
            (at(Side::Peer, SENDER_PORT + index), at(Side::Tested, port))
        });
        let generator = Generator::new(Parts {
            clock,
            device: theirs,
            target,
            rates: [hog.rate, hog.rate * hog.factor],
            hog: (at(Side::Peer, HOG_PORT), at(Side::Tested, HOG_PORT)),
            good: ends.collect(),
            clients: (!is_udp).then(|| (clients_config, clients())),
            bytes: hog.bytes,
            hog_on: hog_on.clone(),
            stop: stop.clone(),
            counts: counts.clone(),
        });
        let generator = generator.ok_or_else(|| failed(organization, "the device has no queue"))?;
        let builder = std::thread::Builder::new().name("ana-generator".to_owned());
        let thread = Some(builder.spawn(move || generator.run())?);
        Ok(Bench { stack, good, echoes, counts, meter, hog_on, stop, thread })
    }

    /// Waits until all connections are established.
    fn wait(&self, hog: &Hog, organization: &str) -> Result<(), Error> {
        let start = Instant::now();
        while hog.protocol == Protocol::Tcp
            && self.counts.connected.load(Ordering::Relaxed) < hog.sockets as u64
        {
            if start.elapsed() > PATIENCE {
                return Err(failed(organization, "connections were not established"));
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }

    /// All latencies so far.
    fn latency(&self) -> Counted {
        let mut sum = self.echoes.snapshot();
        for watched in &self.good {
            sum.add(&watched.latency.snapshot());
        }
        sum
    }

    fn half(&self, hog: &Hog, organization: &str) -> Result<Half, Error> {
        std::thread::sleep(Duration::from_secs_f64(hog.warm_up));
        let counts = || {
            let Sent { good, good_lost, hog, hog_lost, .. } = &*self.counts;
            [good, good_lost, hog, hog_lost].map(|count| count.load(Ordering::Relaxed))
        };
        let (start, before, latency) = (Instant::now(), counts(), self.latency());
        std::thread::sleep(Duration::from_secs_f64(hog.seconds));
        let (after, latency) = (counts(), self.latency().since(&latency));
        let seconds = start.elapsed().as_secs_f64();
        let failures = self.counts.failed.load(Ordering::Relaxed);
        let failure = self
            .meter
            .failure()
            .or_else(|| (failures > 0).then(|| format!("{failures} of the connections ended")));
        if let Some(what) = failure {
            return Err(failed(organization, &what));
        }
        let [good, good_lost, flood, flood_lost] =
            std::array::from_fn(|n| (after[n] - before[n]) as f64);
        if good == 0.0 {
            return Err(failed(organization, "the generator sent nothing for a whole sample"));
        }
        let histogram = latency.to_hdr();
        let quantile = |q| histogram.value_at_quantile(q) as f64 / 1e3;
        Ok(Half {
            goodput: latency.len() as f64 / good,
            lost: good_lost / good,
            p50: quantile(0.5),
            p99: quantile(0.99),
            hog_per_s: flood / seconds,
            hog_lost: flood_lost / flood.max(1.0),
        })
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.stack.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Starts the stack under test.
fn launch(
    hog: &Hog,
    organization: &str,
    device: device::Device,
    loads: Loads,
    clock: Clock,
) -> Result<Stack, Error> {
    let setup = Setup {
        config: config(hog, Side::Tested, &device),
        devices: vec![device],
        processors: hog.processors_of(organization),
        options: hog.options.clone(),
        application: Box::new(move |_| loads.load()),
        clock,
        instruments: None,
    };
    threads::launch(organization, setup)
}

/// The configuration of a host: messages do not wait for company.
fn config(hog: &Hog, side: Side, device: &device::Device) -> Arc<net::Config> {
    let plan = BenchPlan { burst: hog.burst, ..BenchPlan::default() };
    let mut config = (*host::config(&plan, side, device)).clone();
    config.tcp = Arc::new(tcp::Config::default().with_nagle(false));
    Arc::new(config)
}
