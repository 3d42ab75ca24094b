//! ④ ⑥ Datagrams of other protocols: from IP to the application and back, unchanged.

use super::Transport;
use crate::application::Application;
use crate::ip::Routes;
use crate::{Counters, DropReason};
use wire::Packet;

/// Hands a datagram that follows IP's headers to the application.
#[cold]
pub fn input<A: Application>(packet: Packet, app: &mut A, counters: &mut Counters) {
    if app.raw(packet.into()) {
        counters.delivered += 1;
    } else {
        counters.drop(DropReason::RawQueueFull);
    }
}

impl<A: Application> Transport<A> {
    /// Sends what the application has of them, as [`Transport::flush`] says.
    pub(super) fn flush_raw(
        &mut self,
        app: &mut A,
        routes: &mut Routes,
        counters: &mut Counters,
        is_full: &impl Fn(u16, usize) -> bool,
    ) -> Option<u16> {
        while let Some(mut raw) = app.next_raw() {
            let route = routes.lookup(raw.destination).filter(|route| !route.to_group);
            if let Some(route) = route
                && raw.source.is_unspecified()
            {
                raw.source = route.source;
            }
            let goes = route.is_some_and(|route| {
                raw.source.is_v4() == raw.destination.is_v4()
                    && self.config.owns(raw.source)
                    && !self.config.escapes(raw.source, route.interface)
            });
            let Some(route) = route.filter(|_| goes) else {
                counters.out_dropped += 1;
                continue;
            };
            let mut packet = Packet::from_parts(raw.payload);
            let meta = packet.meta_mut();
            (meta.source, meta.destination) = (raw.source, raw.destination);
            (meta.protocol, meta.ttl) = (raw.protocol, raw.ttl);
            self.down.push(packet);
            if is_full(route.interface, self.down.len()) {
                return Some(route.interface);
            }
        }
        None
    }
}
