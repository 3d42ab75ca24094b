//! [`Dhcp6`]: servers for names from a DHCPv6 server, without an address (RFC 8415 18.2.6).

use super::service::{Line, Service, Shared};
use crate::host::Host;
use crate::servers::{Origin, server};
use crate::{Stack, UdpSocket};
use ::dhcp::v6::{CLIENT_PORT, Client, SERVER_PORT, SERVERS};
use std::io;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use std::time::Duration;
use wire::{Address, Instant};

/// What the last reply has told.
type Told = Option<Vec<Ipv6Addr>>;

/// Asks the DHCPv6 servers of one interface for servers of names, and again when what they said is
/// old; it asks for no address ("stateless DHCPv6"). Dropping it forgets them.
///
/// It is for networks whose routers say that there is such a server
/// ([`Host::dhcp6_flags`]), or where that is known otherwise: nothing starts it but this call. What it is told is among
/// [`Host::dns_servers`]. It has port 546 of the stack.
#[derive(Debug)]
pub struct Dhcp6(Service<Told>);

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
        let shared = Arc::<Shared<Told>>::default();
        let worker = Worker {
            client: Client::new(ethernet.0, seed, Instant::ZERO),
            host: stack.host(),
            interface,
            line: Line::new(socket),
            shared: shared.clone(),
        };
        Service::spawn("ana-dhcp6", &shared, move || worker.run()).map(Dhcp6)
    }

    /// Waits for the first reply: the servers for names, the best first, eight at most; `None`
    /// after `timeout`, or once the stack has stopped.
    pub fn wait(&self, timeout: Duration) -> Option<Vec<Ipv6Addr>> {
        self.0.shared.wait(timeout, |told| told.clone())
    }
}

/// What the thread has.
struct Worker {
    client: Client,
    host: Host,
    interface: usize,
    line: Line,
    shared: Arc<Shared<Told>>,
}

impl Worker {
    fn run(mut self) {
        loop {
            self.client.on_timeout(self.line.now());
            if let Some(request) = self.client.poll_transmit() {
                self.line.send(&request, (SERVERS, SERVER_PORT));
            }
            let due = self.client.next_timeout();
            let Worker { client, host, interface, line, shared } = &mut self;
            let goes_on = line.receive(shared, due, |bytes, _| {
                // What makes no sense is passed over.
                let Ok(servers) = client.input(bytes, line.now()) else { return };
                let named = |address: &Ipv6Addr| server(IpAddr::from(*address), *interface);
                let all = servers.iter().map(named).collect();
                host.set_dns_servers(Origin::Dhcp6(*interface), all, || {
                    shared.change(|told| *told = Some(servers));
                });
            });
            if !goes_on {
                break;
            }
        }
        self.host.set_dns_servers(Origin::Dhcp6(self.interface), Vec::new(), || ());
    }
}
