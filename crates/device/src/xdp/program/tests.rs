use super::spread::{
    ADD, ADD_32, BIG_ENDIAN, JUMP_BELOW_32_IMM, LOAD_BYTE, MODULO_32_IMM, MULTIPLY,
    MULTIPLY_32_IMM, OR, SHIFT_LEFT_IMM, SHIFT_RIGHT_IMM, XOR,
};
use super::*;
use crate::Medium;
use crate::memory::queue_of;
use proptest::prelude::*;

const MAP: u32 = 77;

/// The queue that frames of these tests arrive on.
const ARRIVED: u64 = 3;

/// Does the program take `frame`?
fn takes(program: &[Instruction], frame: &[u8]) -> bool {
    run(program, frame).is_some_and(|socket| {
        assert_eq!(socket, ARRIVED);
        true
    })
}

/// Which socket of the map the program gives `frame` to. An interpreter of the instructions
/// that it uses, which stops at what the kernel's verifier would refuse: a load behind the end.
fn run(program: &[Instruction], frame: &[u8]) -> Option<u64> {
    const DATA: u64 = 1 << 40;
    const CONTEXT: u64 = 1 << 41;
    let end = DATA + frame.len() as u64;
    let mut r = [0u64; 11];
    r[1] = CONTEXT;
    let (mut at, mut steps) = (0, 0);
    loop {
        steps += 1;
        assert!(steps < 2000, "it does not end");
        let [code, registers, o0, o1, imm @ ..] = program[at];
        let (dst, src) = (usize::from(registers & 15), usize::from(registers >> 4));
        let (offset, imm) = (i16::from_ne_bytes([o0, o1]), u32::from_ne_bytes(imm));
        let mut jumps = code == JUMP;
        match code {
            LOAD_WORD if r[src] == CONTEXT => {
                r[dst] = [DATA, end, 0, 0, ARRIVED][offset as usize / 4];
            }
            LOAD_WORD | LOAD_HALF | LOAD_BYTE => {
                let len = [4, 2, 1][[LOAD_WORD, LOAD_HALF, LOAD_BYTE]
                    .iter()
                    .position(|&c| c == code)
                    .expect("one of them")];
                let from = (r[src] - DATA) as usize + offset as usize;
                let mut bytes = [0; 8];
                bytes[..len].copy_from_slice(&frame[from..from + len]);
                r[dst] = u64::from_le_bytes(bytes);
            }
            LOAD_IMM64 => {
                at += 1;
                let [0, 0, 0, 0, high @ ..] = program[at] else { panic!("its second half") };
                r[dst] = u64::from(u32::from_ne_bytes(high)) << 32 | u64::from(imm);
            }
            JUMP_ABOVE => jumps = r[dst] > r[src],
            JUMP_BELOW_32_IMM => jumps = (r[dst] as u32) < imm,
            JUMP_EQUAL_32_IMM => jumps = r[dst] as u32 == imm,
            JUMP_NOT_32_IMM => jumps = r[dst] as u32 != imm,
            JUMP => {}
            CALL => {
                assert_eq!((imm, r[1], r[3]), (REDIRECT_MAP, u64::from(MAP), 2));
                return Some(r[2]);
            }
            EXIT => {
                assert_eq!(r[0], u64::from(XDP_PASS));
                return None;
            }
            other => r[dst] = computed(other, (r[dst], r[src], imm)),
        }
        at = (at as isize + 1 + if jumps { isize::from(offset) } else { 0 }) as usize;
    }
}

/// What an instruction that computes something leaves, on a machine of little-endian order.
fn computed(code: u8, (dst, src, imm): (u64, u64, u32)) -> u64 {
    match code {
        MOVE => src,
        MOVE_IMM => imm.into(),
        ADD => dst + src,
        ADD_32 => u64::from(dst as u32 + src as u32),
        ADD_IMM => dst + u64::from(imm),
        AND_32_IMM => u64::from(dst as u32 & imm),
        OR => dst | src,
        XOR => dst ^ src,
        MULTIPLY => dst.wrapping_mul(src),
        MULTIPLY_32_IMM => u64::from(dst as u32 * imm),
        MODULO_32_IMM => u64::from(dst as u32 % imm),
        SHIFT_LEFT_IMM => dst << imm,
        SHIFT_RIGHT_IMM => dst >> imm,
        BIG_ENDIAN => u64::from((dst as u32).swap_bytes()),
        other => panic!("an instruction that it should not have: {other:#x}"),
    }
}

fn frame(kind: u16, rest: Vec<u8>) -> Vec<u8> {
    let mut bytes = vec![2; 12];
    bytes.extend(kind.to_be_bytes());
    bytes.extend(rest);
    bytes
}

fn to_v4(to: Ipv4Addr) -> Vec<u8> {
    let mut header = vec![0; ipv4::LEN];
    header[16..].copy_from_slice(&to.octets());
    frame(ethertype::IPV4, header)
}

fn to_v6(to: Ipv6Addr) -> Vec<u8> {
    let mut header = vec![0; ipv6::LEN];
    header[24..].copy_from_slice(&to.octets());
    frame(ethertype::IPV6, header)
}

fn asks_for(to: Ipv4Addr) -> Vec<u8> {
    let mut request = vec![0; ARP];
    request[24..].copy_from_slice(&to.octets());
    frame(ethertype::ARP, request)
}

fn contains((net, prefix): (IpAddr, u8), address: IpAddr) -> bool {
    match (net, address) {
        (IpAddr::V4(net), IpAddr::V4(address)) => {
            prefix == 0 || (net.to_bits() ^ address.to_bits()) >> (32 - u32::from(prefix)) == 0
        }
        (IpAddr::V6(net), IpAddr::V6(address)) => {
            prefix == 0 || (net.to_bits() ^ address.to_bits()) >> (128 - u32::from(prefix)) == 0
        }
        _ => false,
    }
}

proptest! {
    #[test]
    fn it_takes_what_is_for_the_prefixes_and_nothing_else(
        nets in prop::collection::vec((any::<u128>(), any::<bool>(), 0u8..=128), 0..6),
        near in any::<prop::sample::Index>(), flip in 0u32..129, cut in 0usize..60,
    ) {
        let prefixes: Vec<(IpAddr, u8)> = nets.iter().map(|&(bits, is_v4, prefix)| if is_v4 {
            (Ipv4Addr::from_bits(bits as u32).into(), prefix % 33)
        } else {
            (Ipv6Addr::from_bits(bits).into(), prefix)
        }).collect();
        let program = program(&Take::Prefixes(prefixes.clone()), MAP, None);
        // An address of one of them, or one that differs from it in a bit.
        let bits = if nets.is_empty() { 5 } else { near.get(&nets).0 };
        let bits = bits ^ 1u128.checked_shl(flip).unwrap_or(0);
        let (four, six) = (Ipv4Addr::from_bits(bits as u32), Ipv6Addr::from_bits(bits));
        let wanted = |address: IpAddr| prefixes.iter().any(|&net| contains(net, address));
        prop_assert_eq!(takes(&program, &to_v4(four)), wanted(four.into()));
        prop_assert_eq!(takes(&program, &asks_for(four)), wanted(four.into()));
        let is_group = six.octets().starts_with(&SOLICITED.octets()[..13]);
        prop_assert_eq!(takes(&program, &to_v6(six)) && !is_group, wanted(six.into()) && !is_group);
        // Who looks for an address asks its group.
        let group = Ipv6Addr::from_bits(SOLICITED.to_bits() | bits & 0xff_ffff);
        if wanted(six.into()) {
            prop_assert!(takes(&program, &to_v6(group)));
        }
        // Nothing is read behind the end, and what is cut off is not taken.
        for whole in [to_v4(four), to_v6(six), asks_for(four)] {
            if cut < whole.len() {
                prop_assert!(!takes(&program, &whole[..cut]));
            }
        }
        // Other protocols are the kernel's.
        prop_assert!(!takes(&program, &frame(0x8100, vec![0; 60])));
    }
}

#[test]
fn groups_of_others_and_all_frames() {
    let ours: Ipv6Addr = "2001:db8::12:3456".parse().expect("an address");
    let one = program(&Take::Prefixes(vec![(ours.into(), 128)]), MAP, None);
    let group = |last: u16| Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff12, last);
    assert!(takes(&one, &to_v6(group(0x3456))) && !takes(&one, &to_v6(group(0x3457))));
    assert!(!takes(&one, &to_v6("ff02::1".parse().expect("an address"))));
    assert!(!takes(&program(&Take::Prefixes(Vec::new()), MAP, None), &to_v6(ours)));
    assert!(takes(&program(&Take::All, MAP, None), &[]));
}

/// A frame of IP with these bytes behind the addresses, and options or extension headers before.
fn datagram(is_v4: bool, addresses: &[u8; 32], protocol: u8, words: u8, rest: &[u8]) -> Vec<u8> {
    let mut bytes = if is_v4 {
        let mut header = vec![0; ipv4::LEN + 4 * usize::from(words)];
        header[0] = 0x45 + words;
        header[9] = protocol;
        header[12..20].copy_from_slice(&addresses[..8]);
        header
    } else {
        let mut header = vec![0; ipv6::LEN];
        (header[0], header[6]) = (0x60, protocol);
        header[8..].copy_from_slice(addresses);
        header
    };
    let len = (bytes.len() + rest.len()) as u16;
    let (at, len) = if is_v4 { (2, len) } else { (4, rest.len() as u16) };
    bytes[at..at + 2].copy_from_slice(&len.to_be_bytes());
    bytes.extend(rest);
    frame(if is_v4 { ethertype::IPV4 } else { ethertype::IPV6 }, bytes)
}

proptest! {
    #[test]
    fn a_frame_goes_to_the_socket_of_its_flow(
        seed in any::<u64>(), members in 2u32..9, is_v4 in any::<bool>(), tcp in any::<bool>(),
        addresses in any::<[u8; 32]>(), rest in prop::collection::vec(any::<u8>(), 20..24),
        words in 0u8..10, cut in 0usize..120, fragment in 0u16..4,
    ) {
        let steering = Steering::new(seed);
        let program = program(&Take::All, MAP, Some(Spread { steering, members }));
        let protocol = if tcp { wire::protocol::TCP } else { wire::protocol::UDP };
        let first = ARRIVED * u64::from(members);
        let mut frame = datagram(is_v4, &addresses, protocol, words, &rest);
        if is_v4 && fragment == 1 {
            frame[LEN + 6] = 0x20;
        }
        let wanted = queue_of(&steering, Medium::Ethernet, &frame, members as usize) as u64;
        prop_assert_eq!(run(&program, &frame), Some(first + wanted));
        // What is cut off makes no sense to the stack either, and goes anywhere.
        let cut = run(&program, &frame[..cut.min(frame.len())]);
        prop_assert!(cut.is_some_and(|at| (first..first + u64::from(members)).contains(&at)));
        // Other protocols go to the first.
        let other = datagram(is_v4, &addresses, 47, words, &rest);
        prop_assert_eq!(run(&program, &other), Some(first));
    }
}
