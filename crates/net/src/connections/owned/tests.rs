use super::*;
use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

/// One of 512 flows. Most share their place among the near ones, and many their ports.
fn flow(n: u16) -> FlowKey {
    let end = |last, port| Endpoint { address: Ipv4Addr::new(10, 0, 0, last).into(), port };
    FlowKey { local: end(1, 80), remote: end((n / 4 % 8) as u8, 1024 + n % 4 * 256 + n / 32) }
}

fn tcb(flow: &FlowKey) -> Tcb {
    let now = Instant::from_millis(1000);
    let isn = tcp::isn::Generator::new([1; 16], Duration::ZERO).isn(flow, now);
    Tcb::connect(&Arc::new(tcp::Config::default()), isn, 1460, now)
}

/// Connections are opened, looked for and closed, as a map has them.
#[test]
fn whoever_looks_for_a_flow_finds_its_connection_or_none() {
    let mut table = OwnedTable::new(0, &Config::new(Vec::new(), 7));
    let mut map: HashMap<u16, ConnId> = HashMap::new();
    let (mut random, mut found, mut missed) = (1u64, 0, 0);
    for step in 0..60_000u32 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let n = (random >> 33) as u16 % 512;
        match (random >> 50) % 16 {
            0 => {
                if let Ok(id) = table.open(flow(n), tcb(&flow(n)), n) {
                    assert_eq!(map.insert(n, id), None, "step {step}");
                }
            }
            1 => {
                let closed = map.remove(&n).and_then(|id| table.close(id, Instant::ZERO));
                assert!(closed.is_none_or(|c| c.user == n && c.flow == flow(n)), "step {step}");
            }
            turn => {
                if turn % 2 == 0 {
                    // Whoever is asked for, there or not, changes nothing.
                    let near = [flow(n), flow((random >> 20) as u16 % 512)];
                    table.ask_for(&near[..1 + turn as usize % 4 / 2]);
                    table.go_on();
                }
                let here = table.with_flow(&flow(n), |c| (c.id, c.user, c.flow));
                assert_eq!(here, map.get(&n).map(|id| (*id, n, flow(n))), "step {step}");
                if here.is_some() { found += 1 } else { missed += 1 }
            }
        }
        assert_eq!(table.len(), map.len());
    }
    assert!(found > 10_000 && missed > 10_000, "{found} {missed}");
}

/// What plain segments touch of a connection: each line of it comes from memory, several times for a
/// transaction, where connections are many.
#[test]
fn what_plain_segments_touch_lies_together() {
    let (hot, whole) = (Connection::<u64>::HOT, size_of::<Connection<u64>>());
    assert!(hot.len() <= 13 * 64 && hot.end <= whole - 64, "{hot:?} of {whole}");
}

/// However connections share their pairs: nearly all of many are found without the hash.
#[test]
fn of_many_connections_nearly_all_are_near() {
    const MANY: u16 = 30_000;
    let flow = |n: u16| {
        let [a, b, c, d, ..] = platform::SplitMix64::new(n.into()).next_u64().to_le_bytes();
        let local = Endpoint { address: Ipv4Addr::new(10, 0, 0, 1).into(), port: 7 };
        let port = u16::from_le_bytes([c, d]);
        FlowKey { local, remote: Endpoint { address: Ipv4Addr::new(10, 1, a, b).into(), port } }
    };
    let mut table = OwnedTable::new(0, &Config::new(Vec::new(), 7));
    for n in 0..MANY {
        table.open(flow(n), tcb(&flow(n)), n).expect("there is room");
    }
    let mut is_near = |n: u16| {
        let (ports, place) = table.near_place(&flow(n));
        table.with_flow(&flow(n), |c| assert_eq!(c.user, n)).expect("it is there");
        table.near[place].slot(ports).is_some()
    };
    assert!((0..MANY).all(&mut is_near), "whoever was looked for is near");
    let near = (0..MANY).filter(|n| {
        let (ports, place) = table.near_place(&flow(*n));
        table.near[place].slot(ports).is_some()
    });
    let near = near.count();
    assert!(near > usize::from(MANY) * 95 / 100, "{near} of {MANY}");
}
