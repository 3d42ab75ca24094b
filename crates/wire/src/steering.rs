//! Which of several units (queues, processors, groups) a frame belongs to: one
//! hash of the flow, the same in software, in a device's queues and in the
//! steering program of a TAP device, so that a packet comes up where its
//! connection lives. It is the packet filter of Yates 3.1.
//!
//! It is not the hash of the connection table: it has to be computable by a few
//! dozen instructions of eBPF, and it decides only where work is done.

use crate::ipv4::View;
use crate::{Address, FlowKey, ethernet, ipv6, protocol};

/// Where a frame has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steered {
    /// To the unit of the flow with this hash.
    Flow(u32),
    /// To every unit: what it says is for all of them (ARP, neighbour discovery).
    Broadcast,
    /// To any unit: fragments, echo requests, other protocols.
    Any,
}

/// The keyed hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steering {
    /// Odd multiplier of the ports.
    pub ports: u64,
    /// Odd multiplier of the whole.
    pub whole: u64,
}

impl Steering {
    /// A hash with a key made from `seed`.
    pub const fn new(seed: u64) -> Steering {
        Steering {
            ports: (seed ^ 0x2545_f491_4f6c_dd1d)
                .wrapping_mul(0x9e37_79b9_7f4a_7c15)
                .rotate_left(17)
                | 1,
            whole: (seed ^ 0xd6e8_feb8_6659_fd93).wrapping_mul(0xa076_1d64_78bd_642f) | 1,
        }
    }

    /// The hash of `addresses` (source in the upper half) and `ports` (source in
    /// the upper 16 of the lower 32 bits) of a frame. The steering program of
    /// the TAP device does the same, instruction by instruction.
    #[inline]
    pub const fn hash(&self, addresses: u64, ports: u64) -> u32 {
        let mut h = (addresses ^ ports.wrapping_mul(self.ports)).wrapping_mul(self.whole);
        h ^= h >> 32;
        h = h.wrapping_mul(self.ports);
        (h >> 32) as u32
    }

    /// What [`Steering::hash`] takes as the addresses of a frame of IPv6: their words, mixed
    /// under the key one after the other, so that nobody without it can choose addresses
    /// that cancel out.
    #[inline]
    const fn mixed(&self, source: [u64; 2], destination: [u64; 2]) -> u64 {
        let h = self.mix(self.mix(0, source[0]), source[1]);
        self.mix(self.mix(h, destination[0]), destination[1])
    }

    #[inline]
    const fn mix(&self, h: u64, word: u64) -> u64 {
        let h = (h ^ word).wrapping_mul(self.whole);
        h ^ h >> 32
    }

    fn hash_of(&self, source: Address, destination: Address, sp: u16, dp: u16) -> u32 {
        let addresses = match (source.v4(), destination.v4()) {
            (Some(s), Some(d)) => u64::from(s.to_bits()) << 32 | u64::from(d.to_bits()),
            _ => self.mixed(source.words(), destination.words()),
        };
        self.hash(addresses, u64::from(sp) << 16 | u64::from(dp))
    }

    /// The hash of frames that *arrive* for `flow`.
    #[inline]
    pub fn flow(&self, flow: &FlowKey) -> u32 {
        self.hash_of(flow.remote.address, flow.local.address, flow.remote.port, flow.local.port)
    }

    /// Where the Ethernet frame that starts with `front` has to go. Frames that
    /// make no sense go to any unit, which drops them.
    #[inline]
    pub fn frame(&self, front: &[u8]) -> Steered {
        let Ok((header, len)) = ethernet::Header::parse(front) else { return Steered::Any };
        match header.ethertype {
            ethernet::ethertype::IPV4 | ethernet::ethertype::IPV6 => self.datagram(&front[len..]),
            ethernet::ethertype::ARP => Steered::Broadcast,
            _ => Steered::Any,
        }
    }

    /// Where the IP datagram that starts with `front` has to go.
    #[inline]
    pub fn datagram(&self, front: &[u8]) -> Steered {
        let Some(view) = View::new(front) else { return self.datagram_v6(front) };
        let hash = match view.protocol() {
            protocol::ICMP => view.quoted().and_then(|quoted| self.of_view(quoted, true)),
            _ => self.of_view(view, false),
        };
        hash.map_or(Steered::Any, Steered::Flow)
    }

    /// The hash of frames that answer the IP datagram of TCP or UDP that starts with `front`: they
    /// have its ends the other way round. `None` if it is of another protocol, or cannot be one.
    #[inline]
    pub fn answers(&self, front: &[u8]) -> Option<u32> {
        match View::new(front) {
            Some(view) => self.of_view(view, true),
            None => {
                let view = ipv6::View::new(front).filter(|view| !view.is_fragment())?;
                Some(self.flow(&view.flow()?.reversed()))
            }
        }
    }

    fn datagram_v6(&self, front: &[u8]) -> Steered {
        let Some(view) = ipv6::View::new(front) else { return Steered::Any };
        let flow = match view.protocol() {
            _ if view.is_discovery() => return Steered::Broadcast,
            protocol::ICMPV6 => {
                let quoted = view.quoted().filter(|quoted| !quoted.is_fragment());
                quoted.and_then(ipv6::View::flow).map(FlowKey::reversed)
            }
            _ => view.flow().filter(|_| !view.is_fragment()),
        };
        flow.map_or(Steered::Any, |flow| Steered::Flow(self.flow(&flow)))
    }

    /// `sent`: the datagram is one that we sent (such as that inside an ICMP error), so the
    /// flow is its reverse.
    #[inline]
    fn of_view(&self, view: View<'_>, sent: bool) -> Option<u32> {
        let ((source_port, destination_port), false) = (view.ports()?, view.is_fragment()) else {
            return None;
        };
        let (source, destination) = (view.source().to_bits(), view.destination().to_bits());
        let pair = |upper: u32, lower: u32| u64::from(upper) << 32 | u64::from(lower);
        let ports = |upper: u16, lower: u16| u64::from(upper) << 16 | u64::from(lower);
        Some(if sent {
            self.hash(pair(destination, source), ports(destination_port, source_port))
        } else {
            self.hash(pair(source, destination), ports(source_port, destination_port))
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
