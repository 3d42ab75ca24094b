//! The simulated organizations, from outside: what comes goes, and nothing is lost
//! of any processor's time.

use planner::Work;
use planner::simulator::{Arrivals, Costs, Outcome, Scenario, run};

const COSTS: &str = r#"
[layers]
receive_ns = 60
link_in_ns = 15
ip_in_ns = 30
transport_in_ns = 120
application_ns = 30
transport_out_ns = 100
ip_out_ns = 20
link_out_ns = 15
transmit_ns = 60
presentation_ns = 5

[rounds]
round_ns = 100
empty_poll_ns = 30
visit_ns = 40
scan_ns = 2
sleep_ns = 400

[locks.adaptive]
alone_ns = 15
contended_ns = 120
per_waiter_ns = 5
spin_ns = 2000

[steps]
demultiplex_ns = 5
filter_ns = 20
lookup_ns = 20
ticket_ns = 8
schedule_ns = 30

[hand_off]
item_ns = 15
batch_ns = 60

[threads]
wake_call_ns = 1000
wake_up_ns = 5000
context_switch_ns = 1500

[caches]
line_transfer_ns = 60
connection_lines = 4
unit_lines = 6
packet_lines = 3
thread_lines = 40
"#;

fn scenario(organization: &str, processors: usize, connections: usize) -> Scenario {
    let costs = Costs::parse(COSTS).expect("the costs are fine");
    let mut scenario = Scenario::new(organization, processors, connections, Work::TcpRr, costs);
    scenario.operations = 20_000;
    scenario
}

fn check(outcome: &Outcome, what: &str) {
    assert_eq!(
        outcome.arrived,
        outcome.completed_in_all + outcome.dropped_in_all + outcome.in_flight,
        "{what}"
    );
    for p in &outcome.processors {
        let sum = p.work + p.lock + p.hand_off + p.cache + p.scheduling + p.overhead + p.idle;
        assert!((sum - 1.0).abs() < 1e-9, "{what}: {p:?}");
    }
}

#[test]
fn what_comes_goes() {
    for entry in organizations::CATALOG {
        for processors in [1, 2, 5, 20, 64] {
            if entry.single && processors > 1 {
                continue;
            }
            for connections in [1, 16, 500] {
                let scenario = scenario(entry.name, processors, connections);
                let what = format!("{} {processors} {connections}", entry.name);
                let outcome = run(&scenario).expect(&what);
                assert!(outcome.completed_in_all >= scenario.operations, "{what}: {outcome:?}");
                check(&outcome, &what);
                println!(
                    "{what}: {:.0}/s p99 {:.0} ns, {:.1} events",
                    outcome.operations_per_s,
                    outcome.latency.p99_ns,
                    outcome.events as f64 / outcome.completed_in_all as f64,
                );
            }
        }
    }
    let _ = Arrivals::Closed { window: 1, think_ns: 0.0 };
}
