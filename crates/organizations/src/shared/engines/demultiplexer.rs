//! Early demultiplexing (Bohra and Iftode 2007, 3.2): from the bytes of a frame to the
//! receive queue that it goes to, before any layer sees it. Packets of no socket have
//! queues that all share.

use super::receive_queue::{Held, ReceiveQueue};
use net::published::Seen;
use net::{Config, ConnId, SharedTable};
use platform::RwLock;
use scheduler::{Class, Key};
use std::collections::HashMap;
use std::sync::Arc;
use sync::DynLock;
use sync::append_vec::AppendVec;
use wire::{Address, Endpoint, FlowKey, Packet, ethernet, filter, ipv4, ipv6, protocol};

/// Datagrams for other hosts.
const FORWARDING: Key = 0;
/// ARP, ICMP, and segments of connections in TIME-WAIT.
const CONTROL: Key = 1;
/// Fragments: which socket they are for is known when they are together.
const FRAGMENTS: Key = 2;
/// New connections, ports that nobody has, and what makes no sense.
const UNKNOWN: Key = 3;
/// The first key of sockets: TCP's are even, by slot of the table; UDP's odd.
const SOCKETS: Key = 4;

/// UDP sockets, by port; those bound to one group share a queue.
#[derive(Default)]
struct Bound {
    keys: HashMap<Endpoint, (Key, usize)>,
    free: Vec<Key>,
    made: Key,
}

/// All receive queues, and how to find them.
pub(crate) struct Sockets<U> {
    pub(crate) queues: AppendVec<ReceiveQueue>,
    config: Arc<Config>,
    table: Arc<SharedTable<DynLock, U>>,
    udp: RwLock<Bound>,
}

impl<U: Send> Sockets<U> {
    pub(crate) fn new(config: Arc<Config>, table: Arc<SharedTable<DynLock, U>>) -> Sockets<U> {
        Sockets { queues: AppendVec::new(ReceiveQueue::new), config, table, udp: RwLock::default() }
    }

    /// The table of connections.
    pub(crate) fn table(&self) -> &SharedTable<DynLock, U> {
        &self.table
    }

    /// A UDP socket is bound, in one unit more.
    pub(crate) fn bind(&self, local: Endpoint) {
        let bound = &mut *self.udp.write();
        if let Some((_, units)) = bound.keys.get_mut(&local) {
            *units += 1;
            return;
        }
        let key = bound.free.pop().unwrap_or_else(|| {
            bound.made += 1;
            SOCKETS + 1 + 2 * (bound.made - 1)
        });
        bound.keys.insert(local, (key, 1));
    }

    /// It is no longer bound in one unit.
    pub(crate) fn unbind(&self, local: Endpoint) {
        let bound = &mut *self.udp.write();
        let Some((key, units)) = bound.keys.get_mut(&local) else { return };
        *units -= 1;
        if *units == 0 {
            bound.free.push(*key);
            bound.keys.remove(&local);
        }
    }

    fn udp_key(&self, local: Endpoint) -> Option<Key> {
        let bound = self.udp.read();
        let any = Endpoint { address: local.address.unspecified(), port: local.port };
        let all = Endpoint { port: 0, ..any };
        let keys = [local, any, all];
        keys.iter().find_map(|at| bound.keys.get(at)).map(|(key, _)| *key)
    }
}

/// The demultiplexer of one engine. It remembers what it found last, which mostly comes
/// again.
pub(crate) struct Demultiplexer {
    config: Arc<Config>,
    seen: Seen<Config>,
    ours: Option<Address>,
    last: Held,
    last_udp: Option<(Endpoint, Key)>,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Classified {
    pub(crate) key: Key,
    pub(crate) class: Class,
}

const fn to(key: Key, class: Class) -> Classified {
    Classified { key, class }
}

impl Demultiplexer {
    pub(crate) fn new<U>(sockets: &Sockets<U>) -> Demultiplexer {
        let (config, seen) = (sockets.config.clone(), Seen::new(&sockets.config.host));
        Demultiplexer { config, seen, ours: None, last: None, last_udp: None }
    }

    /// Forgets what it found last: called once a batch, since connections end, and the
    /// host may have other addresses.
    pub(crate) fn forget(&mut self) {
        if let Some(config) = self.seen.newer() {
            (self.config, self.ours) = (config, None);
        }
        (self.last, self.last_udp) = (None, None);
    }

    /// Finds the receive queue of a frame.
    #[inline]
    pub(crate) fn classify<U: Send>(&mut self, frame: &Packet, sockets: &Sockets<U>) -> Classified {
        let interface = &sockets.config.interfaces[frame.meta().interface as usize];
        let mut front = frame.front();
        if interface.is_ethernet {
            let Ok((header, len)) = ethernet::Header::parse(front) else {
                return to(UNKNOWN, Class::Wait);
            };
            match header.ethertype {
                ethernet::ethertype::IPV4 => front = &front[len..],
                ethernet::ethertype::IPV6 => return self.datagram_v6(&front[len..], sockets),
                ethernet::ethertype::ARP => return to(CONTROL, Class::Control),
                _ => return to(UNKNOWN, Class::Wait),
            }
        }
        match front.first().map(|first| first >> 4) {
            Some(6) => self.datagram_v6(front, sockets),
            _ => self.datagram(front, sockets),
        }
    }

    fn datagram_v6<U: Send>(&mut self, front: &[u8], sockets: &Sockets<U>) -> Classified {
        let Some(view) = ipv6::View::new(front) else { return to(UNKNOWN, Class::Wait) };
        let destination = Address::from(view.destination());
        if self.ours != Some(destination) {
            if self.config.owns(destination) {
                self.ours = Some(destination);
            } else if destination.is_unicast() {
                return to(FORWARDING, Class::Forwarding);
            }
        }
        if view.is_fragment() {
            return to(FRAGMENTS, Class::Control);
        }
        match (view.protocol(), view.flow()) {
            (protocol::ICMPV6, _) => to(CONTROL, Class::Control),
            (protocol::TCP, Some(flow)) => self.segment(&flow, view.payload(), sockets),
            (protocol::UDP, Some(flow)) => self.user_datagram(flow.local, sockets),
            _ => to(UNKNOWN, Class::Wait),
        }
    }

    #[inline]
    fn datagram<U: Send>(&mut self, front: &[u8], sockets: &Sockets<U>) -> Classified {
        let Some(fixed) = front.first_chunk::<{ ipv4::LEN }>() else {
            return to(UNKNOWN, Class::Wait);
        };
        let destination =
            Address::from(std::net::Ipv4Addr::new(fixed[16], fixed[17], fixed[18], fixed[19]));
        if self.ours != Some(destination) {
            let config = &self.config;
            if config.owns(destination) {
                self.ours = Some(destination);
            } else if destination.is_unicast() && !config.is_broadcast(destination) {
                return to(FORWARDING, Class::Forwarding);
            }
        }
        if u16::from_be_bytes([fixed[6], fixed[7]]) & 0x3fff != 0 {
            return to(FRAGMENTS, Class::Control);
        }
        match fixed[9] {
            protocol::ICMP => to(CONTROL, Class::Control),
            protocol::TCP | protocol::UDP => match filter::datagram(front) {
                Some(tuple) if tuple.protocol == protocol::TCP => {
                    let header_len = usize::from(fixed[0] & 0x0f) * 4;
                    let segment = front.get(header_len..).unwrap_or_default();
                    self.segment(&tuple.flow, segment, sockets)
                }
                Some(tuple) => self.user_datagram(tuple.flow.local, sockets),
                None => to(UNKNOWN, Class::Wait),
            },
            _ => to(UNKNOWN, Class::Wait),
        }
    }

    #[inline]
    fn user_datagram<U: Send>(&mut self, local: Endpoint, sockets: &Sockets<U>) -> Classified {
        if let Some((last, key)) = self.last_udp
            && last == local
        {
            return to(key, Class::Ready);
        }
        let Some(key) = sockets.udp_key(local) else { return to(UNKNOWN, Class::Wait) };
        self.last_udp = Some((local, key));
        to(key, Class::Ready)
    }

    #[inline]
    fn segment<U: Send>(
        &mut self,
        flow: &FlowKey,
        segment: &[u8],
        sockets: &Sockets<U>,
    ) -> Classified {
        let held = match self.last {
            Some(held) if held.0 == *flow => held,
            _ => match sockets.table.find(flow) {
                Some(id) => (*flow, id),
                None if sockets.table.is_in_time_wait(flow) => return to(CONTROL, Class::Control),
                None => return to(UNKNOWN, Class::Wait),
            },
        };
        self.last = Some(held);
        let key = key_of(held.1);
        let class = sockets.queues.get_or_grow(key).class(held, ends(segment));
        to(key, class)
    }
}

/// The key of a connection.
pub(crate) fn key_of(id: ConnId) -> Key {
    SOCKETS + 2 * id.slot
}

/// Does this segment end its connection (FIN, RST)?
#[inline]
fn ends(segment: &[u8]) -> bool {
    segment.get(13).is_some_and(|flags| flags & 0b101 != 0)
}

#[cfg(all(test, not(loom)))]
mod tests;
