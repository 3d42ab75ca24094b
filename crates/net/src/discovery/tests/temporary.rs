//! Temporary addresses (RFC 8981), one after the other.

use super::routers::{HOUR, added, advertisement, network, prefix};
use super::{Notes, SECOND, host};
use crate::discovery::{Change, Dad, Given};
use std::collections::HashMap;
use std::net::Ipv6Addr;
use std::time::Duration;

#[test]
fn temporary_addresses_follow_each_other() {
    follow_each_other(false);
    // The stable one need not be formed any more.
    follow_each_other(true);
}

fn follow_each_other(stable_by_hand: bool) {
    let (mut host, notes) = host(Dad::Off, Some(true));
    let day = 24 * u64::from(HOUR);
    let frame = advertisement(0, &[prefix(network(1), 0x40, u32::MAX, u32::MAX)]);
    host.take(&frame);
    let changes = notes.take();
    let first = added(&changes);
    assert_eq!(first.len(), 2);
    let is_temporary = |n: usize| matches!(changes[n], Change::Add { temporary: true, .. });
    assert!(!is_temporary(0) && is_temporary(1));
    if stable_by_hand {
        assert_eq!(host.config().discovery.give(0, first[0], 64), Given::Formed);
    }
    // RFC 8981 3.8: preferred for a day at most, and for six tenths of it at least.
    host.wait(Duration::from_secs(day * 6 / 10 - 10));
    host.take(&frame);
    assert_eq!(notes.take(), []);
    let mut at = day * 6 / 10 - 10;
    let second = loop {
        host.wait(SECOND);
        at += 1;
        assert!(at <= day, "it has no successor");
        let changes = notes.take();
        if let [Change::Add { address, temporary: true, .. }] = changes[..] {
            break address;
        }
        assert_eq!(changes, []);
    };
    assert_ne!(second, first[1]);
    // The first is deprecated a few seconds after its successor has come, and gone after two days.
    host.wait(6 * SECOND);
    assert_eq!(notes.take(), [Change::Deprecated(first[1], true)]);
    host.take(&frame);
    assert_eq!(notes.take(), [], "a router does not make it younger");
    host.wait(Duration::from_secs(2 * day - at - 7));
    assert!(!notes.take().contains(&Change::Remove(0, first[1])));
    host.wait(SECOND);
    assert!(notes.take().contains(&Change::Remove(0, first[1])));
}

/// A router says for longer than a temporary address is ever preferred that its network is
/// deprecated, and then that it is not.
#[test]
fn a_network_that_was_deprecated_for_long_has_temporary_addresses_again() {
    let (mut host, notes) = host(Dad::Off, Some(true));
    let says = |preferred| advertisement(0, &[prefix(network(1), 0x40, 168 * HOUR, preferred)]);
    host.take(&says(24 * HOUR));
    host.take(&says(0));
    let mut known = Known::default();
    follow(&notes, &mut known);
    assert!(known.values().all(|(_, deprecated)| *deprecated), "{known:?}");
    for _ in 0..30 {
        host.wait(Duration::from_secs(HOUR.into()));
        host.take(&says(0));
    }
    for _ in 0..2 {
        host.take(&says(24 * HOUR));
        follow(&notes, &mut known);
        let mut preferred: Vec<_> = known.values().filter(|(_, old)| !old).collect();
        preferred.sort();
        assert_eq!(preferred, [&(false, false), &(true, false)], "{known:?}");
    }
}

/// Addresses: whether each is temporary, and whether it is deprecated.
type Known = HashMap<Ipv6Addr, (bool, bool)>;

/// Makes the changes that were told.
fn follow(notes: &Notes, known: &mut Known) {
    for change in notes.take() {
        match change {
            Change::Add { address, temporary, .. } => {
                known.insert(address, (temporary, false));
            }
            Change::Remove(_, address) => {
                known.remove(&address);
            }
            Change::Deprecated(address, is_old) => {
                known.entry(address).and_modify(|(_, deprecated)| *deprecated = is_old);
            }
            _ => {}
        }
    }
}
