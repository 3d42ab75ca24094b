//! [`Dhcp`]: addresses of IPv4 from a server (RFC 2131), while the stack runs.
//!
//! ```no_run
//! use anabranch::{Stack, dhcp::Dhcp};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let device = anabranch::device::memory::pair(Default::default()).0;
//! let stack = Stack::builder().device(device).start()?;
//! let dhcp = Dhcp::start(&stack, 0)?;
//! let lease = dhcp.wait(std::time::Duration::from_secs(30)).expect("a server answers");
//! println!("{}/{}, names by {:?}", lease.address, lease.prefix, lease.dns);
//! # Ok(())
//! # }
//! ```

use crate::addresses::{Cidr, Route};
use crate::host::Host;
use crate::{Stack, UdpSocket};
use ::dhcp::v4::{CLIENT_PORT, Client, Config, Event, SERVER_PORT};
pub use ::dhcp::v4::{Lease, Lost};
use platform::{Condvar, Mutex, thread};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::Instant;

/// The longest that the client's thread sleeps: so soon it sees that it is to end.
const LOOK: Duration = Duration::from_millis(100);
/// Bytes of the largest message that is read.
const LARGEST: usize = 1500;

#[derive(Debug, Default)]
struct Shared {
    lease: Mutex<Option<Lease>>,
    changed: Condvar,
    stop: AtomicBool,
}

/// A DHCP client of one interface. Dropping it gives the address back.
///
/// It adds the address that a server gives, and a default route by the first router if there
/// is none, takes them away when they are lost, and tells of that as
/// [`Host::watch`] tells of all changes. It has port 68 of the stack.
#[derive(Debug)]
pub struct Dhcp {
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Dhcp {
    /// Starts a client for the interface of this index, from 0 on in the order of the builder.
    ///
    /// # Errors
    /// `InvalidInput` if there is no such interface, or it is none with Ethernet addresses;
    /// `AddrInUse` if another socket has port 68, as another client does; or the system gives
    /// no thread.
    pub fn start(stack: &Stack, interface: usize) -> io::Result<Dhcp> {
        let invalid = |text: String| io::Error::new(io::ErrorKind::InvalidInput, text);
        let interfaces = stack.host().interfaces();
        let Some(of) = interfaces.get(interface) else {
            return Err(invalid(format!("there is no interface {interface}")));
        };
        let Some(ethernet) = of.ethernet else {
            return Err(invalid(format!(
                "{} has no Ethernet addresses, by which servers know a client: give it an address",
                of.name
            )));
        };
        let socket = UdpSocket::bind(stack, (Ipv4Addr::UNSPECIFIED, CLIENT_PORT))?;
        socket.set_multicast_interface(u32::try_from(interface + 1).unwrap_or(u32::MAX))?;
        let seed = std::hash::BuildHasher::hash_one(&platform::RandomState::new(), ethernet.0);
        let shared = Arc::<Shared>::default();
        let began = platform::Instant::now();
        let worker = Worker {
            client: Client::new(Config::new(ethernet.0, seed), Instant::ZERO),
            host: stack.host(),
            interface,
            socket,
            shared: shared.clone(),
            began,
            route: None,
            added: false,
        };
        let thread = thread::Builder::new().name("ana-dhcp".into());
        let thread = thread.spawn(move || worker.run())?;
        Ok(Dhcp { shared, thread: Some(thread) })
    }

    /// What the interface has just now.
    pub fn lease(&self) -> Option<Lease> {
        self.shared.lease.lock().clone()
    }

    /// Waits until there is an address; `None` after `timeout`.
    pub fn wait(&self, timeout: Duration) -> Option<Lease> {
        let end = platform::Instant::now() + timeout;
        let mut lease = self.shared.lease.lock();
        while lease.is_none() {
            let left = end.saturating_duration_since(platform::Instant::now());
            if left.is_zero() {
                return None;
            }
            self.shared.changed.wait_for(&mut lease, left);
        }
        lease.clone()
    }
}

impl Drop for Dhcp {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends within [`LOOK`], whatever servers do.
            let _ = thread.join();
        }
    }
}

/// What the client's thread has.
struct Worker {
    client: Client,
    host: Host,
    interface: usize,
    socket: UdpSocket,
    shared: Arc<Shared>,
    began: platform::Instant,
    /// The route that came with the lease.
    route: Option<Route>,
    /// The lease's address is on the interface because of the lease.
    added: bool,
}

impl Worker {
    fn now(&self) -> Instant {
        Instant::ZERO + self.began.elapsed()
    }

    fn run(mut self) {
        let mut bytes = [0; LARGEST];
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.client.on_timeout(self.now());
            self.follow();
            let due = self.client.next_timeout().map(|at| at.since(self.now()));
            let wait = due.unwrap_or(LOOK).clamp(Duration::from_millis(1), LOOK);
            // Never zero.
            let _ = self.socket.set_read_timeout(Some(wait));
            match self.socket.recv_from(&mut bytes) {
                Ok((len, from)) if from.port() == SERVER_PORT => {
                    // What makes no sense is passed over.
                    let _ = self.client.input(&bytes[..len], self.now());
                }
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The stack has stopped.
                Err(_) => return,
            }
        }
        self.client.release(self.now());
        // While the address is still there, and for as long as the server's may have to be
        // asked for. Nobody acknowledges it (RFC 2131 4.4.6).
        self.send();
        thread::sleep(LOOK);
        self.events();
    }

    /// Does what follows from what the client has heard.
    fn follow(&mut self) {
        self.events();
        self.send();
    }

    fn send(&mut self) {
        while let Some(message) = self.client.poll_transmit() {
            let to = SocketAddr::from((message.destination, SERVER_PORT));
            // It is sent again if that fails now.
            let _ = self.socket.send_to(&message.payload, to);
        }
    }

    fn events(&mut self) {
        while let Some(event) = self.client.poll_event() {
            match event {
                // Only asked for if there is a time to check.
                Event::Check(_) => {}
                Event::Acquired(lease) => self.acquired(lease),
                Event::Renewed(lease) => self.set(Some(lease)),
                Event::Lost(address, _) => {
                    if let Some(route) = self.route.take() {
                        let _ = self.host.remove_route(route);
                    }
                    if std::mem::take(&mut self.added) {
                        // Somebody else may have taken it away.
                        let _ = self.host.remove_address(address.into());
                    }
                    self.set(None);
                }
            }
        }
    }

    fn acquired(&mut self, lease: Lease) {
        let Ok(cidr) = Cidr::new(lease.address, lease.prefix) else { return };
        self.added = match self.host.add_address(self.interface, cidr) {
            Ok(()) => true,
            // It was given by hand, and stays when the lease ends.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(_) => return,
        };
        let is_default = |route: &Route| {
            let config = route.config();
            config.prefix == 0 && config.network.is_v4()
        };
        let known = self.host.routes().iter().any(is_default);
        if let (false, Some(router)) = (known, lease.routers.first()) {
            let route: Option<Route> = format!("default via {router}").parse().ok();
            self.route = route.filter(|route| self.host.add_route(*route).is_ok());
        }
        self.set(Some(lease));
    }

    fn set(&self, lease: Option<Lease>) {
        *self.shared.lease.lock() = lease;
        self.shared.changed.notify_all();
    }
}
