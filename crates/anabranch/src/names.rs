//! [`ToSocketAddrs`], and how names become addresses: on the calling thread for
//! blocking sockets, on threads of our own for tasks.

use crate::alarms::Alarms;
use crate::scope;
use crate::wait::{block_on, caught, wake_each};
use platform::{Mutex, thread};
use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};
use std::sync::{Arc, OnceLock, Weak};
use std::task::{Context, Poll, Waker};
use wire::Endpoint;

/// Lookups that go on at once; further ones wait for these.
const THREADS: usize = 16;

/// What an address can be given as: the types for which [`std::net::ToSocketAddrs`]
/// is implemented.
///
/// Sockets try each address in turn, as those of the standard library do. A
/// name, such as `example.org:80`, is looked up by the stack's resolver
/// ([`Builder::resolver`](crate::Builder::resolver)); an address is never.
pub trait ToSocketAddrs: sealed::Sealed {}
impl<T: sealed::Sealed + ?Sized> ToSocketAddrs for T {}

mod sealed {
    use super::Target;

    pub trait Sealed {
        /// # Errors
        /// `InvalidInput` if it cannot be an address.
        fn target(&self) -> std::io::Result<Target>;
    }
}

/// Addresses, or a name for some.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// They are known.
    Known(Vec<SocketAddr>),
    /// They have to be looked up.
    Name(String, u16),
}

macro_rules! known {
    ($($type:ty),*) => {
        $(impl sealed::Sealed for $type {
            fn target(&self) -> io::Result<Target> {
                Ok(Target::Known(vec![SocketAddr::from(*self)]))
            }
        })*
    };
}
known! { SocketAddr, SocketAddrV4, SocketAddrV6, (IpAddr, u16), (Ipv4Addr, u16), (Ipv6Addr, u16) }

impl sealed::Sealed for [SocketAddr] {
    fn target(&self) -> io::Result<Target> {
        Ok(Target::Known(self.to_vec()))
    }
}

impl sealed::Sealed for (&str, u16) {
    fn target(&self) -> io::Result<Target> {
        let (host, port) = *self;
        Ok(match host.parse::<IpAddr>() {
            Ok(address) => Target::Known(vec![(address, port).into()]),
            Err(_) => Target::Name(host.into(), port),
        })
    }
}

impl sealed::Sealed for (String, u16) {
    fn target(&self) -> io::Result<Target> {
        (self.0.as_str(), self.1).target()
    }
}

impl sealed::Sealed for str {
    fn target(&self) -> io::Result<Target> {
        if let Ok(address) = self.parse::<SocketAddr>() {
            return Ok(Target::Known(vec![address]));
        }
        let wrong = || {
            let text = format!("{self:?} is no address: write one like 10.99.0.2:80");
            io::Error::new(io::ErrorKind::InvalidInput, text)
        };
        let (host, port) = self.rsplit_once(':').ok_or_else(wrong)?;
        (host, port.parse::<u16>().map_err(|_| wrong())?).target()
    }
}

impl sealed::Sealed for String {
    fn target(&self) -> io::Result<Target> {
        self.as_str().target()
    }
}

impl<T: sealed::Sealed + ?Sized> sealed::Sealed for &T {
    fn target(&self) -> io::Result<Target> {
        (**self).target()
    }
}

/// Looks a name up: the host's addresses, each with the port.
type Lookup = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Where a connection may go.
#[derive(Debug)]
pub(crate) struct Candidates {
    /// In the order in which they are tried.
    pub(crate) endpoints: Vec<Endpoint>,
    /// Are they those of a name? Then the next one need not wait until one has failed.
    pub(crate) by_name: bool,
}

/// The resolver of a stack.
pub(crate) struct Resolver {
    lookup: Box<Lookup>,
    /// Is it called on threads of ours only?
    elsewhere: bool,
    jobs: Mutex<Jobs>,
    alarms: Arc<Alarms>,
    /// Names of the stack's devices.
    interfaces: OnceLock<Vec<String>>,
}

#[derive(Default)]
struct Jobs {
    /// Nobody waits any more for those that are gone.
    waiting: VecDeque<Weak<Job>>,
    threads: usize,
}

/// A lookup for a task.
struct Job {
    host: String,
    port: u16,
    state: Mutex<JobState>,
}

#[derive(Default)]
struct JobState {
    answer: Option<io::Result<Vec<SocketAddr>>>,
    waker: Option<Waker>,
}

impl Resolver {
    pub(crate) fn new(
        lookup: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Arc<Resolver> {
        Resolver::with(Box::new(lookup), false)
    }

    /// One that needs a thread on which no runtime is, and is called on threads of ours only.
    pub(crate) fn elsewhere(
        lookup: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Arc<Resolver> {
        Resolver::with(Box::new(lookup), true)
    }

    fn with(lookup: Box<Lookup>, elsewhere: bool) -> Arc<Resolver> {
        let (jobs, alarms, interfaces) = Default::default();
        Arc::new(Resolver { lookup, elsewhere, jobs, alarms, interfaces })
    }

    /// The interfaces have these names.
    pub(crate) fn know_interfaces(&self, names: &[String]) {
        let _ = self.interfaces.set(names.to_vec());
    }

    /// The names of the interfaces.
    pub(crate) fn interfaces(&self) -> &[String] {
        self.interfaces.get().map_or(&[], Vec::as_slice)
    }

    /// What is meant, where it is an address after all.
    fn target(&self, addresses: impl ToSocketAddrs) -> io::Result<Target> {
        Ok(match addresses.target()? {
            Target::Name(host, port) => match scope::scoped(&host, port, self.interfaces()) {
                Some(address) => Target::Known(vec![address?]),
                None => Target::Name(host, port),
            },
            known => known,
        })
    }

    /// The system's resolver, getaddrinfo(3).
    pub(crate) fn system() -> Arc<Resolver> {
        Resolver::new(|host, port| {
            Ok(std::net::ToSocketAddrs::to_socket_addrs(&(host, port))?.collect())
        })
    }

    /// The addresses of it, at least one; this thread looks them up, or waits for them.
    pub(crate) fn resolve(
        self: &Arc<Resolver>,
        addresses: impl ToSocketAddrs,
    ) -> io::Result<Vec<Endpoint>> {
        Ok(self.candidates(addresses)?.endpoints)
    }

    /// As [`Resolver::resolve`], and whether they are those of a name.
    pub(crate) fn candidates(
        self: &Arc<Resolver>,
        addresses: impl ToSocketAddrs,
    ) -> io::Result<Candidates> {
        let (endpoints, by_name) = match self.target(addresses)? {
            Target::Known(addresses) => (endpoints(&addresses)?, false),
            Target::Name(host, port) if self.elsewhere => {
                let job = Arc::new(Job { host, port, state: Mutex::default() });
                self.post(&job)?;
                (endpoints(&block_on(None, |cx| job.poll(cx))?)?, true)
            }
            Target::Name(host, port) => (endpoints(&(self.lookup)(&host, port)?)?, true),
        };
        Ok(Candidates { endpoints, by_name })
    }

    /// What wakes tasks that connect.
    pub(crate) fn alarms(&self) -> &Arc<Alarms> {
        &self.alarms
    }

    /// As [`Resolver::resolve`], for a task: another thread looks them up.
    pub(crate) async fn resolve_elsewhere(
        self: &Arc<Resolver>,
        addresses: impl ToSocketAddrs,
    ) -> io::Result<Vec<Endpoint>> {
        Ok(self.candidates_elsewhere(addresses).await?.endpoints)
    }

    /// As [`Resolver::candidates`], for a task: another thread looks them up.
    pub(crate) async fn candidates_elsewhere(
        self: &Arc<Resolver>,
        addresses: impl ToSocketAddrs,
    ) -> io::Result<Candidates> {
        let (endpoints, by_name) = match self.target(addresses)? {
            Target::Known(addresses) => (endpoints(&addresses)?, false),
            Target::Name(host, port) => {
                let job = Arc::new(Job { host, port, state: Mutex::default() });
                self.post(&job)?;
                (endpoints(&std::future::poll_fn(|cx| job.poll(cx)).await?)?, true)
            }
        };
        Ok(Candidates { endpoints, by_name })
    }

    fn post(self: &Arc<Resolver>, job: &Arc<Job>) -> io::Result<()> {
        let mut jobs = self.jobs.lock();
        jobs.waiting.retain(|job| job.strong_count() > 0);
        if jobs.threads < THREADS {
            let resolver = self.clone();
            let thread = thread::Builder::new().name("ana-resolve".into());
            match thread.spawn(move || resolver.work()) {
                Ok(_) => jobs.threads += 1,
                Err(error) if jobs.threads == 0 => {
                    let text = format!("cannot start a thread to look a name up: {error}");
                    return Err(io::Error::other(text));
                }
                // Those that there are will come to it.
                Err(_) => {}
            }
        }
        jobs.waiting.push_back(Arc::downgrade(job));
        Ok(())
    }

    /// A thread: looks up what waits, and ends.
    fn work(&self) {
        loop {
            let job = {
                let mut jobs = self.jobs.lock();
                let Some(job) = jobs.waiting.pop_front() else {
                    jobs.threads -= 1;
                    return;
                };
                job
            };
            // A task that gave up needs no answer.
            let Some(job) = job.upgrade() else { continue };
            let answer = caught(|| (self.lookup)(&job.host, job.port));
            job.done(answer.unwrap_or_else(|| Err(io::Error::other("the resolver panicked"))));
        }
    }
}

impl Job {
    fn done(&self, answer: io::Result<Vec<SocketAddr>>) {
        let waker = {
            let mut state = self.state.lock();
            state.answer = Some(answer);
            state.waker.take()
        };
        wake_each(waker);
    }

    fn poll(&self, cx: &Context<'_>) -> Poll<io::Result<Vec<SocketAddr>>> {
        let mut state = self.state.lock();
        match state.answer.take() {
            Some(answer) => Poll::Ready(answer),
            None => {
                let before = state.waker.replace(cx.waker().clone());
                // Whatever goes with it may look names up.
                drop(state);
                drop(before);
                Poll::Pending
            }
        }
    }
}

impl fmt::Debug for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Resolver")
    }
}

/// They, as ends of connections. IPv4 addresses mapped into IPv6 are IPv4's.
fn endpoints(addresses: &[SocketAddr]) -> io::Result<Vec<Endpoint>> {
    if addresses.is_empty() {
        let text = "no address is given, or none is known for the name";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(addresses.iter().map(|a| scope::endpoint(*a)).collect())
}

/// The first success of `each`, or the last error.
pub(crate) fn first<T>(
    endpoints: Vec<Endpoint>,
    mut each: impl FnMut(Endpoint) -> io::Result<T>,
) -> io::Result<T> {
    let mut last = None;
    for endpoint in endpoints {
        match each(endpoint) {
            Ok(done) => return Ok(done),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::InvalidInput.into()))
}

#[cfg(test)]
mod tests;
