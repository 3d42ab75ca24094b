//! Scenarios under random schedules. All threads of an organization are shuttle's, and
//! time passes only when no thread has work ([`platform`]). A schedule that fails is printed and can be replayed. Run with
//! `RUSTFLAGS="--cfg shuttle" cargo test -p anabranch-conformance --test trace`.

use crate::{by_hand, cases, compare, everywhere, in_fragments, in_time_wait, runner, script};
use platform;
use proptest::strategy::{Strategy, ValueTree};

/// Scenarios that are played to every organization.
const CASES: u32 = 16;
/// Schedules of each kind and scenario, unless the environment says otherwise.
const SCHEDULES: usize = 50;

fn schedules() -> usize {
    let schedules = std::env::var("ANABRANCH_SCHEDULES");
    schedules.map_or(SCHEDULES, |n| n.parse().expect("a number"))
}

/// Plays to every other organization of the catalog.
fn check(from: usize) {
    let mut runner = runner(CASES);
    for _ in 0..CASES {
        let tree = script::scenarios().new_tree(&mut runner).expect("a scenario");
        let scenario = tree.current();
        for case in cases().into_iter().skip(from).step_by(2) {
            let scenario = scenario.clone();
            platform::check(schedules(), move || {
                let right = by_hand(&scenario);
                compare(&case, &scenario, &right).unwrap_or_else(|error| panic!("{error}"));
            });
        }
    }
}

#[test]
fn traces_are_the_same_under_every_organization() {
    check(0);
}

#[test]
fn traces_are_the_same_under_every_other() {
    check(1);
}

#[test]
fn time_wait_answers() {
    everywhere().for_each(|place| platform::check(schedules(), move || in_time_wait(place)));
}

#[test]
fn segments_come_in_fragments() {
    everywhere().for_each(|place| platform::check(schedules(), move || in_fragments(place)));
}
