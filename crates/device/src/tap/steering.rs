//! The packet filter that chooses a TAP or TUN device's receive queue: the hash of
//! [`Steering`], as an eBPF program that the kernel runs for each frame.
//!
//! The program gives the hash for unfragmented TCP and UDP without a VLAN tag, over
//! IPv4 or over IPv6 without extension headers, else 0; the kernel takes it modulo the
//! number of queues. That is the queue which [`Steering::frame`] means, except for ICMP
//! errors, whose flow it does not look for: software passes those on.

use crate::Medium;
use crate::bpf::{self, Instruction, op};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use wire::protocol;
use wire::steering::Steering;

// Codes (RFC 9669). The loads put what they read, in host order, into r0, want
// the context in r6, spoil r1 to r5, and end the program with 0 if the frame is
// too short.
const LOAD_BYTE: u8 = 0x30;
const LOAD_HALF: u8 = 0x28;
const LOAD_WORD: u8 = 0x20;
const LOAD_WORD_AT: u8 = 0x40;
const LOAD_IMM64: u8 = 0x18;
const MOVE: u8 = 0xbf;
const MOVE_IMM: u8 = 0xb7;
const MOVE_32: u8 = 0xbc;
const AND_IMM: u8 = 0x57;
const SHIFT_LEFT_IMM: u8 = 0x67;
const SHIFT_RIGHT_IMM: u8 = 0x77;
const OR: u8 = 0x4f;
const XOR: u8 = 0xaf;
const MULTIPLY: u8 = 0x2f;
const JUMP_EQUAL_IMM: u8 = 0x15;
const JUMP_NOT_IMM: u8 = 0x55;
const JUMP_BELOW_IMM: u8 = 0xa5;
const JUMP: u8 = 0x05;
const EXIT: u8 = 0x95;

fn imm64(dst: u8, value: u64) -> [Instruction; 2] {
    [op(LOAD_IMM64, dst, 0, 0, value as u32), op(0, 0, 0, 0, (value >> 32) as u32)]
}

/// Where the IP header starts, the instructions that leave in r0 which family it is of, and
/// what stands there for IPv4 and IPv6.
fn network_header(medium: Medium) -> (u32, Vec<Instruction>, [u32; 2]) {
    use wire::ethernet::{LEN, ethertype};
    match medium {
        Medium::Ethernet => {
            let families = [ethertype::IPV4, ethertype::IPV6].map(u32::from);
            (LEN as u32, vec![op(LOAD_HALF, 0, 0, 0, 12)], families)
        }
        Medium::Ip => {
            let version = vec![op(LOAD_BYTE, 0, 0, 0, 0), op(AND_IMM, 0, 0, 0, 0xf0)];
            (0, version, [0x40, 0x60])
        }
    }
}

/// The part for an IPv6 header at `start`: leaves the mixed addresses in r8 and the bytes of
/// the header in r7.
fn addresses_v6(start: u32, steering: &Steering) -> Vec<Instruction> {
    let [whole_low, whole_high] = imm64(7, steering.whole);
    let mut part = vec![
        op(LOAD_BYTE, 0, 0, 0, start + wire::ipv6::extension::NEXT_HEADER as u32),
        op(JUMP_EQUAL_IMM, 0, 0, 1, u32::from(protocol::TCP)),
        op(JUMP_NOT_IMM, 0, 0, 0, u32::from(protocol::UDP)),
        whole_low,
        whole_high,
        // r9: what has been mixed.
        op(MOVE_IMM, 9, 0, 0, 0),
    ];
    for at in (start + 8..start + wire::ipv6::LEN as u32).step_by(8) {
        part.extend([
            op(LOAD_WORD, 0, 0, 0, at),
            op(MOVE_32, 8, 0, 0, 0),
            op(SHIFT_LEFT_IMM, 8, 0, 0, 32),
            op(LOAD_WORD, 0, 0, 0, at + 4),
            op(MOVE_32, 0, 0, 0, 0),
            op(OR, 8, 0, 0, 0),
            op(XOR, 9, 8, 0, 0),
            op(MULTIPLY, 9, 7, 0, 0),
            op(MOVE, 8, 9, 0, 0),
            op(SHIFT_RIGHT_IMM, 8, 0, 0, 32),
            op(XOR, 9, 8, 0, 0),
        ]);
    }
    part.extend([op(MOVE, 8, 9, 0, 0), op(MOVE_IMM, 7, 0, 0, wire::ipv6::LEN as u32)]);
    part
}

/// The part for an IPv4 header at `start`: leaves the addresses in r8 and the bytes of the
/// header in r7.
fn addresses_v4(start: u32) -> [Instruction; 17] {
    [
        op(LOAD_BYTE, 0, 0, 0, start + 9),
        op(JUMP_EQUAL_IMM, 0, 0, 1, u32::from(protocol::TCP)),
        op(JUMP_NOT_IMM, 0, 0, 0, u32::from(protocol::UDP)),
        // A fragment has an offset or More Fragments.
        op(LOAD_HALF, 0, 0, 0, start + 6),
        op(AND_IMM, 0, 0, 0, 0x3fff),
        op(JUMP_NOT_IMM, 0, 0, 0, 0),
        // r7: bytes of the IPv4 header.
        op(LOAD_BYTE, 0, 0, 0, start),
        op(MOVE, 7, 0, 0, 0),
        op(AND_IMM, 7, 0, 0, 0x0f),
        op(SHIFT_LEFT_IMM, 7, 0, 0, 2),
        op(JUMP_BELOW_IMM, 7, 0, 0, wire::ipv4::LEN as u32),
        // r8: the addresses.
        op(LOAD_WORD, 0, 0, 0, start + 12),
        op(MOVE_32, 8, 0, 0, 0),
        op(SHIFT_LEFT_IMM, 8, 0, 0, 32),
        op(LOAD_WORD, 0, 0, 0, start + 16),
        op(MOVE_32, 0, 0, 0, 0),
        op(OR, 8, 0, 0, 0),
    ]
}

/// The program for `steering`, on a device that carries `medium`.
fn program(medium: Medium, steering: &Steering) -> Vec<Instruction> {
    let [ports_low, ports_high] = imm64(1, steering.ports);
    let [whole_low, whole_high] = imm64(2, steering.whole);
    let (start, family, [v4, v6]) = network_header(medium);
    let mut program = vec![op(MOVE, 6, 1, 0, 0)];
    program.extend(family);
    let to_v6 = program.len();
    program.extend([op(JUMP_EQUAL_IMM, 0, 0, 0, v6), op(JUMP_NOT_IMM, 0, 0, 0, v4)]);
    program.extend(addresses_v4(start));
    let ports = program.len();
    program.extend([
        // r0: the ports, then the hash.
        op(LOAD_WORD_AT, 0, 7, 0, start),
        op(MOVE_32, 0, 0, 0, 0),
        ports_low,
        ports_high,
        whole_low,
        whole_high,
        op(MULTIPLY, 0, 1, 0, 0),
        op(XOR, 0, 8, 0, 0),
        op(MULTIPLY, 0, 2, 0, 0),
        op(MOVE, 3, 0, 0, 0),
        op(SHIFT_RIGHT_IMM, 3, 0, 0, 32),
        op(XOR, 0, 3, 0, 0),
        op(MULTIPLY, 0, 1, 0, 0),
        op(SHIFT_RIGHT_IMM, 0, 0, 0, 32),
        op(EXIT, 0, 0, 0, 0),
    ]);
    let offset = (program.len() - to_v6 - 1) as i16;
    program[to_v6][2..4].copy_from_slice(&offset.to_ne_bytes());
    program.extend(addresses_v6(start, steering));
    let back = ports as i16 - program.len() as i16 - 1;
    program.push(op(JUMP, 0, 0, back, 0));
    // What has no offset yet jumps here, past the exit.
    let out = program.len();
    for (index, instruction) in program.iter_mut().enumerate() {
        let jump = matches!(instruction[0], JUMP_NOT_IMM | JUMP_BELOW_IMM);
        if jump {
            let offset = (out - index - 1) as i16;
            instruction[2..4].copy_from_slice(&offset.to_ne_bytes());
        }
    }
    program.extend([op(MOVE_IMM, 0, 0, 0, 0), op(EXIT, 0, 0, 0, 0)]);
    program
}

/// Makes the device of which `queue` is one, and which carries `medium`, choose queues by
/// `steering`.
pub(super) fn attach(queue: BorrowedFd<'_>, medium: Medium, steering: &Steering) -> io::Result<()> {
    let program = bpf::load(bpf::SOCKET_FILTER, &program(medium, steering))?;
    let fd: libc::c_int = program.as_raw_fd();
    // SAFETY: the request reads one int through the pointer.
    if unsafe { libc::ioctl(queue.as_raw_fd(), libc::TUNSETSTEERINGEBPF as libc::Ioctl, &fd) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
