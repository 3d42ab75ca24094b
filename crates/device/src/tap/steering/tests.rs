use super::*;
use proptest::prelude::*;
use std::net::{Ipv4Addr, Ipv6Addr};
use wire::ethernet::ethertype;
use wire::steering::Steered;
use wire::{EthernetAddress, ethernet, ipv4, ipv6};

/// What the kernel would get from the program for `frame`: an interpreter of the
/// instructions that it uses (RFC 9669).
fn run(program: &[Instruction], frame: &[u8]) -> u64 {
    let mut r = [0u64; 11];
    let (mut at, mut steps) = (0, 0);
    loop {
        steps += 1;
        assert!(steps < 1000, "it does not end");
        let [code, registers, o0, o1, imm @ ..] = program[at];
        let (dst, src) = (usize::from(registers & 15), usize::from(registers >> 4));
        let (offset, imm) = (i16::from_ne_bytes([o0, o1]), u32::from_ne_bytes(imm));
        let wide = i64::from(imm as i32) as u64;
        let load = |at: u64, len: usize| -> Option<u64> {
            let bytes = frame.get(at as usize..at as usize + len)?;
            Some(bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
        };
        let mut jumps = code == JUMP;
        match code {
            LOAD_BYTE | LOAD_HALF | LOAD_WORD | LOAD_WORD_AT => {
                let (len, from) = match code {
                    LOAD_BYTE => (1, imm.into()),
                    LOAD_HALF => (2, imm.into()),
                    LOAD_WORD => (4, imm.into()),
                    _ => (4, r[src] + u64::from(imm)),
                };
                // It spoils what a call would spoil.
                r[1..6].fill(0xdead);
                let Some(loaded) = load(from, len) else { return 0 };
                r[0] = loaded;
            }
            LOAD_IMM64 => {
                at += 1;
                let [.., a, b, c, d] = program[at];
                r[dst] = u64::from(u32::from_ne_bytes([a, b, c, d])) << 32 | u64::from(imm);
            }
            MOVE => r[dst] = r[src],
            MOVE_IMM => r[dst] = wide,
            MOVE_32 => r[dst] = r[src] & 0xffff_ffff,
            AND_IMM => r[dst] &= wide,
            SHIFT_LEFT_IMM => r[dst] <<= imm,
            SHIFT_RIGHT_IMM => r[dst] >>= imm,
            OR => r[dst] |= r[src],
            XOR => r[dst] ^= r[src],
            MULTIPLY => r[dst] = r[dst].wrapping_mul(r[src]),
            JUMP_EQUAL_IMM => jumps = r[dst] == wide,
            JUMP_NOT_IMM => jumps = r[dst] != wide,
            JUMP_BELOW_IMM => jumps = r[dst] < wide,
            JUMP => {}
            EXIT => return r[0],
            other => panic!("an instruction that it should not have: {other:#x}"),
        }
        at = (at as isize + 1 + if jumps { isize::from(offset) } else { 0 }) as usize;
    }
}

fn frame(ethertype: u16, datagram: &[u8]) -> Vec<u8> {
    let station = EthernetAddress([2, 0, 0, 0, 0, 1]);
    let header = ethernet::Header { destination: station, source: station, vlan: None, ethertype };
    let mut bytes = vec![0; ethernet::LEN];
    header.emit(&mut bytes);
    bytes.extend(datagram);
    bytes
}

fn v6(ends: (u128, u128), next: u8, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = (Ipv6Addr::from(ends.0), Ipv6Addr::from(ends.1));
    let mut bytes = vec![0; ipv6::LEN];
    ipv6::Header::new(source, destination, next, payload.len()).emit(&mut bytes);
    bytes.extend(payload);
    frame(ethertype::IPV6, &bytes)
}

fn v4(ends: (u32, u32), next: u8, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = (Ipv4Addr::from(ends.0), Ipv4Addr::from(ends.1));
    let mut bytes = vec![0; ipv4::LEN];
    ipv4::Header::new(source, destination, next, payload.len()).emit(&mut bytes);
    bytes.extend(payload);
    frame(ethertype::IPV4, &bytes)
}

proptest! {
    #[test]
    fn the_program_and_the_software_agree(
        seed: u64, six: (u128, u128), four: (u32, u32), tcp: bool, payload: [u8; 24],
    ) {
        let steering = Steering::new(seed);
        let [framed, bare] = [Medium::Ethernet, Medium::Ip].map(|m| program(m, &steering));
        let next = if tcp { protocol::TCP } else { protocol::UDP };
        // Mapped IPv4 addresses are on no wire.
        prop_assume!(six.0 >> 48 != 0 && six.1 >> 48 != 0);
        for frame in [v6(six, next, &payload), v4(four, next, &payload)] {
            let Steered::Flow(hash) = steering.frame(&frame) else { panic!("a flow") };
            prop_assert_eq!(run(&framed, &frame), u64::from(hash));
            prop_assert_eq!(run(&bare, &frame[ethernet::LEN..]), u64::from(hash));
            for len in 0..frame.len() - payload.len() + 3 {
                prop_assert_eq!(run(&framed, &frame[..len]), 0);
            }
        }
    }
}

#[test]
fn what_is_no_flow_gets_zero() {
    let program = program(Medium::Ethernet, &Steering::new(7));
    for next in [0, 44, 58, 60] {
        assert_eq!(run(&program, &v6((1 << 100, 2 << 100), next, &[9; 24])), 0);
    }
    let mut fragment = v4((1, 2), protocol::UDP, &[9; 24]);
    fragment[ethernet::LEN + 7] = 1;
    assert_eq!(run(&program, &fragment), 0);
    assert_eq!(run(&program, &frame(ethertype::ARP, &[9; 60])), 0);
}
