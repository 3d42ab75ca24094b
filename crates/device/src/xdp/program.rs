//! The XDP program: which frames go to the stack, and to which of its processors. The kernel
//! keeps all others.

mod spread;

use super::Take;
use crate::bpf::{Instruction, op};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::ethernet::{LEN, ethertype};
use wire::steering::Steering;
use wire::{ipv4, ipv6};

// Codes (RFC 9669); the comparisons with 32 do not extend the sign of the immediate.
pub(super) const LOAD_HALF: u8 = 0x69;
pub(super) const LOAD_WORD: u8 = 0x61;
pub(super) const LOAD_IMM64: u8 = 0x18;
pub(super) const MOVE: u8 = 0xbf;
pub(super) const MOVE_IMM: u8 = 0xb7;
pub(super) const ADD_IMM: u8 = 0x07;
pub(super) const AND_32_IMM: u8 = 0x54;
pub(super) const JUMP_ABOVE: u8 = 0x2d;
pub(super) const JUMP_EQUAL_32_IMM: u8 = 0x16;
pub(super) const JUMP_NOT_32_IMM: u8 = 0x56;
pub(super) const JUMP: u8 = 0x05;
pub(super) const CALL: u8 = 0x85;
pub(super) const EXIT: u8 = 0x95;

/// Where the context has the queue that the frame arrived on.
const QUEUE: usize = 16;
/// The kernel goes on with the frame.
pub(super) const XDP_PASS: u32 = 2;
/// `bpf_redirect_map`.
pub(super) const REDIRECT_MAP: u32 = 51;

/// Bytes of ARP for Ethernet and IPv4 (RFC 826), the last four of which are whom it asks.
const ARP: usize = 28;

/// The prefix of solicited-node groups (RFC 4291 2.7.1), of 104 bits.
const SOLICITED: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00, 0);

/// Places that are jumped to before it is known where they are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Pass,
    Take,
    Arp,
    V6,
    /// The address of IPv4 stands in r7.
    Compare,
    /// The next comparison.
    Next(usize),
    /// The hash of a flow of IPv6.
    FlowV6,
    /// The addresses stand in r8, the bytes of the IP header in r7.
    Ports,
    /// The hash stands in r6.
    Spread,
}

/// A program that is being written.
#[derive(Default)]
struct Assembler {
    program: Vec<Instruction>,
    jumps: Vec<(usize, Place)>,
    places: Vec<(Place, usize)>,
}

impl Assembler {
    fn put(&mut self, code: u8, dst: u8, src: u8, offset: usize, imm: u32) {
        self.program.push(op(code, dst, src, offset as i16, imm));
    }

    fn jump(&mut self, code: u8, dst: u8, src: u8, imm: u32, to: Place) {
        self.jumps.push((self.program.len(), to));
        self.put(code, dst, src, 0, imm);
    }

    fn place(&mut self, place: Place) {
        self.places.push((place, self.program.len()));
    }

    /// Goes on with a frame of at least `len` bytes, whose start is in r2 and whose end is in
    /// r3; else at `or`.
    fn need(&mut self, len: usize, or: Place) {
        self.put(MOVE, 4, 2, 0, 0);
        self.put(ADD_IMM, 4, 0, 0, len as u32);
        self.jump(JUMP_ABOVE, 4, 3, 0, or);
    }

    /// Loads the start of the frame into r2 and its end into r3, from the context in r9.
    fn bounds(&mut self) {
        self.put(LOAD_WORD, 2, 9, 0, 0);
        self.put(LOAD_WORD, 3, 9, 4, 0);
    }

    /// Takes what has in registers `from`, … these words after it was masked so; else goes
    /// on at `next`.
    fn compare(&mut self, from: u8, words: &[(u32, u32)], next: usize) {
        for (register, &(word, mask)) in (from..).zip(words) {
            if mask != 0 {
                self.put(MOVE, 1, register, 0, 0);
                self.put(AND_32_IMM, 1, 0, 0, mask);
                self.jump(JUMP_NOT_32_IMM, 1, 0, word & mask, Place::Next(next));
            }
        }
        // Conditional in form only: the verifier refuses what nothing leads to, as
        // comparisons behind a prefix of no bits would be.
        self.put(MOVE_IMM, 1, 0, 0, 0);
        self.jump(JUMP_EQUAL_32_IMM, 1, 0, 0, Place::Take);
        self.place(Place::Next(next));
    }

    fn finish(mut self) -> Vec<Instruction> {
        for (at, to) in self.jumps {
            let place = self.places.iter().find(|(place, _)| *place == to);
            let (_, index) = place.expect("every place that is jumped to is there");
            let offset = (*index as isize - at as isize - 1) as i16;
            self.program[at][2..4].copy_from_slice(&offset.to_ne_bytes());
        }
        self.program
    }
}

/// Words of these bytes as a program loads them.
fn words(bytes: &[u8]) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(4).map(|b| u32::from_ne_bytes([b[0], b[1], b[2], b[3]]))
}

fn words_v4(address: Ipv4Addr, prefix: u8) -> Vec<(u32, u32)> {
    let mask = u32::MAX.checked_shl(32 - u32::from(prefix.min(32))).unwrap_or(0);
    words(&address.octets()).zip(words(&mask.to_be_bytes())).collect()
}

fn words_v6(address: Ipv6Addr, prefix: u8) -> Vec<(u32, u32)> {
    let mask = u128::MAX.checked_shl(128 - u32::from(prefix.min(128))).unwrap_or(0);
    words(&address.octets()).zip(words(&mask.to_be_bytes())).collect()
}

/// The groups in which neighbours look for addresses of this prefix, as a prefix or,
/// where that is short, with a hole in it.
fn solicited(address: Ipv6Addr, prefix: u8) -> Vec<(u32, u32)> {
    let mut words = words_v6(SOLICITED, 104);
    let [.., last] = words_v6(address, prefix)[..] else { return words };
    let low = u32::from_ne_bytes([0, 0xff, 0xff, 0xff]);
    let (group, mask) = words[3];
    words[3] = (group & mask | last.0 & last.1 & low, mask | last.1 & low);
    words
}

/// Bytes from the start of a frame to IPv4's and IPv6's destination.
const TO_V4: usize = LEN + 16;
const TO_V6: usize = LEN + 24;

/// The part that leaves only frames which are for `prefixes`: they go on at
/// [`Place::Take`].
fn choose(a: &mut Assembler, prefixes: &[(IpAddr, u8)]) {
    a.bounds();
    a.need(LEN + ipv4::LEN, Place::Pass);
    a.put(LOAD_HALF, 5, 2, 12, 0);
    let kind = |kind: u16| u32::from(kind.to_be());
    a.jump(JUMP_EQUAL_32_IMM, 5, 0, kind(ethertype::ARP), Place::Arp);
    a.jump(JUMP_EQUAL_32_IMM, 5, 0, kind(ethertype::IPV6), Place::V6);
    a.jump(JUMP_NOT_32_IMM, 5, 0, kind(ethertype::IPV4), Place::Pass);
    a.put(LOAD_WORD, 7, 2, TO_V4, 0);
    a.jump(JUMP, 0, 0, 0, Place::Compare);
    a.place(Place::Arp);
    a.need(LEN + ARP, Place::Pass);
    a.put(LOAD_WORD, 7, 2, LEN + ARP - 4, 0);
    a.place(Place::Compare);
    for (index, &(address, prefix)) in prefixes.iter().enumerate() {
        if let IpAddr::V4(address) = address {
            a.compare(7, &words_v4(address, prefix), 2 * index);
        }
    }
    a.jump(JUMP, 0, 0, 0, Place::Pass);
    a.place(Place::V6);
    a.need(LEN + ipv6::LEN, Place::Pass);
    for (register, at) in (5..9).zip((TO_V6..).step_by(4)) {
        a.put(LOAD_WORD, register, 2, at, 0);
    }
    for (index, &(address, prefix)) in prefixes.iter().enumerate() {
        if let IpAddr::V6(address) = address {
            a.compare(5, &words_v6(address, prefix), 2 * index);
            a.compare(5, &solicited(address, prefix), 2 * index + 1);
        }
    }
    a.jump(JUMP, 0, 0, 0, Place::Pass);
}

/// How frames are spread over the sockets of the queue that they arrive on.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    /// The hash of flows.
    pub(super) steering: Steering,
    /// Sockets of a queue, one for each processor. The map has them one after the other, queue
    /// after queue.
    pub(super) members: u32,
}

/// The program that takes such frames, to the sockets in `map`: to the first of the frame's
/// queue, or to the one that the frame's flow belongs to.
pub(super) fn program(take: &Take, map: u32, spread: Option<Spread>) -> Vec<Instruction> {
    /// The source register of a 64-bit immediate that is a map's descriptor.
    const MAP_FD: u8 = 1;
    let mut a = Assembler::default();
    // r9: the context.
    a.put(MOVE, 9, 1, 0, 0);
    match take {
        Take::All => {}
        // What nothing leads to is refused.
        Take::Prefixes(prefixes) if prefixes.is_empty() => return passing(a),
        Take::Prefixes(prefixes) => choose(&mut a, prefixes),
    }
    a.place(Place::Take);
    match spread {
        Some(spread) => spread::index(&mut a, spread),
        None => a.put(LOAD_WORD, 2, 9, QUEUE, 0),
    }
    // Where no socket is on the frame's queue, the kernel keeps it.
    a.put(LOAD_IMM64, 1, MAP_FD, 0, map);
    a.put(0, 0, 0, 0, 0);
    a.put(MOVE_IMM, 3, 0, 0, XDP_PASS);
    a.put(CALL, 0, 0, 0, REDIRECT_MAP);
    a.put(EXIT, 0, 0, 0, 0);
    passing(a)
}

/// The end of a program: what comes there is the kernel's.
fn passing(mut a: Assembler) -> Vec<Instruction> {
    a.place(Place::Pass);
    a.put(MOVE_IMM, 0, 0, 0, XDP_PASS);
    a.put(EXIT, 0, 0, 0, 0);
    a.finish()
}

#[cfg(test)]
mod tests;
