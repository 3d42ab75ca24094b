//! ICMP errors to the connection or socket that they are about.

use super::Transport;
use crate::application::Application;
use crate::connections::Connections;
use crate::ip::icmp::{Error, Kind};
use wire::icmpv4::Unreachable;
use wire::{Instant, protocol};

impl<A: Application> Transport<A> {
    /// Takes an ICMP error.
    pub fn error<C: Connections<A::Connection>>(
        &mut self,
        error: &Error,
        conns: &mut C,
        app: &mut A,
        now: Instant,
    ) {
        if error.protocol == protocol::UDP {
            let socket = Transport::<A>::bound(&self.udp, &error.flow.local).cloned();
            if let (Some(socket), Some(why)) = (socket, meaning(error.kind)) {
                app.datagram_error(&socket, error.flow.remote, why);
            }
            return;
        }
        let ready = &mut self.ready;
        conns.with_flow(&error.flow, |connection| {
            let tcb = &mut connection.tcb;
            match error.kind {
                Kind::Unreachable(Unreachable::FragmentationNeeded(mtu)) => {
                    // A router that does not say (RFC 1191 5): the next of the
                    // usual sizes below would be a guess; take the smallest
                    // that every host must take (RFC 791).
                    let mtu = if mtu == 0 { 576 } else { mtu.max(68) };
                    tcb.icmp_packet_too_big(error.seq, mtu - 40);
                }
                kind => {
                    if let Some(why) = meaning(kind) {
                        let hard = matches!(
                            kind,
                            Kind::Unreachable(Unreachable::Port | Unreachable::Protocol)
                        );
                        tcb.icmp_error(error.seq, why, hard, now);
                    }
                }
            }
            Transport::<A>::schedule(ready, connection);
        });
    }
}

fn meaning(kind: Kind) -> Option<tcp::Error> {
    match kind {
        Kind::Unreachable(Unreachable::Port | Unreachable::Protocol) => Some(tcp::Error::Refused),
        Kind::Unreachable(Unreachable::Network) => Some(tcp::Error::NetworkUnreachable),
        Kind::Unreachable(Unreachable::Host | Unreachable::Prohibited) => {
            Some(tcp::Error::HostUnreachable)
        }
        Kind::Unreachable(Unreachable::FragmentationNeeded(_)) => None,
        Kind::TimeExceeded => Some(tcp::Error::HostUnreachable),
        Kind::ParameterProblem => None,
    }
}
