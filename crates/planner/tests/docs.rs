//! The examples in `docs/planner.md` are networks that can be solved.

extern crate anabranch_planner as planner;

use planner::Network;
use planner::bounds::{Bounds, bounds};

/// The document's examples of networks, by their `name`.
fn examples() -> Vec<Network> {
    let text = include_str!("../../../docs/planner.md");
    let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.map(|block| Network::from_toml(block).expect(block)).collect()
}

#[test]
fn every_example_can_be_solved() {
    let examples = examples();
    assert_eq!(examples.len(), 2);
    for network in &examples {
        assert!(network.solve().is_ok(), "{}", network.name());
    }
}

#[test]
fn the_web_server_saturates_where_the_text_says() {
    let examples = examples();
    let server = examples.iter().find(|network| network.name() == "web server").expect("there");
    let Bounds::Open(bounds) = bounds(server) else { panic!("it is open") };
    let limit = bounds.saturates_at_per_s.expect("there is a queue");
    assert!((limit - 71_429.0).abs() < 0.5, "{limit}");
}
