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
    let mut bytes = Bytes::new(bytes);
    let mut world = World::of(topic, &mut bytes);
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
    world.end()
}
