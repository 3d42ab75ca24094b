use super::*;
use proptest::prelude::*;

const MAP: u32 = 77;

/// Does the program take `frame`? An interpreter of the instructions that it uses, which
/// stops at what the kernel's verifier would refuse: a load behind the end.
fn takes(program: &[Instruction], frame: &[u8]) -> bool {
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
                r[dst] = [DATA, end, 0, 0, 3][offset as usize / 4];
            }
            LOAD_WORD | LOAD_HALF => {
                let len = if code == LOAD_WORD { 4 } else { 2 };
                let from = (r[src] - DATA) as usize + offset as usize;
                let mut bytes = [0; 8];
                bytes[..len].copy_from_slice(&frame[from..from + len]);
                r[dst] = u64::from_le_bytes(bytes);
            }
            LOAD_IMM64 => {
                at += 1;
                assert_eq!(program[at], [0; 8]);
                r[dst] = imm.into();
            }
            MOVE => r[dst] = r[src],
            MOVE_IMM => r[dst] = imm.into(),
            ADD_IMM => r[dst] += u64::from(imm),
            AND_32_IMM => r[dst] = u64::from(r[dst] as u32 & imm),
            JUMP_ABOVE => jumps = r[dst] > r[src],
            JUMP_EQUAL_32_IMM => jumps = r[dst] as u32 == imm,
            JUMP_NOT_32_IMM => jumps = r[dst] as u32 != imm,
            JUMP => {}
            CALL => {
                assert_eq!((imm, r[1], r[2], r[3]), (REDIRECT_MAP, u64::from(MAP), 3, 2));
                return true;
            }
            EXIT => {
                assert_eq!(r[0], u64::from(XDP_PASS));
                return false;
            }
            other => panic!("an instruction that it should not have: {other:#x}"),
        }
        at = (at as isize + 1 + if jumps { isize::from(offset) } else { 0 }) as usize;
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
        let program = program(&Take::Prefixes(prefixes.clone()), MAP);
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
    let one = program(&Take::Prefixes(vec![(ours.into(), 128)]), MAP);
    let group = |last: u16| Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff12, last);
    assert!(takes(&one, &to_v6(group(0x3456))) && !takes(&one, &to_v6(group(0x3457))));
    assert!(!takes(&one, &to_v6("ff02::1".parse().expect("an address"))));
    assert!(!takes(&program(&Take::Prefixes(Vec::new()), MAP), &to_v6(ours)));
    assert!(takes(&program(&Take::All, MAP), &[]));
}
