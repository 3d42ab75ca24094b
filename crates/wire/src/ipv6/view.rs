use super::extension::{DESTINATION, FRAGMENT, HOP_BY_HOP, MAX, ROUTING};
use super::{Fragment, Header, LEN};
use crate::icmpv6::{self, Message};
use crate::{Address, Endpoint, FlowKey, protocol};
use std::net::Ipv6Addr;

/// A look at the front of a datagram whose fixed header is there, for those who look
/// before IP does: steering, filters, and those who read what an ICMP error quotes.
/// Extension headers are passed over as far as they are there; nobody asks what is in
/// them.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    source: Ipv6Addr,
    destination: Ipv6Addr,
    protocol: u8,
    fragment: Option<Fragment>,
    payload: &'a [u8],
}

impl<'a> View<'a> {
    /// The datagram that starts with `front`, if it can be one: addresses of IPv4 that are
    /// mapped into IPv6 are never on the wire (RFC 4291 2.5.5.2), and would name a flow of IPv4.
    #[inline]
    pub fn new(front: &'a [u8]) -> Option<View<'a>> {
        let header = Header::parse(front).ok()?;
        if Address::from(header.source).is_v4() || Address::from(header.destination).is_v4() {
            return None;
        }
        let mut view = View {
            source: header.source,
            destination: header.destination,
            protocol: header.next_header,
            fragment: None,
            payload: &front[LEN..],
        };
        let known = |protocol| matches!(protocol, HOP_BY_HOP | ROUTING | FRAGMENT | DESTINATION);
        let mut count = 0;
        while known(view.protocol) && !view.is_later_fragment() {
            count += 1;
            if count > MAX || !view.pass() {
                return None;
            }
        }
        Some(view)
    }

    /// Passes over one extension header.
    fn pass(&mut self) -> bool {
        let Some(header) = self.payload.first_chunk::<8>() else { return false };
        let mut len = (usize::from(header[1]) + 1) * 8;
        if self.protocol == FRAGMENT {
            len = super::FRAGMENT_LEN;
            let fragment = Fragment::parse(header).ok();
            self.fragment = fragment.filter(|f| !f.is_atomic()).or(self.fragment);
        }
        let Some(rest) = self.payload.get(len..) else { return false };
        (self.protocol, self.payload) = (header[0], rest);
        true
    }

    /// Protocol of the payload ([`crate::protocol`]).
    pub fn protocol(self) -> u8 {
        self.protocol
    }

    /// Source.
    pub fn source(self) -> Ipv6Addr {
        self.source
    }

    /// Destination.
    pub fn destination(self) -> Ipv6Addr {
        self.destination
    }

    /// Is it a part of a datagram?
    pub fn is_fragment(self) -> bool {
        self.fragment.is_some()
    }

    /// Is the start of the datagram's payload elsewhere?
    pub fn is_later_fragment(self) -> bool {
        self.fragment.is_some_and(|f| f.offset != 0)
    }

    /// What follows the headers, as far as it is there.
    pub fn payload(self) -> &'a [u8] {
        self.payload
    }

    /// Is it of neighbour discovery (RFC 4861), as far as its front shows?
    pub fn is_discovery(self) -> bool {
        self.protocol == protocol::ICMPV6
            && !self.is_fragment()
            && self.payload.first().is_some_and(|kind| crate::ndp::TYPES.contains(kind))
    }

    /// Source and destination port: of TCP and UDP, unless they are elsewhere.
    #[inline]
    pub fn ports(self) -> Option<(u16, u16)> {
        if self.is_later_fragment() || !matches!(self.protocol, protocol::TCP | protocol::UDP) {
            return None;
        }
        let [a, b, c, d] = *self.payload.first_chunk::<4>()?;
        Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    }

    /// The flow that it belongs to, as its receiver names it; of TCP and UDP,
    /// unless the ports are elsewhere.
    #[inline]
    pub fn flow(self) -> Option<FlowKey> {
        let (source_port, destination_port) = self.ports()?;
        Some(FlowKey {
            local: Endpoint { address: self.destination.into(), port: destination_port },
            remote: Endpoint { address: self.source.into(), port: source_port },
        })
    }

    /// The datagram that an ICMP error is about, as far as it is quoted.
    pub fn quoted(self) -> Option<View<'a>> {
        if self.protocol != protocol::ICMPV6 || self.is_fragment() {
            return None;
        }
        match Message::parse(self.payload).ok()? {
            message if message.is_error() => View::new(self.payload.get(icmpv6::LEN..)?),
            _ => None,
        }
    }
}
