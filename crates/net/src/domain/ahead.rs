//! Many connections do not fit in a processor's cache: what a batch of frames will need of them
//! is asked of the memory before the first frame is taken, so that the waits overlap.

use super::Domain;
use crate::application::Application;
use crate::connections::Connections;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::ethernet::{self, ethertype};
use wire::{Endpoint, FlowKey, Packet, ipv4, ipv6, protocol};

/// The first byte of an IPv4 header without options.
const PLAIN: u8 = 0x45;
/// Offsets of what is above, in headers of IPv4 and of IPv6.
const PROTOCOL: usize = 9;
const NEXT_HEADER: usize = 6;
/// Bytes of a tag of 802.1Q.
const TAG: usize = 4;

/// Connections from which on it pays: fewer are in the cache of a processor anyway.
const MANY: usize = 512;
/// Most frames that are looked at: what comes for more would go before it is used.
const FRAMES: usize = 64;

impl<A: Application, C: Connections<A::Connection>> Domain<A, C> {
    /// Has the connections brought near that these frames, which will be given to
    /// [`Domain::input`] next, are for, if there are so many that it pays. Nothing that could be
    /// seen changes. It says which they are; [`Domain::input`] asks for them, some frames ahead.
    #[inline]
    pub fn look_ahead<'a>(&mut self, frames: impl ExactSizeIterator<Item = &'a Packet>) {
        if frames.len() > 1 && self.conns.len() >= MANY {
            self.bring_near(frames);
        }
    }

    #[inline(never)]
    fn bring_near<'a>(&mut self, frames: impl Iterator<Item = &'a Packet>) {
        let mut flows = std::mem::take(&mut self.expected);
        for frame in frames.take(FRAMES) {
            let is_ethernet = self.link.interface(frame.meta().interface).is_ethernet;
            if let Some(flow) = flow_in(frame.front(), is_ethernet)
                && flows.last() != Some(&flow)
            {
                flows.push(flow);
            }
        }
        self.conns.ask_for(&flows);
        flows.clear();
        self.expected = flows;
    }
}

/// The flow of a frame of TCP that begins with `front`, if its headers are as usual. It is a
/// guess: nothing is verified.
fn flow_in(front: &[u8], is_ethernet: bool) -> Option<FlowKey> {
    let datagram = match is_ethernet {
        true => above_link(front)?,
        false => front,
    };
    let (remote, local, ports) = match datagram.first()? >> 4 {
        4 => {
            let (header, above) = datagram.split_first_chunk::<{ ipv4::LEN }>()?;
            let is_plain = header[0] == PLAIN && header[PROTOCOL] == protocol::TCP;
            let at = |at| header[at..].first_chunk().map(|b| Ipv4Addr::from(*b).into());
            (at(12).filter(|_| is_plain)?, at(16)?, above)
        }
        _ => {
            let (header, above) = datagram.split_first_chunk::<{ ipv6::LEN }>()?;
            let is_plain = header[NEXT_HEADER] == protocol::TCP;
            let at = |at| header[at..].first_chunk().map(|b| Ipv6Addr::from(*b).into());
            (at(8).filter(|_| is_plain)?, at(24)?, above)
        }
    };
    let &[a, b, c, d] = ports.first_chunk()?;
    Some(FlowKey {
        local: Endpoint { address: local, port: u16::from_be_bytes([c, d]) },
        remote: Endpoint { address: remote, port: u16::from_be_bytes([a, b]) },
    })
}

/// What stands above an Ethernet header, with a tag or without.
fn above_link(front: &[u8]) -> Option<&[u8]> {
    let (header, above) = front.split_first_chunk::<{ ethernet::LEN }>()?;
    match header[ethernet::LEN - 2..] == ethertype::VLAN.to_be_bytes() {
        true => above.get(TAG..),
        false => Some(above),
    }
}

#[cfg(test)]
mod tests;
