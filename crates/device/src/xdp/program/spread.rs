//! Which socket of its queue a frame goes to: the hash of [`Steering`] in eBPF.
//!
//! It gives the hash for unfragmented TCP and UDP, over IPv4 or over IPv6 without extension
//! headers, else 0: the socket that [`Steering::frame`] means, except for ICMP errors and what
//! stands behind extension headers, which software passes on.

use super::{
    ADD_IMM, AND_32_IMM, Assembler, JUMP, JUMP_ABOVE, JUMP_EQUAL_32_IMM, JUMP_NOT_32_IMM,
    LOAD_HALF, LOAD_IMM64, LOAD_WORD, MOVE, MOVE_IMM, Place, QUEUE, Spread,
};
use wire::ethernet::{LEN, ethertype};
use wire::steering::Steering;
use wire::{ipv4, ipv6, protocol};

// Codes (RFC 9669).
pub(super) const LOAD_BYTE: u8 = 0x71;
pub(super) const ADD: u8 = 0x0f;
pub(super) const OR: u8 = 0x4f;
pub(super) const XOR: u8 = 0xaf;
pub(super) const MULTIPLY: u8 = 0x2f;
pub(super) const SHIFT_LEFT_IMM: u8 = 0x67;
pub(super) const SHIFT_RIGHT_IMM: u8 = 0x77;
/// Of 32 bits, so no sign comes in.
pub(super) const MULTIPLY_32_IMM: u8 = 0x24;
pub(super) const MODULO_32_IMM: u8 = 0x94;
pub(super) const ADD_32: u8 = 0x0c;
pub(super) const JUMP_BELOW_32_IMM: u8 = 0xa6;
/// From the network's order, or into it.
pub(super) const BIG_ENDIAN: u8 = 0xdc;

/// Bytes of both ports.
const PORTS: usize = 4;

/// Leaves in r2 the place of the frame's socket in the map.
pub(super) fn index(a: &mut Assembler, spread: Spread) {
    let kind = |kind: u16| u32::from(kind.to_be());
    a.bounds();
    // r6: the hash.
    a.put(MOVE_IMM, 6, 0, 0, 0);
    a.need(LEN + ipv4::LEN, Place::Spread);
    a.put(LOAD_HALF, 5, 2, 12, 0);
    a.jump(JUMP_EQUAL_32_IMM, 5, 0, kind(ethertype::IPV6), Place::FlowV6);
    a.jump(JUMP_NOT_32_IMM, 5, 0, kind(ethertype::IPV4), Place::Spread);
    addresses_v4(a);
    a.jump(JUMP, 0, 0, 0, Place::Ports);
    a.place(Place::FlowV6);
    addresses_v6(a, spread.steering);
    a.place(Place::Ports);
    hash(a, spread.steering);
    a.place(Place::Spread);
    a.put(MODULO_32_IMM, 6, 0, 0, spread.members);
    a.put(LOAD_WORD, 2, 9, QUEUE, 0);
    a.put(MULTIPLY_32_IMM, 2, 0, 0, spread.members);
    a.put(ADD_32, 2, 6, 0, 0);
}

/// Goes on only where the byte at `at` says TCP or UDP.
fn has_ports(a: &mut Assembler, at: usize) {
    a.put(LOAD_BYTE, 1, 2, at, 0);
    a.put(JUMP_EQUAL_32_IMM, 1, 0, 1, protocol::TCP.into());
    a.jump(JUMP_NOT_32_IMM, 1, 0, protocol::UDP.into(), Place::Spread);
}

/// Loads eight bytes at `at` into register `to`, and spoils r5.
fn load_pair(a: &mut Assembler, to: u8, at: usize) {
    a.put(LOAD_WORD, to, 2, at, 0);
    a.put(BIG_ENDIAN, to, 0, 0, 32);
    a.put(SHIFT_LEFT_IMM, to, 0, 0, 32);
    a.put(LOAD_WORD, 5, 2, at + 4, 0);
    a.put(BIG_ENDIAN, 5, 0, 0, 32);
    a.put(OR, to, 5, 0, 0);
}

fn load_imm64(a: &mut Assembler, to: u8, value: u64) {
    a.put(LOAD_IMM64, to, 0, 0, value as u32);
    a.put(0, 0, 0, 0, (value >> 32) as u32);
}

/// Leaves the addresses of an IPv4 header in r8, and its bytes in r7.
fn addresses_v4(a: &mut Assembler) {
    has_ports(a, LEN + 9);
    // A fragment has an offset or More Fragments.
    a.put(LOAD_HALF, 1, 2, LEN + 6, 0);
    a.put(AND_32_IMM, 1, 0, 0, u32::from(0x3fff_u16.to_be()));
    a.jump(JUMP_NOT_32_IMM, 1, 0, 0, Place::Spread);
    a.put(LOAD_BYTE, 7, 2, LEN, 0);
    a.put(AND_32_IMM, 7, 0, 0, 0x0f);
    a.put(SHIFT_LEFT_IMM, 7, 0, 0, 2);
    a.jump(JUMP_BELOW_32_IMM, 7, 0, ipv4::LEN as u32, Place::Spread);
    load_pair(a, 8, LEN + 12);
}

/// Leaves the mixed addresses of an IPv6 header in r8, and its bytes in r7.
fn addresses_v6(a: &mut Assembler, steering: Steering) {
    a.need(LEN + ipv6::LEN, Place::Spread);
    has_ports(a, LEN + ipv6::extension::NEXT_HEADER);
    load_imm64(a, 1, steering.whole);
    a.put(MOVE_IMM, 8, 0, 0, 0);
    for at in (LEN + 8..LEN + ipv6::LEN).step_by(8) {
        load_pair(a, 4, at);
        a.put(XOR, 8, 4, 0, 0);
        a.put(MULTIPLY, 8, 1, 0, 0);
        fold(a, 8);
    }
    a.put(MOVE_IMM, 7, 0, 0, ipv6::LEN as u32);
}

/// Mixes the upper half of a register into the lower one, and spoils r4.
fn fold(a: &mut Assembler, register: u8) {
    a.put(MOVE, 4, register, 0, 0);
    a.put(SHIFT_RIGHT_IMM, 4, 0, 0, 32);
    a.put(XOR, register, 4, 0, 0);
}

/// Leaves the hash of the addresses in r8 and the ports behind the header in r6.
fn hash(a: &mut Assembler, steering: Steering) {
    a.put(MOVE, 4, 2, 0, 0);
    a.put(ADD, 4, 7, 0, 0);
    a.put(MOVE, 5, 4, 0, 0);
    a.put(ADD_IMM, 5, 0, 0, (LEN + PORTS) as u32);
    a.jump(JUMP_ABOVE, 5, 3, 0, Place::Spread);
    a.put(LOAD_WORD, 6, 4, LEN, 0);
    a.put(BIG_ENDIAN, 6, 0, 0, 32);
    load_imm64(a, 1, steering.ports);
    load_imm64(a, 2, steering.whole);
    a.put(MULTIPLY, 6, 1, 0, 0);
    a.put(XOR, 6, 8, 0, 0);
    a.put(MULTIPLY, 6, 2, 0, 0);
    fold(a, 6);
    a.put(MULTIPLY, 6, 1, 0, 0);
    a.put(SHIFT_RIGHT_IMM, 6, 0, 0, 32);
}
