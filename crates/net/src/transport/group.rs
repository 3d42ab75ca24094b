//! ⑥ Datagrams to groups.

use super::{Transport, udp};
use crate::Counters;
use crate::application::{Application, Datagram};
use crate::groups::Sending;
use crate::ip::Routes;
use wire::Packet;

impl<A: Application> Transport<A> {
    /// Sends a datagram to a group: by the interface that the socket has chosen, that of the
    /// route, or the first that speaks the family; and, if members here shall hear it, by the
    /// loopback.
    pub(super) fn to_group(
        &mut self,
        mut datagram: Datagram,
        how: Sending,
        routes: &mut Routes,
        counters: &mut Counters,
    ) {
        let group = datagram.remote.address;
        let usual = || {
            let by_route = routes.lookup(group).map(|route| route.interface);
            by_route.or_else(|| self.config.interface_for_group(group))
        };
        let ours = datagram.local.address;
        let chosen = how.interface.or_else(usual).and_then(|interface| {
            let is_set = !ours.is_unspecified() && !ours.is_multicast();
            let source = is_set.then_some(ours);
            let source = source.or_else(|| self.config.source_for_group(interface, group))?;
            (!self.config.escapes(source, interface)).then_some((interface, source))
        });
        let Some((interface, source)) = chosen else { return counters.out_dropped += 1 };
        datagram.local.address = source;
        let Some(mut packet) = udp::packet(datagram, 0) else { return counters.out_dropped += 1 };
        packet.meta_mut().ttl = how.ttl.max(1);
        let by = |mut packet: Packet, interface| {
            // It says to IP that the interface is chosen.
            packet.meta_mut().group = true;
            packet.meta_mut().interface = interface;
            packet
        };
        if how.looped
            && let Some(loopback) = self.config.loopback
            && self.config.groups.wants(None, group, source)
        {
            self.down.push(by(packet.clone(), loopback));
        }
        if how.ttl > 0 {
            self.down.push(by(packet, interface));
        }
    }
}
