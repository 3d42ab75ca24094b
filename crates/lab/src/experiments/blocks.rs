//! Established transfers beside short-lived connections (Bohra 2007, 5 and
//! figure 10).
//!
//! The stack under test is the server: on each connection it sends blocks of 8 KB
//! from memory, without a copy, the next one when the client has acknowledged the
//! last with a small message. The clients are simulated in the device. Beside
//! them, short-lived connections come at a steady rate, each closed by its client
//! as soon as it is established.

use crate::Error;
use crate::load::blocks::{ANSWER, BLOCK};
use crate::load::{Loads, Meter, Role};
use crate::measure::cacheline_latency::CachelineLatency;
use crate::measure::run::Progress;
use crate::measure::speed::Paces;
use crate::measure::threads::{self, Stack};
use crate::measure::usage::Usage;
use crate::setup::bench_plan::BenchPlan;
use crate::setup::bench_plan::check_names;
use crate::setup::host::{self, DRIVER_PORT, STEERING, Side};
use crate::statistics::median;
use device::memory;
use organizations::{Clock, Options, Setup};
use serde::Serialize;
use std::sync::Arc;
use std::time::{Duration, Instant};
use traffic::PeerCounts;
use wire::Endpoint;

/// Bytes of the sockets' buffers, and of the clients' window.
const BUFFERS: usize = 64 * 1024;
/// The port of short-lived connections.
const SHORT_PORT: u16 = DRIVER_PORT + 1;
/// How long all connections may take until they are established.
const PATIENCE: Duration = Duration::from_secs(60);

/// What to measure.
#[derive(Clone, Debug)]
pub struct Blocks {
    /// The organizations, by name; their samples are interleaved.
    pub organizations: Vec<String>,
    /// Processors of the server.
    pub processors: usize,
    /// Established transfers.
    pub connections: usize,
    /// Short-lived connections a second: a sample for each rate.
    pub short_lived: Vec<f64>,
    /// Bytes of the link's largest IP datagram.
    pub mtu: usize,
    /// Length of a sample, seconds.
    pub seconds: f64,
    /// Time before it, seconds.
    pub warm_up: f64,
    /// Samples of each organization and rate.
    pub repeat: usize,
    /// What the organizations leave open.
    pub options: Options,
    /// Packets that a connection may send in its turn.
    pub burst: usize,
}

impl Default for Blocks {
    fn default() -> Blocks {
        Blocks {
            organizations: vec!["uniprocessor".to_owned()],
            processors: 1,
            connections: 8,
            short_lived: vec![0.0],
            mtu: 1500,
            seconds: 1.0,
            warm_up: 0.2,
            repeat: 3,
            options: Options::default(),
            burst: 32,
        }
    }
}

/// The figures of one organization with one rate of short-lived connections.
#[derive(Clone, Debug, Serialize)]
pub struct BlocksRow {
    /// The organization's name.
    pub organization: String,
    /// Processors of the server.
    pub processors: usize,
    /// Established transfers.
    pub connections: usize,
    /// Bytes of the link's largest IP datagram.
    pub mtu: usize,
    /// Short-lived connections a second that there should be.
    pub short_lived_per_s: f64,
    /// Those begun, a second; median.
    pub begun_per_s: f64,
    /// Those that both ends have closed, a second; median.
    pub completed_per_s: f64,
    /// What the established transfers carried, Gbit/s; median.
    pub median: f64,
    /// The least sample.
    pub min: f64,
    /// The greatest sample.
    pub max: f64,
    /// All samples, in the order in which they were taken.
    pub samples: Vec<f64>,
    /// Each sample, of that of the first rate taken just before it; median.
    pub of_first: f64,
    /// Processor seconds for 10^9 bytes of the established transfers, all
    /// included; median.
    pub cpu_s_per_gb: f64,
    /// How far the processors were apart at each sample, if there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cacheline_ns: Vec<CachelineLatency>,
    /// What a fixed piece of work took before and after each sample, as in [`crate::Row`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub piece_ns: Vec<Paces>,
}

#[derive(Clone, Copy)]
struct Sample {
    gbit_per_s: f64,
    begun: f64,
    completed: f64,
    cpu_s_per_gb: f64,
    cacheline: Option<CachelineLatency>,
    paces: Option<Paces>,
}

impl Blocks {
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
        if !(1..=16 * 1024).contains(&self.connections) {
            return no("connections must be from 1 to 16384");
        }
        if self.short_lived.is_empty() || self.short_lived.iter().any(|r| !(0.0..=1e6).contains(r))
        {
            return no("rates of short-lived connections must be from 0 to 1000000 a second");
        }
        if !(576..=65535).contains(&self.mtu) {
            return no("the MTU must be from 576 to 65535");
        }
        if !(self.seconds > 0.0 && self.seconds <= 3600.0) {
            return no("seconds must be more than 0 and at most 3600");
        }
        Ok(())
    }

    /// Measures, rates and organizations in turn.
    ///
    /// # Errors
    /// [`Error`], at the first one.
    pub fn run(&self, progress: &mut dyn FnMut(Progress<'_>)) -> Result<Vec<BlocksRow>, Error> {
        self.check()?;
        let cases: Vec<(&str, f64)> = self
            .organizations
            .iter()
            .flat_map(|name| self.short_lived.iter().map(|rate| (name.as_str(), *rate)))
            .collect();
        let total = self.repeat * cases.len();
        let mut samples = vec![Vec::new(); cases.len()];
        for round in 0..self.repeat {
            for (index, (organization, rate)) in cases.iter().enumerate() {
                let done = round * cases.len() + index;
                progress(Progress { done, total, organization });
                let processors = self.processors_of(organization);
                let take = || self.sample(organization, *rate);
                let (cacheline, (paces, sample)) =
                    CachelineLatency::around(processors, || Paces::around(processors, take));
                samples[index].push(Sample { cacheline, paces: Some(paces), ..sample? });
            }
        }
        progress(Progress { done: total, total, organization: "" });
        Ok(self.rows(&cases, &samples))
    }

    fn rows(&self, cases: &[(&str, f64)], samples: &[Vec<Sample>]) -> Vec<BlocksRow> {
        let rows = cases.iter().zip(samples).enumerate().map(|(index, (case, own))| {
            let of = |f: fn(&Sample) -> f64| own.iter().map(f).collect::<Vec<f64>>();
            let values = of(|s| s.gbit_per_s);
            let first = &samples[index - index % self.short_lived.len()];
            let parts = own.iter().zip(first).map(|(own, first)| own.gbit_per_s / first.gbit_per_s);
            BlocksRow {
                organization: case.0.to_owned(),
                processors: self.processors_of(case.0),
                connections: self.connections,
                mtu: self.mtu,
                short_lived_per_s: case.1,
                begun_per_s: median(&of(|s| s.begun)),
                completed_per_s: median(&of(|s| s.completed)),
                median: median(&values),
                min: values.iter().copied().fold(f64::INFINITY, f64::min),
                max: values.iter().copied().fold(0.0, f64::max),
                samples: values,
                of_first: median(&parts.collect::<Vec<f64>>()),
                cpu_s_per_gb: median(&of(|s| s.cpu_s_per_gb)),
                cacheline_ns: own.iter().filter_map(|s| s.cacheline).collect(),
                piece_ns: own.iter().filter_map(|s| s.paces).collect(),
            }
        });
        rows.collect()
    }

    /// One, for organizations that run on one only.
    fn processors_of(&self, organization: &str) -> usize {
        let single = organizations::find(organization).is_some_and(|entry| entry.single);
        if single { 1 } else { self.processors }
    }

    fn sample(&self, organization: &str, rate: f64) -> Result<Sample, Error> {
        let meter = Arc::new(Meter::default());
        let server = Server::start(self, organization, rate, &meter)?;
        server.wait(organization, self.connections as u64, &meter)?;
        let pass = |seconds| std::thread::sleep(Duration::from_secs_f64(seconds));
        pass(self.warm_up);
        let resets = server.clients.totals().reset;
        let (start, usage, before) = (Instant::now(), Usage::now(), server.clients.totals());
        pass(self.seconds);
        let (after, seconds) = (server.clients.totals(), start.elapsed().as_secs_f64());
        let usage = Usage::now().since(usage);
        let failure = meter.failure().or_else(|| {
            let count = after.reset - resets;
            (count > 0).then(|| format!("{count} of the transfers were reset"))
        });
        if let Some(what) = failure {
            return Err(failed(organization, &what));
        }
        let bytes = (after.bytes_received - before.bytes_received) as f64;
        if bytes == 0.0 {
            return Err(failed(organization, "nothing moved for a whole sample"));
        }
        let each_second = |after: u64, before: u64| (after - before) as f64 / seconds;
        Ok(Sample {
            gbit_per_s: bytes * 8.0 / seconds / 1e9,
            begun: each_second(after.short_opened, before.short_opened),
            completed: each_second(after.short_closed, before.short_closed),
            cpu_s_per_gb: usage.processor.as_secs_f64() * 1e9 / bytes,
            cacheline: None,
            paces: None,
        })
    }
}

fn failed(organization: &str, what: &str) -> Error {
    Error::Load { organization: organization.to_owned(), workload: "blocks", what: what.to_owned() }
}

/// The server, and what its clients count.
struct Server {
    stack: Stack,
    clients: Arc<PeerCounts>,
}

impl Server {
    fn start(
        blocks: &Blocks,
        organization: &str,
        rate: f64,
        meter: &Arc<Meter>,
    ) -> Result<Server, Error> {
        let processors = blocks.processors_of(organization);
        let (device, clients) = traffic::clients(&traffic::Config {
            link: memory::Config::default()
                .with_mtu(blocks.mtu)
                .with_queues(processors)
                .with_steering(STEERING),
            stack: Side::Tested.address().ip(),
            peer: Side::Peer.address().ip(),
            connections: blocks.connections,
            stack_port: DRIVER_PORT,
            window: BUFFERS as u32 - 1,
            block: BLOCK as u64,
            answer: ANSWER as u64,
            short_lived: rate,
            short_port: SHORT_PORT,
            ..traffic::Config::default()
        });
        let plan = BenchPlan { burst: blocks.burst, ..BenchPlan::default() };
        let mut config = (*host::config(&plan, Side::Tested, &device)).clone();
        config.tcp =
            Arc::new(tcp::Config::default().with_receive_buffer(BUFFERS).with_send_buffer(BUFFERS));
        let loads = Loads::new(BLOCK, meter.clone());
        let setup = Setup {
            config: Arc::new(config),
            devices: vec![device],
            processors,
            options: blocks.options.clone(),
            application: Box::new(move |_| loads.load()),
            clock: Clock::start(),
            instruments: None,
        };
        let stack = threads::launch(organization, setup)?;
        for (port, role) in [(SHORT_PORT, Role::Short), (DRIVER_PORT, Role::Blocks)] {
            stack.listen(Endpoint { address: Side::Tested.address(), port }, role);
        }
        Ok(Server { stack, clients })
    }

    /// Waits until all transfers are established.
    fn wait(&self, organization: &str, count: u64, meter: &Meter) -> Result<(), Error> {
        let start = Instant::now();
        let all = || {
            // Short-lived connections are established, too.
            let totals = self.clients.totals();
            totals.bytes_received >= count * BLOCK as u64
        };
        while !all() {
            if let Some(what) = meter.failure() {
                return Err(failed(organization, &what));
            }
            if start.elapsed() > PATIENCE {
                return Err(failed(organization, "connections were not established"));
            }
            std::thread::sleep(Duration::from_micros(200));
        }
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stack.stop();
    }
}
