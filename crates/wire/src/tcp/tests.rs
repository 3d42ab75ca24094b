use super::*;
use crate::{checksum, protocol};
use proptest::prelude::*;
use std::net::Ipv4Addr;

fn options() -> impl Strategy<Value = Options> {
    let sack = prop::collection::vec(any::<(u32, u32)>(), 0..=MAX_SACK_BLOCKS);
    let option = any::<Option<(bool, u8, [u32; 3])>>();
    let simple = (any::<Option<u16>>(), any::<Option<u8>>(), any::<bool>());
    (simple, any::<Option<(u32, u32)>>(), sack, option).prop_map(
        |((mss, window_scale, sack_permitted), timestamps, blocks, option)| {
            let mut sack = SackBlocks::NONE;
            blocks.into_iter().for_each(|(left, right)| sack.push(Seq(left), Seq(right)));
            let acc_ecn = option.map(|(reversed, count, counters)| {
                AccEcn::new(reversed, usize::from(count % 4), counters)
            });
            Options { mss, window_scale, sack_permitted, timestamps, sack, acc_ecn }
        },
    )
}

fn header() -> impl Strategy<Value = Header> {
    (any::<(u16, u16, u32, u32, u16, u16, u16)>(), options()).prop_map(|(f, options)| Header {
        source_port: f.0,
        destination_port: f.1,
        seq: Seq(f.2),
        ack: Seq(f.3),
        flags: Flags(f.4 & 0x1ff),
        window: f.5,
        urgent: f.6,
        options,
    })
}

/// All combinations of which options there are, with each number of blocks.
fn combinations() -> impl Iterator<Item = Options> {
    (0..16u32 * 5).flat_map(|bits| {
        (0..=MAX_SACK_BLOCKS as u32).map(move |blocks| {
            let mut sack = SackBlocks::NONE;
            (0..blocks).for_each(|n| sack.push(Seq(n * 1000), Seq(n * 1000 + 500)));
            Options {
                mss: (bits & 1 != 0).then_some(1460),
                window_scale: (bits & 2 != 0).then_some(7),
                sack_permitted: bits & 4 != 0,
                timestamps: (bits & 8 != 0).then_some((0x0102_0304, 0x0506_0708)),
                sack,
                acc_ecn: (bits / 16)
                    .checked_sub(1)
                    .map(|count| AccEcn::new(bits & 1 != 0, count as usize, [70_000, 2, 3])),
            }
        })
    })
}

fn emit(options: &Options) -> Vec<u8> {
    let mut bytes = vec![0x5a; options.len()];
    options.emit(&mut bytes);
    bytes
}

#[test]
fn all_combinations_of_options_are_parsed_as_emitted() {
    // RFC 9293 MUST-5
    for options in combinations() {
        let bytes = emit(&options);
        assert!(bytes.len() <= MAX_LEN - LEN && bytes.len().is_multiple_of(4), "{options:?}");
        assert_eq!(Options::parse(&bytes), options.fit(), "{options:?}");
        assert_eq!(options.fit().fit(), options.fit());
        assert_eq!(emit(&options.fit()), bytes);
    }
}

/// RFC 2018 section 3: 4 blocks alone, 3 beside timestamps.
#[test]
fn only_sack_blocks_are_ever_left_out() {
    // RFC 2018 4/2
    for options in combinations() {
        let fit = options.fit();
        assert_eq!(
            Options { sack: SackBlocks::NONE, ..fit },
            Options { sack: SackBlocks::NONE, ..options }
        );
        let (kept, all) = (fit.sack.as_slice(), options.sack.as_slice());
        assert_eq!(kept, &all[..kept.len()], "the first stay");
        let least = match (options.mss, options.window_scale, options.timestamps) {
            _ if options.acc_ecn.is_some() => 0,
            (None, None, None) if !options.sack_permitted => 4,
            (None, None, Some(_)) => 3,
            _ => 2,
        };
        assert!(kept.len() >= all.len().min(least), "{options:?}");
    }
}

proptest! {
    #[test]
    fn what_is_emitted_is_parsed(header in header(), payload: [u8; 5]) {
        let len = header.len();
        let mut bytes = vec![0x5a; len];
        header.emit(&mut bytes);
        prop_assert_eq!(&bytes[16..18], &[0, 0][..]);
        bytes.extend(payload);
        let fit = Header { options: header.options.fit(), ..header };
        prop_assert_eq!(Header::parse(&bytes), Ok((fit, len)));
        for short in 0..len {
            prop_assert_eq!(Header::parse(&bytes[..short]), Err(Malformed::Truncated));
        }
    }

    #[test]
    fn the_sum_of_a_header_comes_with_it(header in header()) {
        let mut bytes = vec![0; header.len()];
        let sum = header.emit_sum(&mut bytes);
        prop_assert_eq!(sum, checksum::sum(&bytes));
    }

    #[test]
    fn any_options_can_be_parsed_and_emitted(bytes in prop::collection::vec(any::<u8>(), 0..=40)) {
        // RFC 9293 MUST-7
        let options = Options::parse(&bytes);
        prop_assert_eq!(Options::parse(&emit(&options)), options.fit());
    }

    /// Every kind with every length, somewhere before a good option.
    #[test]
    fn options_of_any_length_are_passed_over(kind: u8, len: u8, at in 0usize..30) {
        // RFC 9293 MUST-6, MUST-68
        let mut bytes = [1; 40];
        bytes[at] = kind;
        bytes[at + 1] = len;
        let options = Options::parse(&bytes);
        prop_assert_eq!(options.mss.is_some(), (kind, len) == (2, 4));
    }
}

/// What Linux sends first: 192.168.1.2:43210 to 93.184.216.34:80.
const SYN: [u8; 40] = [
    0xa8, 0xca, 0x00, 0x50, 0x1a, 0x2b, 0x3c, 0x4d, 0x00, 0x00, 0x00, 0x00, //
    0xa0, 0x02, 0xfa, 0xf0, 0x55, 0x48, 0x00, 0x00, //
    0x02, 0x04, 0x05, 0xb4, 0x04, 0x02, 0x08, 0x0a, 0x00, 0xc0, 0xff, 0xee, //
    0x00, 0x00, 0x00, 0x00, 0x01, 0x03, 0x03, 0x07,
];

#[test]
fn a_syn_of_linux_is_read_and_written() {
    let (source, destination) = (Ipv4Addr::new(192, 168, 1, 2), Ipv4Addr::new(93, 184, 216, 34));
    let pseudo = checksum::pseudo_header(source.into(), destination.into(), protocol::TCP, 40);
    assert!(checksum::is_right(checksum::add(pseudo, checksum::sum(&SYN))));
    let (header, len) = Header::parse(&SYN).unwrap();
    let expected = Header {
        source_port: 43210,
        destination_port: 80,
        seq: Seq(0x1a2b_3c4d),
        ack: Seq(0),
        flags: Flags::SYN,
        window: 64240,
        urgent: 0,
        options: Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some((0x00c0_ffee, 0)),
            ..Options::NONE
        },
    };
    assert_eq!((header, len), (expected, 40));
    let mut bytes = [0; 40];
    header.emit(&mut bytes);
    bytes[16..18].copy_from_slice(&SYN[16..18]);
    assert_eq!(bytes, SYN);
}

#[test]
fn options_as_they_come() {
    // RFC 9293 MUST-4, MUST-64
    let parse = Options::parse;
    assert_eq!(parse(&[]), Options::NONE);
    assert_eq!(parse(&[0, 2, 4, 5, 0xb4]), Options::NONE, "behind the end");
    assert_eq!(parse(&[2, 4, 5]), Options::NONE, "cut off");
    assert_eq!(parse(&[2]), Options::NONE, "no length");
    assert_eq!(parse(&[9, 0, 2, 4, 5, 0xb4]), Options::NONE, "length 0 would loop");
    assert_eq!(parse(&[9, 1, 2, 4, 5, 0xb4]), Options::NONE, "length 1 would overlap");
    assert_eq!(parse(&[30, 3, 0, 2, 4, 5, 0xb4]).mss, Some(1460), "unknown, passed over");
    assert_eq!(parse(&[2, 3, 5, 2, 4, 5, 0xb4]).mss, Some(1460), "of a wrong length");
    assert_eq!(parse(&[3, 3, 200]).window_scale, Some(200), "as sent");
    let mut timestamps = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    assert_eq!(parse(&timestamps).timestamps, Some((1, 2)));
    timestamps.extend([5, 10, 0, 0, 0, 3, 0, 0, 0, 4, 1, 1]);
    assert_eq!(parse(&timestamps).timestamps, Some((1, 2)));
    assert_eq!(parse(&timestamps).sack.as_slice(), &[(Seq(3), Seq(4))]);
    assert!(parse(&[5, 9, 0, 0, 0, 3, 0, 0, 0]).sack.is_empty(), "half a block");
}

/// RFC 9768 3.2.3: both orders, what is left out, and what is longer than it may be.
#[test]
fn counters_of_ecn_in_both_orders() {
    // RFC 9768 3.2.3/1, 3.2.3/2, 3.2.3.1/1
    let counters = [0x0100_0001, 2, 0xff_ffff];
    let said = [Some(1), Some(2), Some(0xff_ffff)];
    for reversed in [false, true] {
        for count in 0..=3 {
            let option = AccEcn::new(reversed, count, counters);
            let bytes = emit(&Options { acc_ecn: Some(option), ..Options::NONE });
            assert_eq!(bytes[..2], [if reversed { 174 } else { 172 }, 2 + 3 * count as u8]);
            assert_eq!(bytes.len(), [4, 8, 8, 12][count]);
            assert_eq!(Options::parse(&bytes).acc_ecn, Some(option));
            let places: &[usize] = if reversed { &[2, 1, 0] } else { &[0, 1, 2] };
            for (n, place) in places.iter().enumerate() {
                let expected = if n < count { said[*place] } else { None };
                assert_eq!(option.counters()[*place], expected);
            }
        }
    }
    let odd = Options::parse(&[172, 4, 9, 9]).acc_ecn.expect("an option");
    assert_eq!(odd.counters(), [None; 3], "two bytes are no counter");
    let long = [174, 14, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0, 4];
    let long = Options::parse(&long).acc_ecn.expect("an option");
    assert_eq!(long.counters(), [Some(3), Some(2), Some(1)], "the rest is padding");
}

/// RFC 2018 and RFC 9768 3.2.3.3: two blocks fit beside timestamps and two counters.
#[test]
fn two_blocks_fit_beside_two_counters() {
    let mut sack = SackBlocks::NONE;
    (0..3).for_each(|n| sack.push(Seq(n), Seq(n + 1)));
    let of = |count| Options {
        timestamps: Some((1, 2)),
        sack,
        acc_ecn: Some(AccEcn::new(false, count, [1, 2, 3])),
        ..Options::NONE
    };
    let blocks = |count| of(count).fit().sack.as_slice().len();
    assert_eq!([1, 2, 3].map(blocks), [2, 2, 1]);
}

#[test]
fn a_data_offset_below_the_header_is_refused() {
    for words in 0..5 {
        let mut bytes = SYN;
        bytes[12] = words << 4;
        assert_eq!(Header::parse(&bytes), Err(Malformed::Field));
    }
}

#[test]
fn blocks_stay_within_bounds() {
    let mut sack = SackBlocks::NONE;
    (0..10).for_each(|n| sack.push(Seq(n), Seq(n + 1)));
    assert_eq!(sack.as_slice().len(), MAX_SACK_BLOCKS);
    sack.truncate(256);
    assert_eq!(sack.as_slice().len(), MAX_SACK_BLOCKS);
    sack.truncate(1);
    assert_eq!(sack.as_slice(), &[(Seq(0), Seq(1))]);
}

#[test]
fn flags_by_name() {
    let flags = Flags::SYN.with(Flags::ACK);
    assert_eq!(format!("{flags:?}"), "S.");
    assert!(flags.syn() && flags.ack() && !flags.fin() && !flags.rst());
    assert!(flags.has(Flags::SYN) && !flags.has(Flags::SYN.with(Flags::FIN)));
    assert_eq!(flags.without(Flags::ACK), Flags::SYN);
    assert_eq!(format!("{:?}", Flags::ACK.with(Flags::of_ace(13))), ".EA");
    assert_eq!(Flags::ACE.with(Flags::SYN).ace(), 7);
    assert_eq!(Flags::of_ace(2), Flags::CWR);
}

proptest! {
    /// The options of a usual SYN are read at once, and one by one where others stand before
    /// them; any other byte in them, too.
    #[test]
    fn a_usual_syn_is_read_as_any_list_is(at in 0usize..20, byte: u8, timestamps: (u32, u32)) {
        let mut bytes = emit(&Options {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(timestamps),
            ..Options::NONE
        });
        prop_assert_eq!(bytes.len(), 20);
        for _ in 0..2 {
            let listed = [&[1; 4], &bytes[..]].concat();
            prop_assert_eq!(Options::parse(&bytes), Options::parse(&listed));
            bytes[at] = byte;
        }
    }
}
