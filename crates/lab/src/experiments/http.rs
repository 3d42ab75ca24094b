//! A load of HTTP requests at times that are set beforehand, whatever the server does.
//!
//! A client that waits for an answer before it asks again asks a slow server less often, and its
//! latencies leave out those that would have waited (coordinated omission). Here the schedule says
//! when each request is due. One that cannot be sent then, because its connection still waits, is
//! sent as soon as it can be, and its latency counts from when it was due. Those that were due and
//! never came to be sent count with the time that they had waited when the load ended.

mod answer;
mod schedule;

pub use schedule::{Phase, Schedule};

use crate::Error;
use hdrhistogram::Histogram;
use parking_lot::Mutex;
use serde::Serialize;
use std::io::{self, Read, Write};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// A connection to the server, of any kind. Reads and writes have to end after some time, if
/// need be with an error.
pub trait Connection: Read + Write + Send {}
impl<C: Read + Write + Send> Connection for C {}

/// Opens a connection.
pub type Connect<'a> = dyn Fn() -> io::Result<Box<dyn Connection>> + Sync + 'a;

/// What is asked, and when.
#[derive(Clone, Debug)]
pub struct Load {
    /// When requests are due, over all connections.
    pub schedule: Schedule,
    /// Connections, which take the requests in turn, each with one outstanding.
    pub connections: usize,
    /// Time in which requests count, seconds.
    pub seconds: f64,
    /// Time before it, with the same schedule, seconds.
    pub warm_up: f64,
    /// The name of the server, as requests have it.
    pub host: String,
    /// What is asked for.
    pub path: String,
    /// Each request has a connection of its own, as of clients that come and go: its time counts.
    pub fresh: bool,
}

/// The most connections: each has a thread.
const MOST_CONNECTIONS: usize = 2048;
/// The most requests of a load.
const MOST_REQUESTS: f64 = 1e8;
/// The longest latency that is told from longer ones, ns.
const LONGEST_NS: u64 = 600_000_000_000;

/// Latencies, µs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Median.
    pub p50_us: f64,
    /// 90th percentile.
    pub p90_us: f64,
    /// 99th percentile.
    pub p99_us: f64,
    /// 99.9th percentile.
    pub p999_us: f64,
    /// The greatest.
    pub max_us: f64,
}

/// What came of a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Outcome {
    /// Requests that were due in the time that counts.
    pub offered: u64,
    /// Those of them that were answered by its end.
    pub completed: u64,
    /// Those that failed: the connection ended, or the answer was no success.
    pub failed: u64,
    /// Requests that were answered in that time, a second, whenever they were due: under overload
    /// these are the old ones.
    pub answered_per_s: f64,
    /// Requests that were due, a second.
    pub offered_per_s: f64,
    /// Requests that were answered, a second.
    pub completed_per_s: f64,
    /// Bytes of bodies of these.
    pub bytes: u64,
    /// From when a request was due until it was answered.
    pub latency: Latency,
    /// From when it was sent: what a client sees that waits for the server. It is here for
    /// comparison.
    pub since_sent: Latency,
}

impl Load {
    /// Does it make sense?
    ///
    /// # Errors
    /// [`Error::Plan`], in one line that says what to change.
    pub fn check(&self) -> Result<(), Error> {
        let no = |what: String| Err(Error::Plan(what));
        if !(1..=MOST_CONNECTIONS).contains(&self.connections) {
            return no(format!("connections must be from 1 to {MOST_CONNECTIONS}"));
        }
        let time = self.seconds + self.warm_up;
        if !(self.seconds > 0.0 && self.warm_up >= 0.0 && time <= 3600.0) {
            return no("seconds must be more than 0, and at most 3600 with the warm-up".to_owned());
        }
        self.schedule.check()?;
        if self.schedule.mean_per_s() * time > MOST_REQUESTS {
            return no(format!(
                "more than {MOST_REQUESTS:e} requests: give a lower rate or less time"
            ));
        }
        let plain = |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic());
        if !self.path.starts_with('/') || !plain(&self.path) || !plain(&self.host) {
            return no(format!("'{}' is no path: it begins with / and has no spaces", self.path));
        }
        Ok(())
    }

    fn request(&self) -> Vec<u8> {
        let end = if self.fresh { "Connection: close\r\n" } else { "" };
        format!("GET {} HTTP/1.1\r\nHost: {}\r\n{end}\r\n", self.path, self.host).into_bytes()
    }
}

/// Loads a server by connections that `connect` opens.
///
/// # Errors
/// [`Error::Plan`] if the load makes no sense; [`Error::System`] if the connections cannot be
/// opened at first.
pub fn run(load: &Load, connect: &Connect<'_>) -> Result<Outcome, Error> {
    load.check()?;
    let open = |_| (!load.fresh).then(connect).transpose();
    let connections = (0..load.connections).map(open).collect::<io::Result<Vec<_>>>()?;
    let barrier = &Barrier::new(connections.len());
    let start = &std::sync::OnceLock::new();
    let latencies = &Mutex::new(Latencies { due: histogram(), sent: histogram() });
    let counts: Vec<Counts> = thread::scope(|scope| {
        let client = |(index, connection): (usize, Option<Box<dyn Connection>>)| {
            scope.spawn(move || {
                barrier.wait();
                let start = *start.get_or_init(Instant::now);
                let counts = Counts::default();
                Client { load, connect, connection, start, latencies, counts }.run(index)
            })
        };
        let threads: Vec<_> = connections.into_iter().enumerate().map(client).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, Counts>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(join).collect()
    });
    let latencies = latencies.lock();
    Ok(outcome(load, &counts, &latencies))
}

fn outcome(load: &Load, counts: &[Counts], latencies: &Latencies) -> Outcome {
    let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum::<u64>();
    let (offered, completed) = (sum(|one| one.offered), sum(|one| one.completed));
    Outcome {
        offered,
        completed,
        failed: sum(|one| one.failed),
        answered_per_s: sum(|one| one.answered) as f64 / load.seconds,
        offered_per_s: offered as f64 / load.seconds,
        completed_per_s: completed as f64 / load.seconds,
        bytes: sum(|one| one.bytes),
        latency: latency(&latencies.due),
        since_sent: latency(&latencies.sent),
    }
}

/// Of all connections: a histogram has some hundred KB, too much for each.
struct Latencies {
    /// From when requests were due.
    due: Histogram<u64>,
    /// From when they were sent.
    sent: Histogram<u64>,
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST_NS, 3).expect("the bounds make sense")
}

fn latency(of: &Histogram<u64>) -> Latency {
    let at = |quantile| of.value_at_quantile(quantile) as f64 / 1e3;
    Latency {
        p50_us: at(0.5),
        p90_us: at(0.9),
        p99_us: at(0.99),
        p999_us: at(0.999),
        max_us: of.max() as f64 / 1e3,
    }
}

/// What was counted on a connection.
#[derive(Default)]
struct Counts {
    offered: u64,
    completed: u64,
    failed: u64,
    answered: u64,
    bytes: u64,
}

/// One connection.
struct Client<'a> {
    load: &'a Load,
    connect: &'a Connect<'a>,
    connection: Option<Box<dyn Connection>>,
    start: Instant,
    latencies: &'a Mutex<Latencies>,
    counts: Counts,
}

impl Client<'_> {
    /// Makes every request that is this connection's turn, and counts.
    fn run(mut self, index: usize) -> Counts {
        let load = self.load;
        let end = load.warm_up + load.seconds;
        let request = load.request();
        let turns = (index as u64..).step_by(load.connections);
        let mut schedule = load.schedule.times(turns);
        let counts = |due: f64| due >= load.warm_up;
        for due in schedule.by_ref().take_while(|due| *due < end) {
            let at = self.start + Duration::from_secs_f64(due);
            let now = Instant::now();
            if now < at {
                thread::sleep(at - now);
            }
            if self.start.elapsed().as_secs_f64() >= end {
                // It was due, and its connection waited for another answer until the end.
                self.wait_in_vain(due, counts(due));
                continue;
            }
            let sent = Instant::now();
            let answer = self.ask(&request);
            let answered = self.start.elapsed().as_secs_f64();
            let in_time = (load.warm_up..=end).contains(&answered);
            self.counts.answered += u64::from(answer.is_ok() && in_time);
            if !counts(due) {
                continue;
            }
            let (since_due, since_sent) = (at.elapsed(), sent.elapsed());
            {
                let mut latencies = self.latencies.lock();
                record(&mut latencies.due, since_due);
                record(&mut latencies.sent, since_sent);
            }
            let counts = &mut self.counts;
            counts.offered += 1;
            match answer {
                Ok(bytes) if answered <= end => {
                    counts.completed += 1;
                    counts.bytes += bytes;
                }
                Ok(_) => {}
                Err(_) => counts.failed += 1,
            }
        }
        self.counts
    }

    fn wait_in_vain(&mut self, due: f64, counts: bool) {
        if counts {
            self.counts.offered += 1;
            let waited = self.start.elapsed().as_secs_f64() - due;
            record(&mut self.latencies.lock().due, Duration::from_secs_f64(waited.max(0.0)));
        }
    }

    /// Asks once, over a new connection if the last one ended. Returns the bytes of the body.
    fn ask(&mut self, request: &[u8]) -> io::Result<u64> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => (self.connect)()?,
        };
        connection.write_all(request)?;
        let answer = answer::read(&mut *connection)?;
        if answer.stays && !self.load.fresh {
            self.connection = Some(connection);
        }
        match answer.status {
            200..=299 => Ok(answer.bytes),
            status => Err(io::Error::other(format!("status {status}"))),
        }
    }
}

fn record(histogram: &mut Histogram<u64>, time: Duration) {
    let ns = u64::try_from(time.as_nanos()).unwrap_or(LONGEST_NS);
    histogram.saturating_record(ns.max(1));
}

#[cfg(test)]
mod tests;
