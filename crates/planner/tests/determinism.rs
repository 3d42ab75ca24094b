//! The same seed gives the same figures, byte for byte, in this process and on every
//! machine. For the latter there are recorded figures. If a change of the simulator is
//! meant to change them, record them again. If they differ between machines, something
//! depends on the platform's mathematics or on the order of threads.

extern crate anabranch_planner as planner;

use planner::Network;
use planner::simulator::network::{Asked, Routing, simulate};

const NETWORK: &str = r#"
    name = "a bit of everything"
    rate_per_s = 60_000
    [[class]]
    name = "small"
    share = 0.7
    [[class]]
    name = "large"
    share = 0.3
    [[station]]
    name = "device"
    kind = "split"
    queues = 3
    service_us = { small = 2, large = 9 }
    [[station]]
    name = "protocol"
    kind = "multi-server"
    servers = 2
    visits = 1.7
    service_us = { small = 8, large = 11 }
    [[station]]
    name = "table"
    kind = "lock"
    visits = { small = 2, large = 0.5 }
    service_us = 1
    acquire_us = 0.25
    [[station]]
    name = "application"
    kind = "delay"
    service_us = 30
"#;

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn json(asked: &Asked) -> String {
    let network = Network::from_toml(NETWORK).unwrap();
    serde_json::to_string(&simulate(&network, asked).unwrap()).unwrap()
}

#[test]
fn a_network_gives_the_recorded_bytes() {
    let asked = Asked { seed: 42, customers: 2_000, ..Asked::default() };
    let at_random = Asked { routing: Routing::AtRandom, ..asked };
    let (one, two) = (json(&asked), json(&at_random));
    assert_eq!(one, json(&asked));
    let recorded = (15_479_878_649_495_055_809, 10_781_381_299_937_077_363);
    assert_eq!((hash(one.as_bytes()), hash(two.as_bytes())), recorded, "{one}");
}
