use super::*;
use std::collections::HashMap as Map;
use std::net::Ipv4Addr;
use wire::Address;

/// One of 12 ends, of which some are for any address or any port.
fn end(n: u64) -> Endpoint {
    let address = match n % 4 {
        0 => Address::UNSPECIFIED_V4,
        last => Ipv4Addr::new(10, 0, 0, last as u8).into(),
    };
    Endpoint {
        address,
        port: if address.is_unspecified() { n / 4 % 3 } else { 1 + n / 4 % 2 } as u16,
    }
}

fn expected(map: &Map<(Address, u16), u32>, local: Endpoint) -> Option<u32> {
    let any = local.address.unspecified();
    let ends = [(local.address, local.port), (any, local.port), (any, 0)];
    ends.iter().find_map(|end| map.get(end).copied())
}

/// Whatever comes and goes, what is found is what maps would find.
#[test]
fn the_closest_end_is_found_whatever_was_found_before() {
    let (mut bound, mut map) = (Bound::new(Keyed([1, 2])), Map::new());
    let (mut random, mut found) = (7u64, 0);
    for step in 0..50_000u32 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let local = end(random >> 40);
        match (random >> 33) % 8 {
            0 => {
                bound.insert(local, step);
                map.insert((local.address, local.port), step);
            }
            1 => {
                bound.remove(&local);
                map.remove(&(local.address, local.port));
            }
            _ if local.address.is_unspecified() => {}
            _ => {
                let here = bound.find(&local).copied();
                assert_eq!(here, expected(&map, local), "step {step}");
                found += u32::from(here.is_some());
            }
        }
        assert_eq!(bound.entries.len(), map.len());
    }
    assert!(found > 10_000, "{found}");
    assert_eq!(bound.drain().count(), map.len());
    assert_eq!(bound.find(&end(5)), None);
}
