//! [`Link`]: datagrams of the stack, encrypted, to the peer and back.

use crate::config::{Config, Network};
use anabranch::device::custom::Packets;
use boringtun::noise::errors::WireGuardError;
use boringtun::noise::{Tunn, TunnResult};
use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::net::UdpSocket;

/// How often WireGuard's timers are looked at.
const TICK: Duration = Duration::from_millis(250);
/// Bytes of the longest datagram, inside or outside.
const LONGEST: usize = 65_536;

/// The tunnel between a stack and a UDP socket.
pub struct Link {
    inside: Packets,
    outside: UdpSocket,
    noise: Tunn,
    peer: Option<SocketAddr>,
    allowed: Vec<Network>,
}

impl Link {
    /// As `config` says.
    pub fn new(config: &Config, inside: Packets, outside: UdpSocket) -> Link {
        let noise = Tunn::new(
            config.private_key.clone(),
            config.public_key,
            config.preshared_key,
            config.keepalive,
            1,
            None,
        );
        Link { inside, outside, noise, peer: config.endpoint, allowed: config.allowed.clone() }
    }

    /// Carries datagrams until the stack has ended.
    pub async fn run(mut self) {
        let mut tick = tokio::time::interval(TICK);
        let (mut datagram, mut scratch) = (vec![0; LONGEST], vec![0; LONGEST]);
        loop {
            tokio::select! {
                packet = self.inside.next() => match packet {
                    Some(packet) => self.leaves(&packet, &mut scratch).await,
                    None => return,
                },
                got = self.outside.recv_from(&mut datagram) => {
                    // What the system says of an earlier datagram is that one's loss. One of nothing is no
                    // message: to boringtun it would ask for what waits for the peer.
                    if let Ok((n @ 1.., from)) = got {
                        self.arrives(&datagram[..n], from, &mut scratch).await;
                    }
                }
                _ = tick.tick() => self.tick(&mut scratch).await,
            }
        }
    }

    /// Some time has passed.
    async fn tick(&mut self, scratch: &mut [u8]) {
        let given_up = match self.noise.update_timers(scratch) {
            TunnResult::WriteToNetwork(bytes) => {
                return send(&self.outside, bytes, self.peer).await;
            }
            TunnResult::Err(WireGuardError::ConnectionExpired) => true,
            _ => false,
        };
        // The peer has not answered for 90 s. Who keeps alive wants to be found once it is back.
        if given_up
            && self.noise.persistent_keepalive().is_some()
            && let TunnResult::WriteToNetwork(bytes) =
                self.noise.format_handshake_initiation(scratch, false)
        {
            send(&self.outside, bytes, self.peer).await;
        }
    }

    /// A datagram of the stack. It waits in the tunnel while there are no keys yet.
    async fn leaves(&mut self, packet: &[u8], scratch: &mut [u8]) {
        let to = Tunn::dst_address(packet);
        if !to.is_some_and(|to| self.allows(to)) {
            return;
        }
        if let TunnResult::WriteToNetwork(bytes) = self.noise.encapsulate(packet, scratch) {
            send(&self.outside, bytes, self.peer).await;
        }
    }

    /// A datagram from outside. What is not the peer's, the keys show.
    async fn arrives(&mut self, datagram: &[u8], from: SocketAddr, scratch: &mut [u8]) {
        let mut result = self.noise.decapsulate(Some(from.ip()), datagram, scratch);
        if is_of_peer(datagram, &result) {
            // It may have moved.
            self.peer = Some(from);
        }
        while let TunnResult::WriteToNetwork(bytes) = result {
            send(&self.outside, bytes, Some(from)).await;
            // There may be more that has waited for the keys.
            result = self.noise.decapsulate(Some(from.ip()), &[], scratch);
        }
        let (packet, source) = match result {
            TunnResult::WriteToTunnelV4(packet, source) => (packet, IpAddr::V4(source)),
            TunnResult::WriteToTunnelV6(packet, source) => (packet, IpAddr::V6(source)),
            _ => return,
        };
        if self.allows(source) {
            // One that the stack does not take any more is not missed.
            let _ = self.inside.send(Bytes::copy_from_slice(packet)).await;
        }
    }

    /// May datagrams of this address pass (WireGuard's paper, 2: cryptokey routing)?
    fn allows(&self, address: IpAddr) -> bool {
        self.allowed.iter().any(|network| network.has(address))
    }
}

/// The first byte of a message (WireGuard's paper, 5.4): handshakes, cookies, data.
const INITIATION: u8 = 1;
const RESPONSE: u8 = 2;
const COOKIE: u8 = 3;
const DATA: u8 = 4;

/// Is `datagram`, of which came `result`, shown to be the peer's by its keys? Whoever asks too often
/// is sent a cookie before anything is known of him, and a cookie of the peer's is no word from it.
fn is_of_peer(datagram: &[u8], result: &TunnResult<'_>) -> bool {
    let is_said_by_peer = matches!(datagram.first(), Some(&(INITIATION | RESPONSE | DATA)));
    is_said_by_peer
        && match result {
            TunnResult::Err(_) => false,
            TunnResult::WriteToNetwork(answer) => answer.first() != Some(&COOKIE),
            // A datagram for the stack, or none: the peer keeps alive.
            _ => true,
        }
}

/// What is lost is sent again by whom it belongs to.
async fn send(outside: &UdpSocket, bytes: &[u8], to: Option<SocketAddr>) {
    let Some(to) = to else { return };
    let is_v6 = outside.local_addr().is_ok_and(|local| local.is_ipv6());
    let to = match to {
        SocketAddr::V4(v4) if is_v6 => (v4.ip().to_ipv6_mapped(), v4.port()).into(),
        to => to,
    };
    let _ = outside.send_to(bytes, to).await;
}
