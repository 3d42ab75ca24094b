//! [`Dhcp6`]: servers for names from a DHCPv6 server, without an address (RFC 8415 18.2.6).

use super::{LARGEST, LOOK};
use crate::host::Host;
use crate::servers::Origin;
use crate::{Stack, UdpSocket};
use ::dhcp::v6::{CLIENT_PORT, Client, SERVER_PORT, SERVERS};
use platform::{Condvar, Mutex, thread};
use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use wire::{Address, Instant};

#[derive(Debug, Default)]
struct Shared {
    /// What the last reply has told.
    told: Mutex<Option<Vec<Ipv6Addr>>>,
    changed: Condvar,
    stop: AtomicBool,
}

/// Asks the DHCPv6 servers of one interface for servers of names, and again when what they said is
/// old; it asks for no address ("stateless DHCPv6"). Dropping it forgets them.
///
/// It is for networks whose routers say that there is such a server (the O flag of RFC 4861 4.2),
/// or where that is known otherwise: nothing starts it but this call. What it is told is among
/// [`Host::dns_servers`]. It has port 546 of the stack.
#[derive(Debug)]
pub struct Dhcp6 {
    shared: Arc<Shared>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Dhcp6 {
    /// Starts to ask on the interface of this index, from 0 on in the order of the builder.
    ///
    /// # Errors
    /// `InvalidInput` if there is no such interface, or it has no Ethernet addresses;
    /// `AddrNotAvailable` if it has no link-local address; `AddrInUse` if another socket has
    /// port 546; or the system gives no thread.
    pub fn start(stack: &Stack, interface: usize) -> io::Result<Dhcp6> {
        let error = |kind, text: String| io::Error::new(kind, text);
        let invalid = |text| error(io::ErrorKind::InvalidInput, text);
        let interfaces = stack.host().interfaces();
        let of = interfaces.get(interface);
        let of = of.ok_or_else(|| invalid(format!("there is no interface {interface}")))?;
        let ethernet = of.ethernet.ok_or_else(|| {
            let why = "has no Ethernet addresses, by which servers know a client";
            invalid(format!("{} {why}: give Builder::dns", of.name))
        })?;
        let mut addresses = of.addresses.iter().map(|cidr| Address::from(cidr.address()));
        if !addresses.any(Address::is_link_local_v6) {
            let text = format!("{} has no link-local address: give it one of IPv6", of.name);
            return Err(error(io::ErrorKind::AddrNotAvailable, text));
        }
        let socket = UdpSocket::bind_v6_only(stack, (Ipv6Addr::UNSPECIFIED, CLIENT_PORT))?;
        socket.set_multicast_interface(u32::try_from(interface + 1).unwrap_or(u32::MAX))?;
        let seed = std::hash::BuildHasher::hash_one(&platform::RandomState::new(), ethernet.0);
        let shared = Arc::<Shared>::default();
        let worker = Worker {
            client: Client::new(ethernet.0, seed, Instant::ZERO),
            host: stack.host(),
            interface,
            socket,
            shared: shared.clone(),
            began: platform::Instant::now(),
        };
        let thread = thread::Builder::new().name("ana-dhcp6".into());
        let thread = thread.spawn(move || worker.run())?;
        Ok(Dhcp6 { shared, thread: Some(thread) })
    }

    /// Waits for the first reply: the servers for names, the best first, eight at most; `None`
    /// after `timeout`.
    pub fn wait(&self, timeout: Duration) -> Option<Vec<Ipv6Addr>> {
        let end = platform::Instant::now() + timeout;
        let mut told = self.shared.told.lock();
        while told.is_none() {
            let left = end.saturating_duration_since(platform::Instant::now());
            if left.is_zero() {
                return None;
            }
            self.shared.changed.wait_for(&mut told, left);
        }
        told.clone()
    }
}

impl Drop for Dhcp6 {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends within [`LOOK`].
            let _ = thread.join();
        }
    }
}

/// What the thread has.
struct Worker {
    client: Client,
    host: Host,
    interface: usize,
    socket: UdpSocket,
    shared: Arc<Shared>,
    began: platform::Instant,
}

impl Worker {
    fn now(&self) -> Instant {
        Instant::ZERO + self.began.elapsed()
    }

    fn run(mut self) {
        let mut bytes = [0; LARGEST];
        while !self.shared.stop.load(Ordering::Relaxed) {
            self.client.on_timeout(self.now());
            if let Some(request) = self.client.poll_transmit() {
                // It is sent again if that fails now.
                let _ = self.socket.send_to(&request, SocketAddr::from((SERVERS, SERVER_PORT)));
            }
            let due = self.client.next_timeout().map(|at| at.since(self.now()));
            let wait = due.unwrap_or(LOOK).clamp(Duration::from_millis(1), LOOK);
            // Never zero.
            let _ = self.socket.set_read_timeout(Some(wait));
            match self.socket.recv_from(&mut bytes) {
                Ok((len, _)) => self.input(&bytes[..len]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // The stack has stopped.
                Err(_) => break,
            }
        }
        self.host.set_dns_servers(Origin::Dhcp6(self.interface), Vec::new());
    }

    fn input(&mut self, bytes: &[u8]) {
        // What makes no sense is passed over.
        let Ok(servers) = self.client.input(bytes, self.now()) else { return };
        let all = servers.iter().map(|server| IpAddr::from(*server)).collect();
        self.host.set_dns_servers(Origin::Dhcp6(self.interface), all);
        *self.shared.told.lock() = Some(servers);
        self.shared.changed.notify_all();
    }
}
