//! [`Dhcp`]: addresses of IPv4 from a server (RFC 2131), while the stack runs; and [`Dhcp6`]:
//! servers for names from one of IPv6.
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

use crate::addresses::Cidr;
use crate::host::Host;
use crate::servers::{Origin, server};
use crate::{Stack, UdpSocket};
use ::dhcp::v4::{CLIENT_PORT, Client, Config, SERVER_PORT};
pub use ::dhcp::v4::{Event, Lease, Lost, Route};
use platform::thread;
use service::{LOOK, Line, Service, Shared};
use std::collections::VecDeque;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use trial::Trial;
use ways::Ways;
use wire::{EthernetAddress, Instant};

mod service;
mod trial;
mod v6;
mod ways;

pub use v6::Dhcp6;

/// Events that wait for who asks for them; beyond, the oldest goes.
const MAX_EVENTS: usize = 64;

/// How a client behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// How long others on the link have to say that they have the address that a server gives,
    /// before it is used: they are asked three times in the first half (RFC 5227 2.1.1). Zero:
    /// nobody is asked. Default: 4 s.
    pub check: Duration,
    /// The name that servers are told. Default: none.
    pub host_name: Option<String>,
}

impl Default for Options {
    fn default() -> Options {
        Options { check: Duration::from_secs(4), host_name: None }
    }
}

impl Options {
    /// Sets [`Options::check`].
    #[must_use]
    pub fn with_check(self, check: Duration) -> Options {
        Options { check, ..self }
    }

    /// Sets [`Options::host_name`].
    #[must_use]
    pub fn with_host_name(self, name: impl Into<String>) -> Options {
        Options { host_name: Some(name.into()), ..self }
    }
}

#[derive(Debug, Default)]
struct Held {
    lease: Option<Lease>,
    events: VecDeque<Event>,
}

/// A DHCP client of one interface. Dropping it gives the address back.
///
/// It adds the address that a server gives, and the routes that it says (RFC 3442), or else a default route by
/// the first router, unless there is one; takes them away when they are lost, and tells of that as
/// [`Host::watch`] tells of all changes. Where the address has no network (a mask of 32 bits, as
/// clouds give it), the router is on the link all the same. Servers for names are among
/// [`Host::dns_servers`] as long as there is a lease. It has port 68 of the stack.
///
/// Before it uses an address, it asks whether another host has it ([`Options::check`]). If so,
/// or if another host insists on an address in use, it tells the server, and begins anew after
/// ten seconds.
#[derive(Debug)]
pub struct Dhcp(Service<Held>);

impl Dhcp {
    /// Starts a client for the interface of this index, from 0 on in the order of the builder.
    ///
    /// # Errors
    /// `InvalidInput` if there is no such interface, or it is none with Ethernet addresses;
    /// `AddrInUse` if another socket has port 68, as another client does; or the system gives
    /// no thread.
    pub fn start(stack: &Stack, interface: usize) -> io::Result<Dhcp> {
        Dhcp::start_with(stack, interface, Options::default())
    }

    /// As [`Dhcp::start`], with options.
    ///
    /// # Errors
    /// As [`Dhcp::start`].
    pub fn start_with(stack: &Stack, interface: usize, options: Options) -> io::Result<Dhcp> {
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
        let shared = Arc::<Shared<Held>>::default();
        let Options { check, host_name } = options;
        let config = Config { check, host_name, ..Config::new(ethernet.0, seed) };
        let worker = Worker {
            client: Client::new(config, Instant::ZERO),
            host: stack.host(),
            interface,
            ethernet,
            check,
            line: Line::new(socket),
            shared: shared.clone(),
            trial: None,
            ways: Ways::new(stack.host(), interface),
            added: false,
        };
        Service::spawn("ana-dhcp", &shared, move || worker.run()).map(Dhcp)
    }

    /// What the interface has just now.
    pub fn lease(&self) -> Option<Lease> {
        self.0.shared.look(|held| held.lease.clone())
    }

    /// Waits until there is an address; `None` after `timeout`, or once the stack has stopped.
    pub fn wait(&self, timeout: Duration) -> Option<Lease> {
        self.0.shared.wait(timeout, |held| held.lease.clone())
    }

    /// The next thing that has happened, in order; `None` if there is nothing for `timeout`, or the
    /// stack has stopped. Of those that nobody asks for, the last 64 are kept.
    pub fn next(&self, timeout: Duration) -> Option<Event> {
        self.0.shared.wait(timeout, |held| held.events.pop_front())
    }
}

/// What the client's thread has.
struct Worker {
    client: Client,
    host: Host,
    interface: usize,
    ethernet: EthernetAddress,
    check: Duration,
    line: Line,
    shared: Arc<Shared<Held>>,
    /// The address that others are asked for, or told of.
    trial: Option<Trial>,
    /// The routes that came with the lease.
    ways: Ways,
    /// The lease's address is on the interface because of the lease.
    added: bool,
}

impl Worker {
    fn run(mut self) {
        loop {
            self.client.on_timeout(self.line.now());
            self.follow();
            let Worker { line, client, shared, .. } = &mut self;
            let goes_on = line.receive(shared, client.next_timeout(), |bytes, from| {
                if from.port() == SERVER_PORT {
                    // What makes no sense is passed over.
                    let _ = client.input(bytes, line.now());
                }
            });
            if !goes_on {
                break;
            }
        }
        self.client.release(self.line.now());
        // While the address is still there, and for as long as the server's may have to be
        // asked for. Nobody acknowledges it (RFC 2131 4.4.6).
        self.send();
        thread::sleep(LOOK);
        self.events();
    }

    /// Does what follows from what the client has heard.
    fn follow(&mut self) {
        self.events();
        self.ask();
        self.send();
    }

    fn send(&mut self) {
        while let Some(message) = self.client.poll_transmit() {
            let to = SocketAddr::from((message.destination, SERVER_PORT));
            self.line.send_from(message.source, &message.payload, to);
        }
    }

    /// Asks and tells others on the link of the address, and hears what they say.
    fn ask(&mut self) {
        let now = self.line.now();
        let Some(trial) = &mut self.trial else { return };
        if trial.say(now) {
            self.line.socket.0.tell();
        }
        if trial.is_lost() {
            self.trial = None;
            self.client.conflict(now);
            self.events();
        }
    }

    fn events(&mut self) {
        while let Some(event) = self.client.poll_event() {
            match &event {
                Event::Check(address) => self.trial = Some(self.trial_of(*address)),
                Event::Acquired(lease) => self.acquired(lease),
                Event::Renewed(lease) => self.renewed(lease),
                Event::Declined(address) | Event::Lost(address, _) => self.lost(*address),
            }
            self.tell(event);
        }
    }

    /// Lets who waits know, of the address and of the event at once.
    fn tell(&self, event: Event) {
        let lease = self.client.lease();
        let named = lease.iter().flat_map(|lease| &lease.dns);
        let servers = named.map(|address| server((*address).into(), self.interface)).collect();
        self.host.set_dns_servers(Origin::Dhcp(self.interface), servers, || ());
        self.shared.change(|held| {
            held.lease = lease.cloned();
            if held.events.len() == MAX_EVENTS {
                held.events.pop_front();
            }
            held.events.push_back(event);
        });
    }

    /// Others are asked for this address.
    fn trial_of(&self, address: Ipv4Addr) -> Trial {
        let claims = self.line.socket.0.stack().config().claims.clone();
        let interface = self.interface as u16;
        Trial::new(claims, (interface, self.ethernet), address, (self.line.now(), self.check))
    }

    fn acquired(&mut self, lease: &Lease) {
        let Ok(cidr) = Cidr::new(lease.address, lease.prefix) else { return };
        self.added = match self.host.add_address(self.interface, cidr) {
            Ok(()) => true,
            // It was given by hand, and stays when the lease ends.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(_) => return,
        };
        let mut trial = self.trial.take().unwrap_or_else(|| self.trial_of(lease.address));
        trial.is_ours(self.line.now());
        self.trial = Some(trial);
        self.ways.follow(lease);
    }

    /// A server may say another mask, or another router.
    fn renewed(&mut self, lease: &Lease) {
        if let (true, Ok(cidr)) = (self.added, Cidr::new(lease.address, lease.prefix)) {
            self.host.set_prefix(self.interface, cidr);
        }
        self.ways.follow(lease);
    }

    fn lost(&mut self, address: Ipv4Addr) {
        self.trial = None;
        self.ways.take();
        if std::mem::take(&mut self.added) {
            // Somebody else may have taken it away.
            let _ = self.host.remove_address(address.into());
        }
    }
}
