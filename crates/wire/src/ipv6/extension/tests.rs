use super::*;
use crate::protocol;

/// A header of options of one unit that `next` follows.
fn options(next: u8, option: [u8; 6]) -> Vec<u8> {
    [&[next, 0][..], &option].concat()
}

const PADDING: [u8; 6] = [1, 4, 0, 0, 0, 0];

fn tell(code: u8, at: usize) -> Problem {
    Problem::Tell { code, at, even_to_group: false }
}

#[test]
fn nothing_to_walk_over() {
    let chain = Chain { protocol: protocol::TCP, len: 0, named: 6, fragment: None };
    assert_eq!(walk(&[], protocol::TCP), Ok(chain));
}

#[test]
fn options_and_routing_without_segments_left_are_passed_over() {
    // RFC 8200 4.4/1
    let bytes = [
        options(ROUTING, PADDING),
        vec![DESTINATION, 1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        options(protocol::UDP, [0; 6]),
        vec![1, 2, 3],
    ]
    .concat();
    let chain = Chain { protocol: protocol::UDP, len: 32, named: 64, fragment: None };
    assert_eq!(walk(&bytes, HOP_BY_HOP), Ok(chain));
    for len in 0..32 {
        assert_eq!(walk(&bytes[..len], HOP_BY_HOP), Err(Problem::Discard));
    }
}

#[test]
fn a_fragment_ends_the_chain_and_an_atomic_one_does_not() {
    let mut bytes = options(FRAGMENT, PADDING);
    bytes.extend([protocol::UDP, 0, 0, 1, 0, 0, 0, 7]);
    let first = Fragment { next_header: 17, offset: 0, more: true, identification: 7 };
    let chain = Chain { protocol: 17, len: 16, named: 48, fragment: Some(first) };
    assert_eq!(walk(&bytes, DESTINATION), Ok(chain));
    bytes[11] = 0;
    assert_eq!(walk(&bytes, DESTINATION), Ok(Chain { fragment: None, ..chain }));
}

#[test]
fn order_is_checked() {
    // RFC 8200 4/1, 4.1/1
    let later = [options(HOP_BY_HOP, PADDING), options(protocol::UDP, PADDING)].concat();
    // The number of the second header stands at the start of the first.
    assert_eq!(walk(&later, DESTINATION), Err(tell(1, 40)));
    let routing = |next| vec![next, 0, 4, 0, 0, 0, 0, 0];
    let twice = [routing(ROUTING), routing(protocol::UDP)].concat();
    assert_eq!(walk(&twice, ROUTING), Err(tell(1, 40)));
}

#[test]
fn a_route_through_us_is_refused() {
    // RFC 8200 4.4/1
    // RFC 5095: type 0 with segments left.
    let route = [protocol::UDP, 2, 0, 1, 0, 0, 0, 0].iter().chain(&[0; 16]).copied();
    assert_eq!(walk(&route.collect::<Vec<_>>(), ROUTING), Err(tell(0, 42)));
}

#[test]
fn unknown_options_do_as_they_say() {
    // RFC 8200 4.2/1
    let of = |kind: u8| walk(&options(protocol::UDP, [1, 0, kind, 2, 0, 0]), HOP_BY_HOP);
    assert!(of(0x1e).is_ok());
    assert_eq!(of(0x5e), Err(Problem::Discard));
    assert_eq!(of(0x9e), Err(Problem::Tell { code: 2, at: 44, even_to_group: true }));
    assert_eq!(of(0xde), Err(Problem::Tell { code: 2, at: 44, even_to_group: false }));
    // An option that is longer than its header.
    assert_eq!(
        walk(&options(protocol::UDP, [5, 5, 0, 0, 0, 0]), HOP_BY_HOP),
        Err(Problem::Discard)
    );
}

#[test]
fn there_are_eight_at_most() {
    let chain = |count: usize| {
        let mut bytes = options(DESTINATION, PADDING).repeat(count);
        bytes[count * 8 - 8] = protocol::UDP;
        walk(&bytes, DESTINATION)
    };
    assert_eq!(chain(8).map(|c| c.len), Ok(64));
    assert_eq!(chain(9), Err(Problem::Discard));
}
