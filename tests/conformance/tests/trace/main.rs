//! For the same arrival order of packets, every organization that keeps order
//! gives each connection the same trace.
//!
//! A scenario ([`script`]) is a list of segments and datagrams of several
//! connections, in the order of their arrival. Segments come out of order, twice, or
//! overlap with different bytes; FIN, RST and SYN are in between. What the application
//! sees then depends on that order. The first byte for a place in the stream stays. A RST
//! ends the connection only if all before it has come. A FIN ends the stream at its
//! place. The same scenario is played, frame by frame, to a domain that is driven by
//! hand, and by a device in memory to each organization. The traces have to be equal.
//!
//! It is played by the system's threads (`threads`), and under random schedules
//! (`schedules`), which find rare interleavings in seconds.
//!
//! A trace has nothing that time and batches decide: the number of acknowledgments, the
//! sizes of the application's reads, retransmissions.

mod app;
mod far;
mod known;
mod link;
#[cfg(shuttle)]
mod schedules;
mod script;
#[cfg(not(shuttle))]
mod threads;

use app::Trace;
use far::Far;
use link::{ByHand, Threads};
use organizations::{CATALOG, Choice, Options, find};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use script::{Manner, Opener, Plan, Scenario, Step};

/// An organization as it is played to.
#[derive(Clone, Debug)]
struct Case {
    name: &'static str,
    processors: usize,
    options: Options,
    /// Datagrams of a flow arrive in order.
    ordered_datagrams: bool,
}

/// Does it keep order by default? Tickets, for organizations that have them, are not
/// for datagrams.
fn is_ordered(name: &str, processors: usize) -> bool {
    processors == 1 || find(name).is_some_and(|entry| entry.keeps_order)
}

/// All organizations that keep order, or can.
fn cases() -> Vec<Case> {
    let case = |entry: &organizations::Entry, processors| Case {
        name: entry.name,
        processors,
        options: Options::default()
            .with_order(entry.choices.contains(&Choice::Order))
            .with_groups(5)
            .with_virtual_processors(3),
        ordered_datagrams: is_ordered(entry.name, processors),
    };
    let all = CATALOG.iter().flat_map(|e| {
        let most = if e.single { 1 } else { 2 };
        let can = |p: &usize| is_ordered(e.name, *p) || e.choices.contains(&Choice::Order);
        (1..=most).filter(can).map(|processors| case(e, processors)).collect::<Vec<_>>()
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

/// The source of `cases` scenarios, which are the same each time.
fn runner(cases: u32) -> TestRunner {
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let config =
        Config { cases, max_shrink_iters: 200, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, seed)
}

/// The trace of this scenario has to be the right one.
fn compare(case: &Case, scenario: &Scenario, right: &Trace) -> Result<(), String> {
    let (mut trace, mut right) = (under(case, scenario), right.clone());
    if !case.ordered_datagrams {
        trace.sort_datagrams();
        right.sort_datagrams();
    }
    match trace == right {
        true => Ok(()),
        false => Err(format!("{case:?}: {trace:?} instead of {right:?}")),
    }
}

/// Every organization in the catalog, kept in order or not, and on how many
/// processors.
fn everywhere() -> impl Iterator<Item = (&'static str, usize)> {
    CATALOG.iter().flat_map(|e| (1..=if e.single { 1 } else { 2 }).map(|p| (e.name, p)))
}

fn three(opener: Opener, manner: Manner) -> Scenario {
    let steps = (0..3).map(|flow| Step::Data { flow, place: 0, len: 4, twist: 0 }).collect();
    Scenario { plans: vec![Plan { opener, manner }; 3], steps, batches: vec![1] }
}

/// Connections that the stack closes first.
fn closing() -> Scenario {
    three(Opener::Peer, Manner::Close(700))
}

/// From the handshake to TIME-WAIT, which answers a repeated FIN.
fn in_time_wait((name, processors): (&'static str, usize)) {
    let stack = Threads::new(name, processors, Options::default());
    Far::new(&closing()).in_time_wait(stack, is_ordered(name, processors));
}

/// Segments come in fragments, in reverse order, on any queue.
fn in_fragments((name, processors): (&'static str, usize)) {
    let scenario = three(Opener::Stack, Manner::Echo);
    let right = Far::new(&scenario).fragmenting().play(ByHand::new());
    let stack = Threads::new(name, processors, Options::default());
    let trace = Far::new(&scenario).fragmenting().play(stack);
    assert_eq!(trace, right, "{name} on {processors}");
}
