//! What of other protocols, and of ICMP, goes to the application.

use super::Ip;
use wire::packet::Meta;
use wire::{Address, Packet, ipv4, ipv6, protocol};

/// Bytes of an ICMP error's quote that are looked at: the longest header of IPv4, or that of
/// IPv6 with one for a fragment, and some that follow it.
const QUOTED: usize = 60 + 8;

impl Ip {
    /// Does the application take a datagram of a protocol that is not known here?
    pub(super) fn takes_raw(&self, meta: &Meta) -> bool {
        self.config.raw.takes_others() && !meta.group
    }

    /// Does the application take an ICMP message that no layer needs? What is for our own
    /// addresses is answered here.
    pub(super) fn takes_icmp(&self, meta: &Meta) -> bool {
        self.config.raw.takes_icmp() && !meta.group && !self.config.is_ours(meta.destination)
    }

    /// Does the application take an ICMP error about the datagram that `quote` starts with,
    /// since it has sent that itself?
    pub(super) fn takes_error(&self, quote: &Packet) -> bool {
        if !self.config.raw.takes_icmp() {
            return false;
        }
        let mut bytes = [0; QUOTED];
        let len = quote.copy_front(&mut bytes);
        quoted(&bytes[..len]).is_some_and(|(source, protocol)| {
            !matches!(protocol, protocol::TCP | protocol::UDP) && self.config.owns(source)
        })
    }
}

/// Who has sent a datagram that is quoted, and its protocol.
fn quoted(quote: &[u8]) -> Option<(Address, u8)> {
    if let Some(view) = ipv4::View::new(quote) {
        return Some((view.source().into(), view.protocol()));
    }
    let view = ipv6::View::new(quote)?;
    Some((view.source().into(), view.protocol()))
}
