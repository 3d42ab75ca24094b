//! The groups by which neighbours ask for the host's addresses of IPv6. A switch that looks at
//! what is told of groups carries their questions to members only, and those who do not tell
//! that they are members are reached by nobody.

use crate::Config;
use std::collections::BTreeSet;
use wire::{Address, Instant, Packet, ipv6};

impl Config {
    /// The messages that are due of what the host finds out about its links, as [`crate::Discovery`]
    /// has them. It joins the group of an address before it asks whether another has that.
    #[inline]
    pub(crate) fn ask(&self, now: Instant, packets: &mut Vec<Packet>) {
        if self.discovery.next_timeout().is_some_and(|at| at <= now) {
            self.ask_now(now, packets);
        }
    }

    #[cold]
    fn ask_now(&self, now: Instant, packets: &mut Vec<Packet>) {
        // RFC 4862 5.4.2/2
        let mut questions = Vec::new();
        self.discovery.due(now, self, &mut questions);
        self.join_solicited();
        self.groups.due(now, |index| self.via(index), packets);
        packets.append(&mut questions);
    }

    /// Makes the host a member of the group of each address that it has on a link with neighbours,
    /// or checks there, and of no other for that reason. A report is due at once if that changes
    /// anything.
    pub(crate) fn join_solicited(&self) {
        // RFC 4861 7.2.1/1
        // What is checked first: an address that has been by then is in the configuration.
        let mut groups = BTreeSet::new();
        if self.discovery.is_checking() {
            for index in 0..self.interfaces.len() as u16 {
                let tentative = self.discovery.tentative_on(index).into_iter();
                groups.extend(tentative.map(|a| (index, ipv6::solicited_node(a).into())));
            }
        }
        match self.host.current() {
            Some(current) => current.add_solicited(&mut groups),
            None => self.add_solicited(&mut groups),
        }
        self.groups.answer_by(&groups);
    }

    fn add_solicited(&self, groups: &mut BTreeSet<(u16, Address)>) {
        let links = self.interfaces.iter().enumerate().filter(|(_, of)| of.is_ethernet);
        for (index, interface) in links {
            let ours = interface.addresses.iter().filter_map(|(a, _)| a.v6());
            groups.extend(ours.map(|a| (index as u16, ipv6::solicited_node(a).into())));
        }
    }
}

#[cfg(test)]
mod tests;
