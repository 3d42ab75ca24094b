//! The shapes in papers, on simulated machines with the papers' costs (`data/*.toml`):
//! which organization is better, and by about how much.

extern crate anabranch_planner as planner;

use planner::Work;
use planner::simulator::scenario::Steering;
use planner::simulator::{Arrivals, Costs, Outcome, Scenario, run};

fn scenario(costs: &str, organization: &str, processors: usize, connections: usize) -> Scenario {
    let costs = Costs::parse(costs).expect("the file is fine");
    let mut s = Scenario::new(organization, processors, connections, Work::TcpReceive, costs);
    s.operations = 30_000;
    s
}

fn rate(scenario: &Scenario) -> f64 {
    let outcome: Outcome = run(scenario).expect("it runs");
    println!(
        "{} {}: {:.0}/s {:?}",
        scenario.organization, scenario.processors, outcome.operations_per_s, outcome.per_operation
    );
    outcome.operations_per_s
}

/// Schmidt and Suda 1996, 4.4: 20 connections, and one network interface, which
/// delivers messages one at a time.
fn schmidt(organization: &str, processors: usize) -> f64 {
    let costs = include_str!("../data/schmidt1996.toml");
    let mut s = scenario(costs, organization, processors, 20);
    s.arrivals = Arrivals::Closed { window: 8, think_ns: 0.0 };
    s.steering = Steering::Even;
    if organization == "message-parallel" {
        (s.steering, s.burst) = (Steering::Hash, 1);
    }
    rate(&s)
}

#[test]
fn connectional_over_message_over_layer() {
    let [connectional, message, layer] =
        ["thread-per-connection", "message-parallel", "layer-parallel"].map(|n| schmidt(n, 20));
    assert!(connectional > 1.3 * message, "{connectional} over {message}");
    assert!(message > 1.3 * layer, "{message} over {layer}");
    // Figure 8: just under 370 Mbit/s.
    let mbit_per_s = connectional * 4096.0 * 8.0 / 1e6;
    assert!((300.0..=420.0).contains(&mbit_per_s), "{mbit_per_s} Mbit/s");
}

#[test]
fn connections_gain_more_from_processors_than_messages() {
    // Figures 11 to 13: the speed-up on 20 processors.
    let [connectional, message, layer] =
        ["thread-per-connection", "message-parallel", "layer-parallel"]
            .map(|name| schmidt(name, 20) / schmidt(name, 1));
    println!("speed-up: {connectional} {message} {layer}");
    assert!(connectional > 15.0, "{connectional}");
    assert!(message < 0.8 * connectional, "{message} and {connectional}");
    assert!(layer < 0.5 * connectional, "{layer} and {connectional}");
}

/// Yates et al. 1996: many connections that always have packets.
fn yates(organization: &str, processors: usize, change: impl Fn(&mut Scenario)) -> f64 {
    let costs = include_str!("../data/yates1996.toml");
    let mut s = scenario(costs, organization, processors, 384);
    s.steering = Steering::Even;
    s.work = Work::UdpReceive;
    change(&mut s);
    rate(&s)
}

#[test]
fn shared_nothing_is_linear() {
    let one = yates("processor-per-connection", 1, |_| ());
    for processors in [2, 4, 8, 12, 16, 20] {
        let speedup = yates("processor-per-connection", processors, |_| ()) / one;
        let ideal = processors as f64;
        assert!((0.95..=1.01).contains(&(speedup / ideal)), "{speedup} on {processors}");
    }
}

#[test]
fn bursts_are_worth_something() {
    // Figure 9: 10 to 20 % for TCP and up to 40 % for UDP.
    let burst = |burst| {
        yates("virtual-processors", 12, |s| {
            s.options.virtual_processors = 12;
            s.burst = burst;
        })
    };
    let gain = burst(16) / burst(1);
    assert!((1.1..=1.4).contains(&gain), "{gain}");
}

/// Willmann et al. 2006: devices do not steer by group, so groups move from core to core.
/// Here they do as the numbers of groups and of cores have no common divisor.
fn willmann(organization: &str, processors: usize) -> f64 {
    let costs = include_str!("../data/willmann2006.toml");
    let mut s = scenario(costs, organization, processors, 1024);
    s.options.groups = 127;
    s.arrivals = Arrivals::Closed { window: 2, think_ns: 0.0 };
    rate(&s)
}

#[test]
fn locks_on_groups_beat_messages_and_threads() {
    let alone = willmann("uniprocessor", 1);
    for processors in [4, 20] {
        let [locks, threads, messages] =
            ["group-locks", "group-threads", "message-parallel"].map(|n| willmann(n, processors));
        assert!(locks > messages, "{processors}: {locks} over {messages}");
        assert!(locks > threads, "{processors}: {locks} over {threads}");
        assert!(locks > 2.0 * alone, "{processors}: {locks} over {alone}");
    }
}

/// Bohra and Iftode 2007, figure 10: operations a second of 8 connections while
/// others are opened and closed.
fn bohra(organization: &str, short_lived: usize) -> f64 {
    let costs = include_str!("../data/bohra2007.toml");
    let mut s = scenario(costs, organization, 2, 8 + short_lived);
    s.short_lived = short_lived;
    s.options.engines = (1, 1);
    s.arrivals = Arrivals::Closed { window: 16, think_ns: 0.0 };
    s.peer_ns = 20e3;
    let outcome = run(&s).expect("it runs");
    (outcome.completed - outcome.completed_short_lived) as f64 / outcome.simulated_s
}

#[test]
fn the_scheduler_keeps_established_connections() {
    let kept = |name| bohra(name, 32) / bohra(name, 0);
    let [engines, early, sched] = ["engines", "engines-early", "engines-sched"].map(kept);
    println!("kept: {engines} {early} {sched}");
    assert!(sched > 1.5 * early && sched > 1.5 * engines, "{sched}, {early}, {engines}");
}
