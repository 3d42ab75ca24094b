//! Is an address ours alone (RFC 4862 5.4)? It is asked for once, by nobody in particular; who
//! has it, or wants it, says so within a second. A nonce shows our own questions when they
//! come back to us (RFC 7527).

use super::message;
use super::table::{Check, Kind, Table};
use super::{Change, Dad};
use std::net::Ipv6Addr;
use wire::time::Duration;
use wire::{Instant, Packet};

/// How often an address is asked for (RFC 4862 5.1: `DupAddrDetectTransmits`).
const TRANSMITS: u8 = 1;
/// How often more, once a question has come back (RFC 7527 4.1: `MAX_MULTICAST_SOLICIT`).
const AFTER_LOOP: u8 = 3;
/// How long an answer takes at most (RFC 4861 10: `RETRANS_TIMER`).
pub(super) const RETRANSMIT: Duration = Duration::from_secs(1);

impl Table {
    pub(super) fn check_given(&mut self, interface: u16, address: Ipv6Addr, prefix: u8) {
        // Time zero is over: as soon as somebody looks.
        self.check(interface, (address, prefix, false), Instant::ZERO);
    }

    /// Begins to check an address at a time.
    pub(super) fn check(
        &mut self,
        interface: u16,
        (address, prefix, temporary): (Ipv6Addr, u8, bool),
        at: Instant,
    ) {
        // RFC 4862 5.4/1
        if !self.has_room_to_check(interface) {
            return self.turned_away.addresses += 1;
        }
        let nonce = self.chance.nonce();
        let Some(state) = self.state(interface) else { return };
        state.checks.retain(|check| check.address != address);
        state.checks.push(Check { address, prefix, temporary, left: TRANSMITS, at, nonce });
    }

    pub(super) fn forget(&mut self, address: Ipv6Addr) {
        for state in &mut self.states {
            state.link.given.retain(|given| *given != address);
            state.checks.retain(|check| check.address != address);
            state.formed.retain(|formed| formed.address != address);
        }
    }

    /// Asks what is to be asked, and believes silence.
    pub(super) fn due_checks(&mut self, now: Instant, packets: &mut Vec<Packet>) {
        for state in &mut self.states {
            let index = state.index;
            for check in state.checks.iter_mut().filter(|check| check.at <= now && check.left > 0) {
                packets.push(message::probe(index, check.address, check.nonce));
                check.left -= 1;
                // What is said from now on has had a second.
                check.at = now + RETRANSMIT;
            }
            let is_strict = state.link.dad == Dad::Strict;
            for check in state.checks.iter().filter(|check| check.at <= now) {
                if is_strict {
                    self.changes.push(Change::Add {
                        interface: index,
                        address: check.address,
                        prefix: check.prefix,
                        temporary: check.temporary,
                        optimistic: false,
                    });
                }
                self.changes.push(Change::Verified(index, check.address));
            }
            state.checks.retain(|check| check.at > now);
        }
    }

    pub(super) fn probed(
        &mut self,
        (interface, target): (u16, Ipv6Addr),
        nonce: Option<[u8; 6]>,
        now: Instant,
    ) -> bool {
        // RFC 4862 5.4.3/1
        let Some(state) = self.state(interface) else { return false };
        let check = state.checks.iter_mut().find(|check| check.address == target);
        match check {
            None => false,
            Some(check) if nonce == Some(check.nonce) => {
                check.left = AFTER_LOOP;
                true
            }
            Some(_) => self.claimed((interface, target), now),
        }
    }

    /// Another station has `target`.
    pub(super) fn claimed(&mut self, (interface, target): (u16, Ipv6Addr), now: Instant) -> bool {
        // RFC 4862 5.4.4/1
        let Some(state) = self.state(interface) else { return false };
        let before = state.checks.len();
        state.checks.retain(|check| check.address != target);
        if state.checks.len() == before {
            return false;
        }
        state.link.given.retain(|given| *given != target);
        let formed = state.formed.iter().position(|formed| formed.address == target);
        let formed = formed.map(|at| state.formed.remove(at));
        self.changes.push(Change::Duplicate(interface, target));
        if let Some(formed) = formed {
            self.form_another(interface, formed, now);
        }
        true
    }

    /// How long a check of an address waits that many hosts form at the same time, because a
    /// router has just told all of them (RFC 4862 5.4.2). Where addresses are used at once,
    /// nothing is won by it.
    pub(super) fn delay(&mut self, interface: u16, kind: Kind) -> Duration {
        // RFC 4862 5.4.2/1
        match self.dad(interface) {
            Dad::Strict if kind != Kind::Local => self.chance.up_to(RETRANSMIT),
            _ => Duration::ZERO,
        }
    }
}
