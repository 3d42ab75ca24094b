//! [`Discovered`]: what changes of the host by itself; with `serve --slaac`, what routers on the link say.

use crate::say::tell;
use anabranch::Stack;
use anabranch::dhcp::Dhcp6;
use anabranch::host::{Event, Events, Host};
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::time::Duration;

/// Tells what has changed of a card, what comes of routers' words, and asks the DHCPv6 server that they speak of.
pub(super) struct Discovered {
    stack: Stack,
    /// Are routers listened to?
    slaac: bool,
    host: Host,
    events: Events,
    /// Who asks, once routers have said that there is a server.
    dhcp6: RefCell<Option<Dhcp6>>,
    /// It has told its servers for names, or cannot be asked.
    has_told: Cell<bool>,
    has_told_managed: Cell<bool>,
}

impl Discovered {
    /// With what has changed since the stack's start.
    pub(super) fn new(stack: &Stack, events: Events, slaac: bool) -> Discovered {
        let host = stack.host();
        let (dhcp6, has_told, has_told_managed) = Default::default();
        Discovered { stack: stack.clone(), slaac, host, events, dhcp6, has_told, has_told_managed }
    }

    /// Waits until something changes, and tells it on standard error with all that has changed meanwhile. If
    /// it is given up, nothing is lost.
    pub(super) async fn listen(&self) {
        match self.events.changed().await {
            Some(event) => self.say(&event),
            // It has stopped.
            None => std::future::pending().await,
        }
        self.tell();
    }

    fn say(&self, event: &Event) {
        if let Event::Queues(interface, queues) = event {
            let name = &self.host.interfaces()[*interface].name;
            tell(format_args!(
                "anabranch: `{name}` has {queues} receive queues now: what comes up on one that it did not have at \
                 the start is not seen: start the server again, or spread frames by `ethtool -X {name}`"
            ));
        }
        if !self.slaac {
            return;
        }
        if let Some(sentence) = sentence(event, &self.host) {
            tell(format_args!("anabranch: slaac: {sentence}"));
        }
    }

    /// Tells on standard error what has happened since the last time.
    pub(super) fn tell(&self) {
        while let Some(event) = self.events.next(Duration::ZERO) {
            self.say(&event);
        }
        if !self.slaac {
            return;
        }
        let flags = self.host.dhcp6_flags(0);
        if flags.managed && !self.has_told_managed.replace(true) {
            tell(format_args!(
                "anabranch: slaac: a router says that addresses are to be had by DHCPv6, which are \
                 not asked for: give --add-address where no network forms addresses"
            ));
        }
        if (flags.managed || flags.other) && !self.has_told.get() {
            self.ask();
        }
    }

    /// Asks by DHCPv6, and tells what has been answered.
    fn ask(&self) {
        let mut dhcp6 = self.dhcp6.borrow_mut();
        if dhcp6.is_none() {
            match Dhcp6::start(&self.stack, 0) {
                Ok(started) => *dhcp6 = Some(started),
                Err(error) => {
                    self.has_told.set(true);
                    return tell(format_args!(
                        "anabranch: slaac: no DHCPv6 server is asked: {error}"
                    ));
                }
            }
        }
        let told = dhcp6.as_ref().and_then(|asking| asking.wait(Duration::ZERO));
        if let Some(servers) = told {
            self.has_told.set(true);
            let all = list(servers);
            tell(format_args!("anabranch: slaac: a DHCPv6 server names servers for names: {all}"));
        }
    }
}

fn list(all: impl IntoIterator<Item: ToString>) -> String {
    let all: Vec<_> = all.into_iter().map(|one| one.to_string()).collect();
    if all.is_empty() { "none".into() } else { all.join(", ") }
}

/// An event, for people; `None` if there is nothing to say, or --dhcp says it.
fn sentence(event: &Event, host: &Host) -> Option<String> {
    Some(match event {
        Event::AddressAdded(_, cidr) if cidr.address().is_ipv6() => {
            format!("has {}", cidr.address())
        }
        Event::AddressRemoved(_, cidr) if cidr.address().is_ipv6() => {
            format!("{} is over", cidr.address())
        }
        Event::Deprecated(address, true) => format!("{address} is not for new connections"),
        Event::Deprecated(address, false) => format!("{address} is for new connections again"),
        Event::RouteAdded(route) if route.gateway().is_ipv6() => format!("{route}"),
        Event::RouteRemoved(route) if route.gateway().is_ipv6() => format!("{route} is gone"),
        Event::Duplicate(_, address) => format!("{address} is another station's: not used"),
        Event::Mtu(_, mtu) => format!("the link carries {mtu} bytes of IPv6"),
        Event::DnsServers => {
            let address = |server: &SocketAddr| server.ip();
            format!("servers for names: {}", list(host.dns_servers().iter().map(address)))
        }
        _ => return None,
    })
}
