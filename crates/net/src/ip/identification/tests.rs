use super::*;
use std::collections::HashSet;
use std::net::{Ipv4Addr, Ipv6Addr};

fn to(n: u32) -> Address {
    Ipv4Addr::from_bits(0x0a00_0000 + n).into()
}

fn to_v6(n: u128) -> Address {
    Ipv6Addr::from_bits(0x2001_0db8 << 96 | n).into()
}

fn own(index: u16, count: u16) -> Identifications {
    Identifications::new(&Config::new(Vec::new(), 7), Unit::new(index, count))
}

#[test]
fn each_destination_has_a_sequence_of_its_own() {
    for ids in [own(0, 1), Identifications::shared(&Config::new(Vec::new(), 7))] {
        let all: Vec<u16> = (0..1000).map(|_| ids.next(to(1))).collect();
        assert_eq!(all.iter().collect::<HashSet<_>>().len(), 1000);
        // What goes to others is not to be seen in it.
        let before = ids.next(to(1));
        for n in (2..20).chain(2..20) {
            ids.next(to(n));
        }
        assert_eq!(ids.next(to(1)), before.wrapping_add(1));
        // Nor is it where that of another begins.
        let begins: HashSet<u16> =
            (100..200).map(|n| ids.next(to(n)).wrapping_sub(before)).collect();
        assert!(begins.len() > 90);
    }
}

#[test]
fn a_destination_that_lost_its_sequence_does_not_repeat_itself() {
    let ids = own(0, 1);
    let mut seen = HashSet::new();
    for round in 0..20 {
        assert!(seen.insert(ids.next(to(1))), "{round}");
        // More destinations than sequences.
        for n in 2..4000 {
            ids.next(to(n));
        }
    }
}

#[test]
fn units_never_use_the_same() {
    let all: Vec<HashSet<u16>> = (0..4)
        .map(|index| {
            let ids = own(index, 4);
            (0..1000).map(|_| ids.next(to(1))).collect()
        })
        .collect();
    for (i, a) in all.iter().enumerate() {
        assert_eq!(a.len(), 1000);
        assert!(all[..i].iter().all(|b| a.is_disjoint(b)));
    }
}

#[test]
fn threads_that_share_them_get_each_once() {
    let ids = Identifications::shared(&Config::new(Vec::new(), 7));
    let all: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..5000).map(|_| ids.next(to(1))).collect::<Vec<_>>()))
            .collect();
        threads.into_iter().flat_map(|t| t.join().expect("no panic")).collect()
    });
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), all.len());
}

/// Not within the minute for which fragments are kept, where ten thousand go to one host a second.
#[test]
fn those_of_ipv6_do_not_come_again_soon() {
    // RFC 8200 4.5/7
    let shared = Identifications::shared(&Config::new(Vec::new(), 7));
    for ids in [own(0, 1), own(0, 8), own(7, 8), own(2, 3), shared] {
        let mut seen = HashSet::new();
        for n in 0..600_000 {
            assert!(seen.insert(ids.next_v6(to_v6(1))), "{n}");
        }
    }
}

#[test]
fn those_of_ipv6_tell_nothing_of_others_and_are_one_units() {
    let ids = own(0, 1);
    let before = ids.next_v6(to_v6(1));
    let begins: HashSet<u32> = (100..200).map(|n| ids.next_v6(to_v6(n)) ^ before).collect();
    assert!(begins.len() == 100 && begins.iter().filter(|begin| **begin < 1 << 16).count() < 3);
    // More destinations than sequences: they share them, and none repeats itself.
    let mut seen = HashSet::from([before]);
    for _ in 0..20 {
        for n in 2..4000 {
            ids.next_v6(to_v6(n));
        }
        assert!(seen.insert(ids.next_v6(to_v6(1))));
    }
    let units: Vec<HashSet<u32>> = (0..4)
        .map(|index| own(index, 4))
        .map(|ids| (0..1000).map(|_| ids.next_v6(to_v6(1))).collect())
        .collect();
    for (i, of) in units.iter().enumerate() {
        assert_eq!(of.len(), 1000);
        assert!(units[..i].iter().all(|other| of.is_disjoint(other)));
    }
}
