//! The simulated organizations from outside: every operation is accounted for, and so is
//! every processor's time. No thread waits for ever. The same seed gives the same figures.

extern crate anabranch_planner as planner;

use planner::Work;
use planner::simulator::scenario::{Limits, Steering};
use planner::simulator::{Arrivals, Costs, Outcome, Scenario, run};
use proptest::prelude::*;
use sync::LockKind;

/// Approximate costs of a current machine.
const COSTS: &str = include_str!("data/costs.toml");

fn costs() -> Costs {
    Costs::parse(COSTS).expect("the costs are fine")
}

fn scenario(organization: &str, processors: usize, connections: usize) -> Scenario {
    let mut scenario = Scenario::new(organization, processors, connections, Work::TcpRr, costs());
    scenario.operations = 20_000;
    scenario
}

fn names(processors: usize) -> impl Iterator<Item = &'static str> {
    let fits = move |entry: &&catalog::Entry| !entry.single || processors == 1;
    catalog::CATALOG.iter().filter(fits).map(|entry| entry.name)
}

/// Properties of every run.
fn conserves(outcome: &Outcome, what: &str) {
    let accounted = outcome.completed_in_all + outcome.dropped_in_all + outcome.in_flight;
    assert_eq!(outcome.arrived, accounted, "{what}");
    for p in &outcome.processors {
        let sum = p.work + p.lock + p.hand_off + p.cache + p.scheduling + p.overhead + p.idle;
        assert!((sum - 1.0).abs() < 1e-9, "{what}: {p:?}");
    }
    for station in &outcome.stations {
        assert!(station.utilization <= 1.0 + 1e-9, "{what}: {station:?}");
    }
}

#[test]
fn what_comes_goes() {
    for processors in [1, 2, 5, 20, 64] {
        for name in names(processors) {
            for connections in [1, 16, 500] {
                let scenario = scenario(name, processors, connections);
                let what = format!("{name} {processors} {connections}");
                let outcome = run(&scenario).expect(&what);
                assert!(outcome.completed_in_all >= scenario.operations, "{what}: {outcome:?}");
                conserves(&outcome, &what);
            }
        }
    }
}

#[test]
fn the_work_itself_is_what_was_asked_for() {
    // Without contention, hand-offs and waiting, a processor's time is that of the
    // layers, and little else.
    let scenario = scenario("uniprocessor", 1, 64);
    let outcome = run(&scenario).expect("it runs");
    let layers: f64 = 60.0 + 15.0 + 30.0 + 120.0 + 30.0 + 100.0 + 20.0 + 15.0 + 60.0 + 5.0;
    assert!((outcome.per_operation.work_ns - layers).abs() < 1.0, "{:?}", outcome.per_operation);
    assert_eq!(outcome.per_operation.lock_ns, 0.0);
    assert_eq!(outcome.per_operation.hand_off_ns, 0.0);
    let per_batch = 100.0 + 40.0;
    let ns = 1e9 / outcome.operations_per_s;
    assert!((ns - layers - per_batch / 64.0).abs() < 1.0, "{ns} ns an operation");
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    for name in names(2) {
        let mut scenario = scenario(name, 2, 100);
        scenario.costs.variation = 0.5;
        scenario.arrivals = Arrivals::Poisson { rate_per_s: 400_000.0 };
        let json = |scenario: &Scenario| {
            serde_json::to_string(&run(scenario).expect("it runs")).expect("it is JSON")
        };
        let first = json(&scenario);
        assert_eq!(first, json(&scenario), "{name}");
        scenario.seed += 1;
        assert_ne!(first, json(&scenario), "{name}");
    }
}

#[test]
fn an_open_load_below_capacity_is_carried() {
    for name in names(4) {
        let mut scenario = scenario(name, 4, 200);
        scenario.arrivals = Arrivals::Poisson { rate_per_s: 100_000.0 };
        let outcome = run(&scenario).expect("it runs");
        let error = outcome.operations_per_s / 100_000.0 - 1.0;
        assert!(error.abs() < 0.03, "{name}: {}/s", outcome.operations_per_s);
        assert_eq!(outcome.dropped_in_all, 0, "{name}");
        conserves(&outcome, name);
    }
}

#[test]
fn what_has_no_room_is_dropped_and_counted() {
    for name in names(2) {
        let mut scenario = scenario(name, 2, 64);
        scenario.arrivals = Arrivals::Poisson { rate_per_s: 2e7 };
        scenario.limits.device = 256;
        let outcome = run(&scenario).expect("it runs");
        assert!(outcome.dropped > outcome.completed, "{name}: {outcome:?}");
        conserves(&outcome, name);
    }
}

#[test]
fn a_trace_ends() {
    for name in names(3) {
        let mut scenario = scenario(name, 3, 10);
        scenario.arrivals = Arrivals::Trace((0..1000).map(|n| n * 5_000).collect());
        let outcome = run(&scenario).expect("it runs");
        assert_eq!(outcome.completed_in_all, 1000, "{name}");
        assert_eq!(outcome.in_flight, 0, "{name}");
    }
}

fn lock() -> impl Strategy<Value = LockKind> {
    proptest::sample::select(LockKind::ALL.to_vec())
}

fn arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        3 => (1usize..6, prop_oneof![Just(0.0), Just(5e3), Just(1e6)])
            .prop_map(|(window, think_ns)| Arrivals::Closed { window, think_ns }),
        1 => (4.0..7.5f64).prop_map(|e| Arrivals::Poisson { rate_per_s: libm::exp10(e) }),
    ]
}

prop_compose! {
    /// Costs of any size, many of them 0.
    fn any_costs()(
        scale in prop::array::uniform8(prop_oneof![Just(0.0), Just(1.0), 0.1..20.0f64]),
        variation in prop_oneof![Just(0.0), 0.0..1.0f64],
        slice in prop_oneof![Just(3e6), Just(2e4), Just(500.0)],
        speaks in prop::bool::weighted(0.1),
    ) -> Costs {
        let mut costs = costs();
        costs.variation = variation;
        costs.threads.time_slice_ns = slice;
        costs.threads.wake_call_ns *= scale[0];
        costs.threads.wake_up_ns *= scale[1];
        costs.threads.context_switch_ns *= scale[2];
        costs.rounds.sleep_ns *= scale[3];
        costs.rounds.empty_poll_ns *= scale[3];
        costs.caches.line_transfer_ns *= scale[4];
        costs.layers.presentation_ns *= scale[6];
        costs.hand_off.sleep_lock_ns = 1e3 * scale[5];
        for lock in costs.locks.values_mut() {
            lock.alone_ns *= scale[5];
            lock.contended_ns *= scale[6];
            lock.spin_ns *= scale[7];
        }
        if speaks {
            costs.frames.per_operation_in = 0.0;
        }
        costs
    }
}

prop_compose! {
    fn any_limits()(
        device in prop_oneof![Just(0usize), 1usize..300],
        lengths in prop::array::uniform6(prop_oneof![1usize..4, 1usize..2000]),
        shards in 1usize..65,
    ) -> Limits {
        let [mailbox, packet_queue, receive_queue, up, down, presentation] = lengths;
        Limits { device, mailbox, packet_queue, receive_queue, up, down, presentation, shards }
    }
}

prop_compose! {
    fn any_scenario()(
        name in proptest::sample::select(names(1).collect::<Vec<_>>()),
        processors in prop_oneof![1usize..4, 1usize..65],
        connections in prop_oneof![1usize..20, 1usize..3073],
        lock in lock(),
        (pin, order, even) in any::<(bool, bool, bool)>(),
        groups in prop_oneof![1u16..4, 1u16..300],
        engines in 0u16..65,
        burst in 1usize..65,
        extra_queues in prop_oneof![Just(0usize), 0usize..7],
        costs in any_costs(),
        arrivals in arrivals(),
        (limits, any_limits) in (any_limits(), any::<bool>()),
        short in 0usize..3,
        seed in any::<u64>(),
    ) -> Scenario {
        let processors = if name == "uniprocessor" { 1 } else { processors };
        let mut scenario = Scenario::new(name, processors, connections, Work::TcpRr, costs);
        scenario.options.lock = lock;
        (scenario.options.pin, scenario.options.order) = (pin, order);
        (scenario.options.groups, scenario.options.virtual_processors) = (groups, groups);
        scenario.options.engines = (0, engines.min(processors as u16));
        scenario.burst = burst;
        scenario.queues = processors + extra_queues;
        scenario.steering = if even { Steering::Even } else { Steering::Hash };
        scenario.arrivals = arrivals;
        scenario.limits = if any_limits { limits } else { Limits::default() };
        scenario.short_lived = if short == 0 { connections / 3 } else { 0 };
        scenario.seed = seed;
        scenario.operations = 3_000;
        scenario
    }
}

#[test]
fn nobody_starves() {
    for name in names(4) {
        for lock in LockKind::ALL {
            let mut scenario = scenario(name, 4, 12);
            scenario.options.lock = lock;
            let outcome = run(&scenario).expect("it runs");
            assert!(outcome.least_of_a_connection > 20, "{name} {lock:?}: {outcome:?}");
        }
    }
}

#[test]
fn what_makes_no_sense_is_said_in_a_line() {
    type Change = fn(&mut Scenario);
    let changes: [(Change, &str); 14] = [
        (|s| s.organization = "chaos".into(), "processor-per-connection"),
        (|s| s.processors = 0, "1 to 64"),
        (|s| s.processors = 65, "1 to 64"),
        (|s| s.organization = "uniprocessor".into(), "--processors 1"),
        (|s| s.connections = 0, "1 to 1000000"),
        (|s| s.arrivals = Arrivals::Closed { window: usize::MAX, think_ns: 0.0 }, "window"),
        (|s| s.arrivals = Arrivals::Poisson { rate_per_s: f64::NAN }, "rate"),
        (|s| s.queues = 1, "2 to 1024"),
        (|s| s.burst = 0, "1 to 4096"),
        (|s| s.peer_ns = f64::INFINITY, "0 to 1e12"),
        (|s| s.warm_up = -1.0, "0 to 0.9"),
        (|s| s.operations = 0, "1 to 1000000000"),
        (|s| s.options.engines = (3, 2), "--engines"),
        (|s| s.costs.layers.ip_in_ns = f64::NAN, "layers.ip_in_ns"),
    ];
    for (change, says) in changes {
        let mut scenario = scenario("group-locks", 2, 10);
        change(&mut scenario);
        let error = run(&scenario).expect_err("it makes no sense").to_string();
        assert!(error.contains(says) && !error.contains('\n'), "{error}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, max_shrink_iters: 60, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_nobody_waits_for_ever(scenario in any_scenario()) {
        let outcome = match (run(&scenario), &scenario.arrivals) {
            // All packets may come before each thread has had its first turn. They are served
            // although no more come.
            (Err(error), &Arrivals::Poisson { rate_per_s })
                if error.to_string().contains("completed none of the") =>
            {
                return serves_all(scenario, (1e9 / rate_per_s) as u64);
            }
            (outcome, _) => outcome.expect("it runs"),
        };
        conserves(&outcome, &scenario.organization);
        if scenario.arrivals.is_closed() && scenario.limits == Limits::default() {
            prop_assert!(outcome.completed_in_all >= scenario.operations, "{outcome:?}");
        }
        prop_assert!(outcome.completed_in_all > 0, "{outcome:?}");
    }

    #[test]
    fn all_of_a_trace_is_done(scenario in any_scenario(), gap in 0u64..20_000) {
        serves_all(scenario, gap)?;
    }
}

/// After the last arrival, all queues become empty.
fn serves_all(mut scenario: Scenario, gap: u64) -> Result<(), TestCaseError> {
    scenario.arrivals = Arrivals::Trace((0..2000).map(|n| n * gap).collect());
    let outcome = run(&scenario).expect("it runs");
    conserves(&outcome, &scenario.organization);
    prop_assert!(outcome.completed_in_all > 0);
    prop_assert_eq!(outcome.completed_in_all + outcome.dropped_in_all, 2000);
    Ok(())
}

/// Before, such a run ended at once, and said that operations take no time at all.
#[test]
fn a_run_that_completes_nothing_is_no_figure() {
    let mut scenario = scenario("group-locks", 2, 64);
    scenario.operations = 1000;
    scenario.arrivals = Arrivals::Poisson { rate_per_s: 1e12 };
    let error = run(&scenario).expect_err("nothing is done so soon").to_string();
    assert!(error.contains("lower rate") && !error.contains('\n'), "{error}");
}

/// What is under way from the beginning is not what comes again and again and is dropped.
#[test]
fn more_connections_than_operations_are_simulated_to_the_end() {
    for name in names(2) {
        for think_ns in [0.0, 1e6] {
            let mut scenario = scenario(name, 2, 200_000);
            scenario.operations = 1000;
            scenario.arrivals = Arrivals::Closed { window: 1, think_ns };
            let outcome = run(&scenario).expect(name);
            assert!(
                outcome.completed >= 800 && outcome.latency.p50_ns > 0.0,
                "{name}: {outcome:?}"
            );
        }
    }
}
