//! Runs of one topic.

use crate::{Bytes, Topic, World};
use net::Counters;

/// Steps of a run of one topic, at most.
const STEPS: usize = 64;

/// As [`run()`](crate::run()), of this topic alone.
///
/// # Panics
/// If the domain violates an invariant.
pub fn run_topic(topic: Topic, bytes: &[u8]) -> Counters {
    run_way(topic, bytes, true).0
}

/// As [`run_topic`], by the ways past the layers and without them: the same must leave, at the
/// same times, and the same be counted.
///
/// # Panics
/// If the domain violates an invariant, or the ways differ.
pub fn run_both_ways(topic: Topic, bytes: &[u8]) -> Counters {
    let (with, without) = (run_way(topic, bytes, true), run_way(topic, bytes, false));
    assert_eq!(with.0, without.0, "with and without");
    assert_eq!(with.1, without.1, "something else was sent");
    with.0
}

fn run_way(topic: Topic, bytes: &[u8], express: bool) -> (Counters, u64) {
    let mut bytes = Bytes::new(bytes);
    let mut world = World::with(topic, &mut bytes, express);
    if topic.is_open() {
        world.establish(0, 3);
    }
    for _ in 0..STEPS {
        if bytes.is_empty() {
            break;
        }
        if world.step(&mut bytes) {
            world.settle();
        }
    }
    world.end_traced()
}
