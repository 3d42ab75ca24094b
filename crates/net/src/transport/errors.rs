//! ICMP errors to the connection or socket that they are about.

use super::{Cx, Transport};
use crate::application::Application;
use crate::connections::Connections;
use crate::ip::icmp::{Error, Kind};
use std::hash::BuildHasher;
use tcp::IcmpError;
use wire::icmpv4::Unreachable;
use wire::tcp::mss_for;
use wire::{FlowKey, Instant, protocol};

impl<A: Application> Transport<A> {
    /// Takes an ICMP error.
    pub fn error<C: Connections<A::Connection>>(&mut self, error: &Error, cx: &mut Cx<'_, A, C>) {
        // RFC 8201 4/5, 5.4/1, 5.5/1
        // RFC 9293 MUST-54
        // RFC 1122 3.2.2.1/2, 3.2.2.4/1, 3.2.2.5/1, 4.1.3.3/1
        if error.protocol == protocol::UDP {
            let socket = self.udp.find(&error.flow.local).cloned();
            // Nothing in the quotation shows that we have sent it, so only what is said of the
            // peer of a connected socket is believed, and of whom we have sent as much to.
            if let (Some(socket), Kind::Unreachable(Unreachable::FragmentationNeeded(mtu))) =
                (&socket, error.kind)
                && (cx.app.is_peer(socket, error.flow) || self.has_sent(&error.flow, mtu))
                && let Some(mtu) = self.shrink(&error.flow, mtu, cx.now)
            {
                return cx.app.datagram_too_large(socket, error.flow, mtu);
            }
            if let (Some(socket), Some(why)) = (socket, meaning(error.kind)) {
                cx.app.datagram_error(&socket, error.flow, why);
            }
            return;
        }
        let (ready, now) = (&mut self.ready, cx.now);
        let mut smaller = None;
        cx.conns.with_flow(&error.flow, |connection| {
            let tcb = &mut connection.tcb;
            if !tcb.is_in_flight(error.seq) {
                return;
            }
            match error.kind {
                // RFC 4443 3.2/1
                Kind::Unreachable(Unreachable::FragmentationNeeded(mtu)) => {
                    // A router that does not say (RFC 1191 5): the next of the
                    // usual sizes below would be a guess; take the smallest
                    // that every host must take (RFC 791).
                    let told = if mtu == 0 { 576 } else { mtu };
                    let mss = mss_for(told.into(), error.flow.remote.address);
                    smaller = tcb.on_mss(error.seq, mss).then_some(mtu);
                }
                Kind::Unreachable(why) => tcb.icmp_error(IcmpError::Hard(why_of(why))),
                Kind::TimeExceeded => tcb.icmp_error(IcmpError::Soft(tcp::Unreachable::Host)),
                Kind::ParameterProblem => {}
            }
            ready.schedule(connection);
        });
        if let Some(mtu) = smaller {
            self.shrink(&error.flow, mtu, now);
        }
    }

    /// Has a datagram of this flow left lately that is too large for `mtu`?
    fn has_sent(&self, flow: &FlowKey, mtu: u16) -> bool {
        let hash = self.udp.hasher().hash_one(flow);
        self.config.paths.has_sent(hash, flow.remote.address, mtu.into())
    }

    /// The way to the peer of a flow of ours carries no more than this. Returns what is believed
    /// of that, if it is less than was known. There is no router on the way to ourselves.
    fn shrink(&self, flow: &FlowKey, mtu: u16, now: Instant) -> Option<usize> {
        let remote = flow.remote.address;
        if self.config.owns(remote) {
            return None;
        }
        let link = self.config.mtu_from(flow.local.address, remote);
        self.config.paths.shrink(remote, mtu.into(), link, now)
    }
}

/// What an ICMP error means for a UDP socket.
fn meaning(kind: Kind) -> Option<tcp::Error> {
    match kind {
        Kind::Unreachable(Unreachable::FragmentationNeeded(_)) | Kind::ParameterProblem => None,
        Kind::Unreachable(why) => Some(tcp::Error::Unreachable(why_of(why))),
        Kind::TimeExceeded => Some(tcp::Error::Unreachable(tcp::Unreachable::Host)),
    }
}

/// The same reason, as TCP names it.
fn why_of(why: Unreachable) -> tcp::Unreachable {
    match why {
        Unreachable::Network => tcp::Unreachable::Network,
        Unreachable::Host => tcp::Unreachable::Host,
        Unreachable::Protocol => tcp::Unreachable::Protocol,
        Unreachable::Port => tcp::Unreachable::Port,
        Unreachable::Prohibited => tcp::Unreachable::Prohibited,
        Unreachable::FragmentationNeeded(_) => tcp::Unreachable::Other,
    }
}
