//! [`Leased`]: `serve --dhcp`, an address from a server.

use crate::failure::Failure;
use crate::say::tell;
use anabranch::dhcp::{Dhcp, Event, Lease, Lost, Route};
use anabranch::{Cidr, Stack};
use std::time::{Duration, Instant};

/// After this time without an address the user is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// The DHCP client of the server's stack. Dropping it gives the address back.
pub(super) struct Leased {
    dhcp: Dhcp,
    device: String,
}

impl Leased {
    /// Starts it.
    ///
    /// # Errors
    /// If the device has no Ethernet addresses.
    pub(super) fn start(stack: &Stack, device: &str) -> Result<Leased, Failure> {
        let dhcp = Dhcp::start(stack, 0).map_err(|e| Failure::refused(format!("--dhcp: {e}")))?;
        Ok(Leased { dhcp, device: device.to_owned() })
    }

    /// Waits for the first address, and tells what happens meanwhile.
    pub(super) async fn wait(&self) {
        let mut told = Some(Instant::now() + PATIENCE);
        while self.address().is_none() {
            self.tell();
            if told.is_some_and(|at| Instant::now() >= at) {
                told = None;
                tell(format_args!(
                    "anabranch: dhcp: no server has given an address on {} for {} s, asking on: \
                     start a server there, or give --address",
                    self.device,
                    PATIENCE.as_secs()
                ));
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.tell();
    }

    /// What the stack has just now.
    pub(super) fn address(&self) -> Option<Cidr> {
        let lease = self.dhcp.lease()?;
        Cidr::new(lease.address, lease.prefix).ok()
    }

    /// Tells on standard error what has happened since the last time.
    pub(super) fn tell(&self) {
        while let Some(event) = self.dhcp.next(Duration::ZERO) {
            tell(format_args!("anabranch: dhcp: {}", sentence(&event)));
        }
    }
}

/// An event, for people.
fn sentence(event: &Event) -> String {
    match event {
        Event::Check(address) => format!("{address} is offered; asking whether it is in use"),
        Event::Acquired(lease) => format!("has {}", lease_of(lease)),
        Event::Renewed(lease) => format!("keeps {}", lease_of(lease)),
        Event::Declined(address) => {
            format!("{address} is in use by another host: declined, asking anew in 10 s")
        }
        Event::Lost(address, why) => match why {
            Lost::Expired => {
                format!("{address} is over, and no server gave more time: asking anew")
            }
            Lost::Refused => format!("{address} was taken back by the server: asking anew"),
            Lost::Conflict => format!("{address} was lost to another host that insists on it"),
            Lost::Released => format!("{address} is given back"),
        },
    }
}

fn way(route: &Route) -> String {
    let Route { network, prefix, router } = route;
    match router {
        Some(router) => format!("{network}/{prefix} via {router}"),
        None => format!("{network}/{prefix} on the link"),
    }
}

fn lease_of(lease: &Lease) -> String {
    let list = |addresses: &[std::net::Ipv4Addr]| match addresses {
        [] => "none".to_owned(),
        all => all.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "),
    };
    let time = match lease.length {
        Some(length) => format!("for {} s", length.as_secs()),
        None => "for ever".to_owned(),
    };
    let Lease { address, prefix, server, .. } = lease;
    let dns = list(&lease.dns);
    let ways = match &lease.routes[..] {
        [] => format!("routers: {}", list(&lease.routers)),
        routes => format!("routes: {}", routes.iter().map(way).collect::<Vec<_>>().join(", ")),
    };
    format!("{address}/{prefix} of {server} {time}, {ways}, servers for names: {dns}")
}
