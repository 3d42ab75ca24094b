//! Chance that a schedule can repeat.

use shuttle::rand::{RngCore, thread_rng};
use std::hash::{BuildHasher, DefaultHasher, Hasher};

/// Makes hashers with a key that the schedule gives, as
/// [`std::hash::RandomState`] does with one that nobody knows.
#[derive(Clone, Debug)]
pub struct RandomState(u64);

impl RandomState {
    /// With a key of its own.
    pub fn new() -> RandomState {
        RandomState(thread_rng().next_u64())
    }
}

impl Default for RandomState {
    fn default() -> RandomState {
        RandomState::new()
    }
}

impl BuildHasher for RandomState {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0);
        hasher
    }
}
