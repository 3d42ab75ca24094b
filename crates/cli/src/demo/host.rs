//! [`Host`]: a web server on a stack, and the way for clients to reach it.

use crate::failure::Failure;
use crate::http::{self, Site};
use crate::link::{Kind, Opened, Peer, Request};
use crate::serve::tcp_config;
use crate::tally::Tally;
use anabranch::organization::Options;
use anabranch::tokio::TcpListener;
use anabranch::{Stack, TcpStream};
use device::Device;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Runtime;

/// The family of the addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Family {
    /// IPv4.
    #[default]
    #[value(name = "4")]
    V4,
    /// IPv6.
    #[value(name = "6")]
    V6,
}

impl Family {
    /// Where the stack is, where its client is, and the length of their network's prefix.
    fn addresses(self) -> (IpAddr, IpAddr, u8) {
        let four = |last| Ipv4Addr::new(10, 99, 0, last).into();
        let six = |last| Ipv6Addr::new(0xfd00, 0x99, 0, 0, 0, 0, 0, last).into();
        match self {
            Family::V4 => (four(2), four(1), 24),
            Family::V6 => (six(2), six(1), 64),
        }
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Family::V4 => "IPv4",
            Family::V6 => "IPv6",
        }
    }
}

const PORT: u16 = 80;
/// How long anything may stand still.
const PATIENCE: Duration = Duration::from_secs(15);

/// A web server on a stack, and the way to reach it.
pub struct Host {
    stack: Stack,
    /// The client's stack, if that is not the kernel's.
    peer: Option<Stack>,
    runtime: Runtime,
    /// Where it serves.
    at: SocketAddr,
}

/// What serves, and on what.
pub struct Wanted<'a> {
    /// What the stack stands on.
    pub link: &'a Kind,
    /// The organization of the stack.
    pub organization: &'a str,
    /// What it leaves open.
    pub options: Options,
    /// Packets that a connection may send in its turn.
    pub burst: usize,
    /// Processors of the stack.
    pub processors: usize,
    /// Bytes of the largest IP datagram.
    pub mtu: usize,
    /// The organization of the client's stack, where that is not the kernel's.
    pub client: &'a str,
    /// The family of the addresses.
    pub family: Family,
}

impl<'a> Wanted<'a> {
    /// As users have it who choose nothing.
    pub fn plain(link: &'a Kind, organization: &'a str, processors: usize) -> Wanted<'a> {
        Wanted {
            link,
            organization,
            options: Options::default(),
            burst: 32,
            processors,
            mtu: 1500,
            client: organization,
            family: Family::V4,
        }
    }
}

/// A connection, as the client sees it.
pub trait Connection: Read + Write + Send {}
impl<C: Read + Write + Send> Connection for C {}

impl Host {
    /// Starts to serve `pages`.
    ///
    /// # Errors
    /// What could not be had.
    pub fn start(wanted: &Wanted<'_>, pages: &Arc<impl Site>) -> Result<Host, Failure> {
        let (ours, theirs, prefix) = wanted.family.addresses();
        let request = Request {
            ours,
            others: &[],
            name: "ana-demo",
            queues: wanted.processors,
            mtu: wanted.mtu,
            offload: true,
            peer: Some((theirs, prefix)),
        };
        let Opened { device, peer } = (wanted.link.open)(&request).map_err(Failure::failed)?;
        let stack = |device: Device, address: IpAddr, organization: &str, options: Options| {
            let offload = device.capabilities.transmit_checksum;
            Stack::builder()
                .device(device)
                .address(format!("{address}/{prefix}"))
                .organization(organization)
                .options(options)
                .burst(wanted.burst)
                .processors(wanted.processors)
                .tcp(tcp_config(offload))
                .start()
                .map_err(Failure::failed)
        };
        let peer = match peer {
            Peer::Kernel => None,
            Peer::Stack(device) => Some(stack(*device, theirs, wanted.client, Options::default())?),
        };
        let stack = stack(device, ours, wanted.organization, wanted.options.clone())?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(Failure::failed)?;
        let at = SocketAddr::from((ours, PORT));
        let listener = runtime.block_on(TcpListener::bind(&stack, at));
        let listener = listener.map_err(Failure::failed)?;
        runtime.spawn(http::accept(listener, pages.clone(), Arc::new(Tally::default())));
        Ok(Host { stack, peer, runtime, at })
    }

    /// Where other programs reach the server, if the client is the kernel.
    pub fn address(&self) -> Option<SocketAddr> {
        self.peer.is_none().then_some(self.at)
    }

    /// Opens a connection from the client's side.
    ///
    /// # Errors
    /// Those of connect(2).
    pub fn connect(&self) -> io::Result<Box<dyn Connection>> {
        let address = self.at;
        Ok(match &self.peer {
            None => {
                let stream = std::net::TcpStream::connect_timeout(&address, PATIENCE)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Box::new(stream)
            }
            Some(peer) => {
                let stream = TcpStream::connect_timeout(peer, &address, PATIENCE)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                stream.set_write_timeout(Some(PATIENCE))?;
                Box::new(stream)
            }
        })
    }

    /// Ends it all, the device included.
    pub fn stop(self) {
        for stack in self.peer.iter().chain([&self.stack]) {
            stack.stop();
        }
        // Tasks have sockets, and sockets hold the stack with its device.
        self.runtime.shutdown_timeout(PATIENCE);
    }
}
