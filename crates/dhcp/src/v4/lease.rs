//! [`Lease`]: what a server gives, made sense of.

use super::message::{Message, Route, is_host};
use crate::Ignored;
use std::net::Ipv4Addr;
use wire::Instant;
use wire::time::Duration;

/// What a host has for some time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The address.
    pub address: Ipv4Addr,
    /// Length of the network's prefix, bits.
    pub prefix: u8,
    /// Routers on the network, the best first. Where the prefix has 32 bits, no other host is in
    /// the network, and they are whatever hosts the server says: the link has them.
    pub routers: Vec<Ipv4Addr>,
    /// The ways to other networks, if the server says them one by one (RFC 3442): then there are no `routers`. A
    /// router is on the network, or on one that is said to be on the link.
    pub routes: Vec<Route>,
    /// Servers for names, the best first.
    pub dns: Vec<Ipv4Addr>,
    /// Bytes of the link's largest datagram, if the server says it: 576 at least.
    pub mtu: Option<u16>,
    /// The server.
    pub server: Ipv4Addr,
    /// How long it lasts from when it was asked for; `None`: for ever.
    pub length: Option<Duration>,
    /// When it is renewed (T1); `None`: never.
    pub renewal: Option<Instant>,
    /// When any server is asked (T2).
    pub rebinding: Option<Instant>,
    /// When it ends.
    pub end: Option<Instant>,
}

impl Lease {
    /// What `message` gives to who asked at `asked` (RFC 2131 4.4.1: time counts from then).
    ///
    /// # Errors
    /// [`Ignored::Unusable`].
    pub(super) fn of(message: &Message, asked: Instant) -> Result<Lease, Ignored> {
        // RFC 2131 4.4.1/2
        let options = &message.options;
        let (Some(server), Some(seconds)) = (options.server, options.lease) else {
            return Err(Ignored::Unusable);
        };
        let address = message.yiaddr;
        let prefix = match options.mask {
            Some(mask) if mask.to_bits().leading_ones() + mask.to_bits().trailing_zeros() == 32 => {
                mask.to_bits().leading_ones() as u8
            }
            Some(_) => return Err(Ignored::Unusable),
            None => of_class(address),
        };
        let host = u32::MAX.checked_shr(prefix.into()).unwrap_or(0);
        let number = address.to_bits() & host;
        let is_net_or_all = prefix < 31 && (number == 0 || number == host);
        if !is_host(address) || !is_host(server) || prefix == 0 || is_net_or_all || seconds == 0 {
            return Err(Ignored::Unusable);
        }
        let (renewal, rebinding, end) = match seconds {
            u32::MAX => (None, None, None),
            seconds => {
                let whole = Duration::from_secs(seconds.into());
                let (t1, t2) = times(options.renewal, options.rebinding, whole);
                (Some(asked + t1), Some(asked + t2), Some(asked + whole))
            }
        };
        // An address without a network has its router beyond it, if it has any.
        let on_link = |router: &&Ipv4Addr| {
            let is_in_network = (router.to_bits() ^ address.to_bits()) & !host == 0;
            (is_in_network || (prefix == 32 && is_host(**router))) && **router != address
        };
        let routers = match options.routes {
            //= RFC 3442: "MUST ignore the Router option"
            Some(_) => Vec::new(),
            None => options.routers.iter().filter(on_link).copied().collect(),
        };
        let all = options.routes.as_deref().unwrap_or_default();
        let is_beside = |router: &Ipv4Addr| {
            *router != address && is_host(*router) && all.iter().any(|route| route.links(*router))
        };
        let usable = |route: &&Route| match route.router {
            None => is_link(route),
            Some(router) => on_link(&&router) || is_beside(&router),
        };
        Ok(Lease {
            address,
            prefix,
            routers,
            routes: all.iter().filter(usable).copied().collect(),
            dns: options.dns.clone(),
            mtu: options.mtu.filter(|mtu| *mtu >= 576),
            server,
            length: end.map(|end| end.since(asked)),
            renewal,
            rebinding,
            end,
        })
    }
}

/// Can the network be on the link? More than 2^24 hosts would hide what is behind routers.
fn is_link(route: &Route) -> bool {
    route.prefix >= 8 && is_host(route.network)
}

impl Route {
    /// Does it say that this host is on the link?
    pub fn links(&self, host: Ipv4Addr) -> bool {
        let beyond = u32::MAX.checked_shr(self.prefix.into()).unwrap_or(0);
        let is_in = (host.to_bits() ^ self.network.to_bits()) & !beyond == 0;
        self.router.is_none() && is_link(self) && is_in
    }
}

impl Lease {
    /// Has it ended?
    pub(super) fn is_over(&self, now: Instant) -> bool {
        self.end.is_some_and(|end| end <= now)
    }
}

/// T1 is not less, unless the whole lease is short.
const LEAST_RENEWAL: Duration = Duration::from_secs(60);

/// T1 and T2: the server's if they are in order, else a half and seven eighths (RFC 2131
/// 4.4.5).
fn times(t1: Option<u32>, t2: Option<u32>, whole: Duration) -> (Duration, Duration) {
    // RFC 2131 4.4.5/1
    let told = |t: Option<u32>, usual| t.map_or(usual, |t| Duration::from_secs(t.into()));
    let usual = (whole / 2, whole / 8 * 7);
    let told = (told(t1, usual.0), told(t2, usual.1));
    // A client does not ask all the time because it is told to.
    let least = LEAST_RENEWAL.min(usual.0);
    if told.0 >= least && told.0 < told.1 && told.1 < whole { told } else { usual }
}

/// The prefix of a network of old, by its class.
fn of_class(address: Ipv4Addr) -> u8 {
    match address.octets()[0] {
        0..128 => 8,
        128..192 => 16,
        _ => 24,
    }
}

#[cfg(test)]
mod tests {
    use super::times;
    use std::time::Duration;

    #[test]
    fn a_server_cannot_have_itself_asked_all_the_time() {
        let (day, seconds) = (Duration::from_secs(86_400), Duration::from_secs);
        assert_eq!(times(Some(0), None, day), (day / 2, day / 8 * 7));
        assert_eq!(times(Some(59), Some(60), day), (day / 2, day / 8 * 7));
        assert_eq!(times(Some(60), Some(61), day), (seconds(60), seconds(61)));
        assert_eq!(times(Some(5), Some(8), seconds(10)), (seconds(5), seconds(8)));
    }
}
