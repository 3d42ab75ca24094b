//! For the same arrival order of packets, every organization that keeps order
//! gives each connection the same trace.
//!
//! A scenario ([`script`]) is a list of segments and datagrams of several
//! connections, in the order in which they arrive: in order and not, twice,
//! overlapping with other bytes than before, FIN, RST and SYN in between. What
//! the application sees then depends on that order: the first byte that came for
//! a place in the stream stays, a RST ends the connection only if all before it
//! has come, a FIN ends the stream where it is. The same scenario is played to a
//! domain that is driven by hand, frame by frame, and to each organization, by
//! way of a device in memory; the traces have to be equal.
//!
//! What time and batches decide is not in a trace: how many acknowledgments
//! there are, how the application's reads are cut, what is sent again.

mod app;
mod far;
mod known;
mod link;
mod script;

use anabranch_conformance::within;
use app::Trace;
use far::Far;
use link::{ByHand, Threads};
use organizations::catalog::CATALOG;
use organizations::{Choice, Options};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use script::{Manner, Opener, Plan, Scenario, Step};

/// Scenarios that are played to every organization.
const CASES: u32 = 64;

/// An organization as it is played to.
#[derive(Clone, Debug)]
struct Case {
    name: &'static str,
    processors: usize,
    options: Options,
    /// Datagrams of a flow arrive in order.
    ordered_datagrams: bool,
}

/// All that keep order. Two do not, on more than one processor: threads of
/// `message-parallel` overtake each other, unless they draw tickets, which
/// datagrams never do; and those of `engines` share one queue.
fn cases() -> Vec<Case> {
    let case = |entry: &organizations::Entry, processors| Case {
        name: entry.name,
        processors,
        options: Options {
            order: entry.choices.contains(&Choice::Order),
            groups: 5,
            virtual_processors: 3,
            ..Options::default()
        },
        ordered_datagrams: processors == 1 || entry.name != "message-parallel",
    };
    let all = CATALOG.iter().flat_map(|e| {
        let most = if e.single || e.name == "engines" { 1 } else { 2 };
        (1..=most).map(move |processors| case(e, processors))
    });
    all.collect()
}

/// The traces when the domain is driven by hand.
fn by_hand(scenario: &Scenario) -> Trace {
    Far::new(scenario).play(ByHand::new())
}

fn under(case: &Case, scenario: &Scenario) -> Trace {
    Far::new(scenario).play(Threads::new(case.name, case.processors, case.options.clone()))
}

#[test]
fn traces_are_the_same_under_every_organization() {
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config = Config {
        cases: CASES,
        max_shrink_iters: 200,
        failure_persistence: None,
        ..Config::default()
    };
    let played = TestRunner::new_with_rng(config, seed).run(&script::scenarios(), |scenario| {
        let right = by_hand(&scenario);
        for case in cases() {
            let mut trace = under(&case, &scenario);
            let mut right = right.clone();
            if !case.ordered_datagrams {
                trace.sort_datagrams();
                right.sort_datagrams();
            }
            prop_assert_eq!(&trace, &right, "{:?}", case);
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

/// Traces would show it if the order were another.
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

/// Threads of every organization in the catalog, kept in order or not.
fn everywhere() -> impl Iterator<Item = Threads> {
    let all = CATALOG.iter().flat_map(|e| (1..=if e.single { 1 } else { 2 }).map(|p| (e.name, p)));
    all.map(|(name, processors)| Threads::new(name, processors, Options::default()))
}

fn three(opener: Opener, manner: Manner) -> Scenario {
    let steps = (0..3).map(|flow| Step::Data { flow, place: 0, len: 4, twist: 0 }).collect();
    Scenario { plans: vec![Plan { opener, manner }; 3], steps, batches: vec![1] }
}

/// From the handshake to TIME-WAIT, which is there for those who ask again.
#[test]
fn time_wait_answers() {
    within("TIME-WAIT", || {
        let scenario = three(Opener::Peer, Manner::Close(700));
        Far::new(&scenario).in_time_wait(ByHand::new());
        everywhere().for_each(|stack| Far::new(&scenario).in_time_wait(stack));
    });
}

/// Segments that come in fragments, backwards, whichever queue has them.
#[test]
fn segments_come_in_fragments() {
    within("fragments", || {
        let scenario = three(Opener::Stack, Manner::Echo);
        let right = Far::new(&scenario).fragmenting().play(ByHand::new());
        for stack in everywhere() {
            let name = stack.name();
            assert_eq!(Far::new(&scenario).fragmenting().play(stack), right, "{name}");
        }
    });
}
