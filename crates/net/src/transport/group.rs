//! ⑥ Datagrams to groups, and to all hosts of a link.

use super::{Transport, udp};
use crate::Counters;
use crate::application::{Application, Datagram};
use crate::groups::Sending;
use crate::ip::{Routes, source};
use wire::Packet;

impl<A: Application> Transport<A> {
    /// Sends a datagram to a group, or to 255.255.255.255: by the interface that the socket has
    /// chosen, that of the link-local address it goes from, that of the route, or the first that
    /// speaks the family; and, if members on that link are here and shall hear it, by the loopback.
    /// Returns the first of these, if it is sent by any.
    pub(super) fn send_to_group(
        &mut self,
        mut datagram: Datagram,
        (how, ttl): (Sending, u8),
        routes: &mut Routes,
        counters: &mut Counters,
    ) -> Option<u16> {
        let group = datagram.remote.address;
        let usual = || {
            let by_route = routes.lookup(group).map(|route| route.interface);
            by_route.or_else(|| self.config.interface_for_group(group))
        };
        let ours = datagram.local.address;
        let is_multicast = group.is_multicast();
        let of_ours = || self.config.interface_of(ours).filter(|_| ours.is_link_local_v6());
        let chosen = how.interface.or_else(of_ours).or_else(usual).and_then(|interface| {
            let is_set = !ours.is_unspecified() && !ours.is_multicast();
            let source = is_set.then_some(ours);
            let is_nameless = how.nameless && !is_multicast;
            let usual = || source::for_group(&self.config, interface, group);
            let source = source.or_else(|| usual().filter(|_| !is_nameless));
            // A host that has no address yet has this one (RFC 1122 3.2.1.3 a).
            let none = how.interface.filter(|_| !is_multicast).map(|_| group.unspecified());
            let source = source.or(none)?;
            (!self.config.escapes(source, interface)).then_some((interface, source))
        });
        let Some((interface, source)) = chosen else {
            counters.out_dropped += 1;
            return None;
        };
        datagram.local.address = source;
        let Some(mut packet) = udp::packet(datagram, 0) else {
            counters.out_dropped += 1;
            return None;
        };
        packet.meta_mut().ttl = if is_multicast { how.ttl.max(1) } else { ttl };
        let by = |mut packet: Packet, interface| {
            // It says to IP that the interface is chosen.
            packet.meta_mut().group = true;
            packet.meta_mut().interface = interface;
            packet
        };
        if how.looped
            && is_multicast
            && let Some(loopback) = self.config.loopback
            && self.config.groups.wants(Some(interface), group, source)
        {
            self.down.push(by(packet.clone(), loopback));
        }
        if how.ttl > 0 || !is_multicast {
            self.down.push(by(packet, interface));
        }
        Some(interface)
    }
}
