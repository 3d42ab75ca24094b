//! Scenarios as the system's threads play them.

use crate::far::Far;
use crate::link::ByHand;
use crate::script::{self, Manner, Opener, Plan, Scenario, Step};
use crate::{
    Trace, by_hand, cases, closing, compare, everywhere, in_fragments, in_time_wait, runner,
};
use anabranch_conformance::within;
use proptest::test_runner::TestCaseError;

/// Scenarios that are played to every organization.
const CASES: u32 = 64;

#[test]
fn traces_are_the_same_under_every_organization() {
    let played = runner(CASES).run(&script::scenarios(), |scenario| {
        let right = by_hand(&scenario);
        for case in cases() {
            compare(&case, &scenario, &right).map_err(TestCaseError::fail)?;
        }
        Ok(())
    });
    if let Err(error) = played {
        panic!("{error}");
    }
}

fn one(steps: Vec<Step>) -> Trace {
    let plan = Plan { opener: Opener::Peer, manner: Manner::Echo };
    by_hand(&Scenario { plans: vec![plan], steps, batches: vec![1] })
}

fn data(place: u16, twist: u8) -> Step {
    Step::Data { flow: 0, place, len: 2, twist }
}

/// Traces show a wrong order.
#[test]
fn traces_depend_on_the_order() {
    let pairs = [
        [data(0, 1), data(1, 2)],
        [data(0, 1), Step::Reset { flow: 0, place: 2 }],
        [data(0, 1), Step::Fin { flow: 0, place: 0 }],
        [Step::Datagram { flow: 0, len: 1 }, Step::Datagram { flow: 0, len: 2 }],
    ];
    for [a, b] in pairs {
        within("two orders", move || {
            let (one, other) = (one(vec![a.clone(), b.clone()]), one(vec![b.clone(), a.clone()]));
            assert_ne!(one, other, "{a:?}, {b:?}");
        });
    }
}

#[test]
fn time_wait_answers() {
    within("TIME-WAIT", || {
        Far::new(&closing()).in_time_wait(ByHand::new(), true);
        everywhere().for_each(in_time_wait);
    });
}

#[test]
fn segments_come_in_fragments() {
    within("fragments", || everywhere().for_each(in_fragments));
}
