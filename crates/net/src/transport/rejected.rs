//! ⑥ What the application does not want of UDP, though a socket takes it: the peer is told.

use super::udp::packet;
use super::{Cx, Transport};
use crate::application::{Application, Datagram};
use crate::connections::Connections;
use crate::ip::{Routes, icmp};
use wire::{FlowKey, Packet, Parts};

impl<A: Application> Transport<A> {
    /// Tells the peers of the flows that the application rejects, as many as may be told.
    pub(super) fn flush_rejected<C: Connections<A::Connection>>(
        &mut self,
        cx: &mut Cx<'_, A, C>,
        routes: &mut Routes,
    ) {
        while let Some(flow) = cx.app.next_rejected() {
            let Some(error) = self.rejection(&flow, routes) else {
                cx.counters.out_dropped += 1;
                continue;
            };
            // RFC 4443 2.4/6
            if !self.resets.allows(flow.remote.address, cx.now) {
                cx.counters.icmp_errors_limited += 1;
                continue;
            }
            cx.counters.icmp_errors_out += 1;
            self.down.push(error);
        }
    }

    /// The error about a datagram of the flow. Those that came are not there any more: it quotes one
    /// without payload, whose ends are what the peer looks at.
    fn rejection(&self, flow: &FlowKey, routes: &mut Routes) -> Option<Packet> {
        let FlowKey { local, remote } = *flow;
        let route = routes.lookup_from(local.address, remote.address)?;
        let stays = !route.to_group && !self.config.escapes(local.address, route.interface);
        let came = Datagram { local: remote, remote: local, payload: Parts::new() };
        packet(came, 0).filter(|_| stays && self.config.owns(local.address)).and_then(icmp::no_port)
    }
}
