use super::*;
use proptest::prelude::*;

/// The definition, read off RFC 1071 section 1.
fn definition(data: &[u8]) -> u16 {
    let mut sum: u64 = 0;
    for pair in data.chunks(2) {
        sum += u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn kernels() -> impl Iterator<Item = Implementation> {
    Implementation::ALL.into_iter().filter(|k| k.available())
}

/// Every way to sum or copy `data` gives the definition's sum, and the copy
/// writes just its destination.
fn check(data: &[u8], offset: usize) {
    let right = definition(data);
    assert_eq!(sum(data), right, "sum of {} bytes", data.len());
    assert_eq!(u16::from_be(fold(sum_words(data))), right, "words of {} bytes", data.len());
    let mut to = vec![0x5a; offset + data.len() + 64];
    let mut copied = |copy: &dyn Fn(&mut [u8]) -> u16, name: &str| {
        to.fill(0x5a);
        let sum = copy(&mut to[offset..offset + data.len()]);
        assert_eq!(sum, right, "{name}: sum of a copy of {} bytes", data.len());
        assert_eq!(&to[offset..offset + data.len()], data, "{name}: copy");
        assert!(to[..offset].iter().all(|&b| b == 0x5a), "{name}: wrote before");
        assert!(to[offset + data.len()..].iter().all(|&b| b == 0x5a), "{name}: wrote behind");
    };
    copied(&|to| copy_sum(to, data), "chosen");
    for kernel in kernels() {
        assert_eq!(sum_with(kernel, data), right, "{kernel:?}: sum of {} bytes", data.len());
        copied(&|to| copy_sum_with(kernel, to, data), kernel.name());
    }
}

fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).map(|i| (i.wrapping_mul(0x9e37_79b9) >> 24) as u8).collect()
}

#[test]
fn every_length_up_to_300_at_some_alignment() {
    let data = pattern(400);
    let most = if cfg!(miri) { 150 } else { 300 };
    for len in 0..=most {
        check(&data[len % 64..][..len], (len * 7) % 64);
    }
}

#[test]
fn every_alignment_of_source_and_destination() {
    let data = pattern(1600);
    let step = if cfg!(miri) { 13 } else { 1 };
    for at in (0..64).step_by(step) {
        for len in [20, 129, 257, 600, 1448] {
            check(&data[at..at + len], (at * 5 + 3) % 64);
        }
    }
}

#[test]
fn zero_is_zero_only_if_every_byte_is() {
    for len in [0, 1, 2, 20, 63, 64, 127, 128, 200, 1448, 4097] {
        assert_eq!(sum(&vec![0; len]), 0, "{len} zeros");
        check(&vec![0; len], 0);
        check(&vec![0xff; len], 1);
        if len >= 4 {
            let mut data = vec![0; len];
            data[0] = 0x12;
            data[1] = 0x34;
            let rest = len - 2 - len % 2;
            data[rest..rest + 2].copy_from_slice(&(!0x1234u16).to_be_bytes());
            assert_eq!(sum(&data), 0xffff, "{len} bytes that sum to zero");
            check(&data, 3);
        }
    }
}

#[test]
fn the_longest_carries_survive() {
    check(&vec![0xff; if cfg!(miri) { 700 } else { 70 * 1024 + 1 }], 0);
}

#[test]
fn the_choice_is_available() {
    let name = implementation();
    assert!(kernels().any(|k| k.name() == name));
}

/// RFC 1071 section 3 sums these bytes to ddf2.
#[test]
fn the_example_of_rfc_1071() {
    check(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0);
    assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), 0xddf2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 2 } else { 128 }))]

    #[test]
    fn any_data_up_to_70_kilobytes(
        data in prop::collection::vec(any::<u8>(), 0..if cfg!(miri) { 600 } else { 70_000 }),
        skip in 0usize..64,
        offset in 0usize..64,
    ) {
        check(&data[skip.min(data.len())..], offset);
    }

    #[test]
    fn parts_combine_to_the_whole(
        data in prop::collection::vec(any::<u8>(), 0..600),
        cut in 0usize..600,
    ) {
        let cut = cut.min(data.len());
        let (a, b) = data.split_at(cut);
        prop_assert_eq!(combine(sum(a), a.len(), sum(b)), sum(&data));
    }

    #[test]
    fn addition_is_a_commutative_group_but_for_the_two_zeros(a: u16, b: u16, c: u16) {
        prop_assert_eq!(add(a, b), add(b, a));
        prop_assert_eq!(add(add(a, b), c), add(a, add(b, c)));
        prop_assert_eq!(add(a, 0), a);
        prop_assert_eq!(add(a, !a), 0xffff);
        prop_assert_eq!(add(a, b) == 0, a == 0 && b == 0);
        prop_assert_eq!(u32::from(add(a, b)) % 0xffff, (u32::from(a) + u32::from(b)) % 0xffff);
    }
}

#[test]
fn the_largest_and_smallest_words_of_whole_pieces_are_exact() {
    let lens = if cfg!(miri) { vec![LIMIT] } else { vec![LIMIT - 1, LIMIT, LIMIT + 1, 3 * LIMIT] };
    for len in lens {
        for byte in [0x00, 0x7f, 0x80, 0xff] {
            check(&vec![byte; len], 1);
        }
    }
}
