//! What loads count.

use super::findings::Findings;
use super::held::Held;
use super::shares::{Latency, Share, Shares};
use super::socket::Socket;
use super::udp::Flows;
use crossbeam_utils::CachePadded;
use instrument::Counted;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use traffic::PeerCounts;

/// What the load of one unit has counted. One thread at a time writes it, which
/// has the unit's domain; anyone reads it.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) received: Count,
    pub(crate) sent: Count,
    pub(crate) transactions: Count,
    pub(crate) connected: Count,
    pub(crate) latency: Latency,
}

/// A count with one writer at a time.
#[derive(Debug, Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    #[inline]
    pub(crate) fn add(&self, n: u64) {
        // One writer: no read-modify-write is needed.
        self.0.store(self.0.load(Ordering::Relaxed) + n, Ordering::Relaxed);
    }
    fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The sum of all units' tallies.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Bytes of payload that applications have received.
    pub received: u64,
    /// Bytes of payload that applications have sent.
    pub sent: u64,
    /// Transactions completed.
    pub transactions: u64,
    /// Connections established, counted at each end.
    pub connected: u64,
}

/// What all loads of an experiment have counted, and what went wrong first.
#[derive(Debug, Default)]
pub struct Meter {
    tallies: Mutex<Vec<Arc<CachePadded<Tally>>>>,
    findings: Arc<Findings>,
    /// What a simulated peer counts, and the resets it had while it connected:
    /// it may warm_arp before anyone listens.
    driver: OnceLock<(Arc<PeerCounts>, u64)>,
    /// Each connection's part.
    shares: Shares,
    /// The flows of UDP at the stack under test, and the bytes of a datagram.
    flows: OnceLock<(Flows, u64)>,
    /// May flows that send to a driver begin?
    started: AtomicBool,
    /// Connections that wait until all are open.
    held: Held,
    /// Do tallies take the time of transactions?
    timed: bool,
}

impl Meter {
    /// That keeps apart what each connection has, and how long transactions take.
    pub(crate) fn detailed() -> Meter {
        Meter { shares: Shares::apart(), timed: true, ..Meter::default() }
    }

    /// The count of a connection that the calling thread serves.
    pub(crate) fn share(&self) -> Share {
        self.shares.share()
    }

    /// These flows are those whose parts are counted; a datagram has so many
    /// bytes.
    pub(crate) fn set_flows(&self, flows: Flows, bytes: usize) {
        let _ = self.flows.set((flows, bytes as u64));
    }

    /// What each connection or flow has had.
    pub(crate) fn parts(&self) -> Vec<u64> {
        match self.flows.get() {
            Some((flows, bytes)) if self.timed && !flows.is_empty() => {
                flows.iter().filter_map(|flow| Some(flow.datagrams()? * bytes)).collect()
            }
            _ => self.shares.counts(),
        }
    }

    /// How long transactions took.
    pub(crate) fn latency(&self) -> Counted {
        let mut sum = Counted::default();
        self.tallies.lock().iter().for_each(|tally| tally.latency.add_to(&mut sum));
        sum
    }

    /// A new unit's tally.
    pub(crate) fn tally(&self) -> Arc<CachePadded<Tally>> {
        let latency = Latency::new(self.timed);
        let tally = Arc::new(CachePadded::new(Tally { latency, ..Tally::default() }));
        self.tallies.lock().push(tally.clone());
        tally
    }

    /// What any thread may have to say.
    pub(crate) fn findings(&self) -> &Arc<Findings> {
        &self.findings
    }

    /// The sum of all tallies.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        for tally in &*self.tallies.lock() {
            totals.received += tally.received.get();
            totals.sent += tally.sent.get();
            totals.transactions += tally.transactions.get();
            totals.connected += tally.connected.get();
        }
        totals.received += self.findings.decoded();
        if let Some((driver, _)) = self.driver.get() {
            let driver = driver.totals();
            totals.transactions += driver.transactions;
            totals.received += driver.bytes_received;
        }
        totals
    }

    /// The peer is simulated, has connected, and counts here.
    pub(crate) fn set_driver(&self, counts: Arc<PeerCounts>) {
        let resets = counts.totals().reset;
        let _ = self.driver.set((counts, resets));
    }

    /// The connections that wait until all are open.
    #[inline]
    pub(crate) fn held(&self) -> &Held {
        &self.held
    }

    /// Flows that send to a driver may begin.
    pub(crate) fn start(&self) {
        self.started.store(true, Ordering::Relaxed);
    }

    /// May they?
    #[inline]
    pub(crate) fn has_started(&self) -> bool {
        self.started.load(Ordering::Relaxed)
    }

    /// The sockets of flows that send to a driver and have not begun.
    pub(crate) fn silent(&self) -> Vec<Socket> {
        let Some((flows, _)) = self.flows.get() else { return Vec::new() };
        flows.iter().enumerate().filter_map(|(index, flow)| flow.silent(index)).collect()
    }

    /// What went wrong at a simulated peer.
    fn driver_failure(&self) -> Option<String> {
        let (driver, before) = self.driver.get()?;
        let resets = driver.totals().reset - before;
        (resets > 0).then(|| format!("the simulated peer had {resets} connections reset"))
    }

    /// Notes what went wrong; the first one counts.
    pub(crate) fn fail(&self, what: impl Into<String>) {
        self.findings.fail(what);
    }

    /// What went wrong first, if anything.
    pub fn failure(&self) -> Option<String> {
        self.findings.failure().map(str::to_owned).or_else(|| self.driver_failure())
    }

    /// Has anything gone wrong?
    pub fn has_failed(&self) -> bool {
        self.findings.failure().is_some()
    }
}
