//! A WireGuard peer wholly in user space: boringtun encrypts, Anabranch speaks IP and TCP
//! inside the tunnel, and a UDP socket of the host carries what is encrypted. No interface, no
//! route and no right of the system is needed.

pub mod config;
pub mod http;
pub mod link;

use anabranch::Stack;
use anabranch::device::custom::{Config as Device, packets};
use config::Config;
use std::error::Error;
use std::net::SocketAddr;
use tokio::net::UdpSocket;
use tokio::task::JoinHandle;

/// Bytes of the largest datagram inside: with WireGuard's headers over IPv6 it fits into 1500.
const MTU: usize = 1420;
/// Datagrams that wait between the stack and the tunnel.
const QUEUE: usize = 1024;

/// A peer: a host inside the tunnel, and the task that carries its datagrams.
pub struct Peer {
    /// The host inside.
    pub stack: Stack,
    /// Where its UDP socket is.
    pub listens: SocketAddr,
    carrier: JoinHandle<()>,
}

impl Peer {
    /// Starts what `config` describes. A task of this runtime carries the datagrams.
    ///
    /// # Errors
    /// What the stack or the system says of an address.
    pub async fn start(config: &Config) -> Result<Peer, Box<dyn Error>> {
        let (device, inside) = packets(Device::ip().with_name("wireguard").with_mtu(MTU), QUEUE)?;
        let mut builder = Stack::builder().device(device);
        for address in &config.addresses {
            builder = builder.address(address.as_str());
        }
        let stack = builder.start()?;
        let outside = UdpSocket::bind(("::", config.port)).await;
        let outside = match outside {
            Ok(socket) => socket,
            // A host without IPv6.
            Err(_) => UdpSocket::bind(("0.0.0.0", config.port)).await?,
        };
        let listens = outside.local_addr()?;
        let carrier = tokio::spawn(link::Link::new(config, inside, outside).run());
        Ok(Peer { stack, listens, carrier })
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.stack.stop();
        self.carrier.abort();
    }
}
