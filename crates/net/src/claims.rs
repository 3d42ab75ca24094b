//! [`Claims`]: addresses of IPv4 that the host would like to have, or has for as long as nobody
//! else says that they are his (RFC 5227).
//!
//! All units share it. Only ARP looks at it, and who sends datagrams for a socket, by a load.

use platform::Mutex;
use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::arp::{self, Message, Operation};
use wire::{EthernetAddress, Packet, protocol};

/// The most addresses that are watched at once.
pub const MAX_CLAIMS: usize = 64;

/// An address that is watched.
#[derive(Debug)]
struct Claim {
    interface: u16,
    address: Ipv4Addr,
    /// Who else has it.
    taken: Option<EthernetAddress>,
}

#[derive(Debug, Default)]
struct State {
    claims: Vec<Claim>,
    /// What is to be said, by which interface.
    waiting: Vec<(u16, Message)>,
}

impl State {
    fn claim(&mut self, interface: u16, address: Ipv4Addr) -> Option<&mut Claim> {
        self.claims.iter_mut().find(|c| (c.interface, c.address) == (interface, address))
    }
}

/// Addresses that are watched, and what is to be said of them.
#[derive(Debug, Default)]
pub struct Claims {
    /// Is any watched?
    any: AtomicBool,
    /// Is anything to be said?
    waits: AtomicBool,
    state: Mutex<State>,
}

impl Claims {
    /// Listens from now on for others who have `address` on this interface, or want it. Says
    /// whether it does: not beyond [`MAX_CLAIMS`].
    pub fn watch(&self, interface: u16, address: Ipv4Addr) -> bool {
        let mut state = self.state.lock();
        if let Some(claim) = state.claim(interface, address) {
            claim.taken = None;
        } else if state.claims.len() < MAX_CLAIMS {
            state.claims.push(Claim { interface, address, taken: None });
        } else {
            return false;
        }
        self.any.store(true, Ordering::Relaxed);
        true
    }

    /// Listens no longer.
    pub fn forget(&self, interface: u16, address: Ipv4Addr) {
        let mut state = self.state.lock();
        state.claims.retain(|c| (c.interface, c.address) != (interface, address));
        self.any.store(!state.claims.is_empty(), Ordering::Relaxed);
    }

    /// Who else has a watched address, or wants it: of one that is ours already, who has said
    /// so twice within ten seconds, although we defended it (RFC 5227 2.4 b).
    pub fn taken(&self, interface: u16, address: Ipv4Addr) -> Option<EthernetAddress> {
        self.state.lock().claim(interface, address)?.taken
    }

    /// Asks all on the link who has `address` (RFC 5227 2.1.1: an ARP probe), as the station
    /// `ours`. It goes when a unit next sends for a socket ([`crate::Call::FlushUdp`]). The
    /// interface must have Ethernet.
    pub fn probe(&self, interface: u16, ours: EthernetAddress, address: Ipv4Addr) {
        self.say(interface, ours, Ipv4Addr::UNSPECIFIED, address);
    }

    /// Tells all on the link that the station `ours` has `address` now (RFC 5227 2.3: an ARP
    /// announcement), as [`Claims::probe`].
    pub fn announce(&self, interface: u16, ours: EthernetAddress, address: Ipv4Addr) {
        self.say(interface, ours, address, address);
    }

    fn say(&self, interface: u16, sender: EthernetAddress, sender_ip: Ipv4Addr, of: Ipv4Addr) {
        let target = EthernetAddress::default();
        let operation = Operation::Request;
        let message = Message { operation, sender, sender_ip, target, target_ip: of };
        let mut state = self.state.lock();
        if state.waiting.len() < MAX_CLAIMS {
            state.waiting.push((interface, message));
            self.waits.store(true, Ordering::Relaxed);
        }
    }

    /// What is to be said: whole messages, for [`crate::ip::output()`].
    #[inline]
    pub(crate) fn due(&self, packets: &mut Vec<Packet>) {
        if self.waits.load(Ordering::Relaxed) {
            self.take(packets);
        }
    }

    #[cold]
    fn take(&self, packets: &mut Vec<Packet>) {
        let mut state = self.state.lock();
        self.waits.store(false, Ordering::Relaxed);
        packets.extend(state.waiting.drain(..).map(|(interface, message)| {
            let mut packet = Packet::new();
            message.emit(packet.push(arp::LEN));
            let meta = packet.meta_mut();
            meta.interface = interface;
            meta.protocol = protocol::WHOLE_ARP;
            // It says to IP that the interface is chosen.
            meta.group = true;
            meta.next_hop = Ipv4Addr::BROADCAST.into();
            packet
        }));
    }

    /// Takes what was said on a link where our station is `ours`, of an address that is not ours.
    #[inline]
    pub(crate) fn heard(&self, interface: u16, ours: EthernetAddress, message: &Message) {
        if self.any.load(Ordering::Relaxed) && message.sender != ours {
            self.look(interface, message);
        }
    }

    #[cold]
    fn look(&self, interface: u16, message: &Message) {
        //= RFC 5227 2.1.1: who has it, or asks for it as we do
        let wants = message.sender_ip.is_unspecified() && message.operation == Operation::Request;
        let address = if wants { message.target_ip } else { message.sender_ip };
        self.lost(interface, address, message.sender);
    }

    /// The station `to` has an address that may be watched.
    pub(crate) fn lost(&self, interface: u16, address: Ipv4Addr, to: EthernetAddress) {
        if let Some(claim) = self.state.lock().claim(interface, address) {
            claim.taken = Some(to);
        }
    }
}

#[cfg(test)]
mod tests;
