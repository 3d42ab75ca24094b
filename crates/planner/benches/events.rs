//! Events a second of one thread. Measured are the calendar, by the hold model, a closed
//! network, and packets through 64 processors under each organization. In the hold model
//! (Vaucher and Duval 1975), the next event of a population is taken, and another one is
//! inserted at an exponential distance.
//!
//! Seconds are of processor time, so other load on the machine matters little. A number
//! as argument gives the millions of events for each line (4 by default); packets are a
//! quarter of that. A word selects the organizations whose names contain it.

extern crate anabranch_planner as planner;

use planner::Work;
use planner::network::{Class, Kind, Load, Station};
use planner::simulator::network::{Asked, simulate};
use planner::simulator::{Arrivals, Calendar, Costs, Random, Scenario, Time, run};
use rustix::time::{ClockId, clock_gettime};
use std::hint::black_box;

/// As large as the simulator's own events.
#[derive(Clone, Copy)]
struct Event {
    _what: u32,
    who: u32,
}

fn main() {
    let given = std::env::args().skip(1).find_map(|word| word.parse::<u64>().ok());
    let events = given.unwrap_or(4) * 1_000_000;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build();
    pool.expect("a pool of this thread").install(|| networks(events));
    packets(events / 4);
    println!("{:>10} {:>14} {:>14}", "population", "M events/s", "with libm::log");
    for population in [64, 1_000, 10_000, 100_000] {
        let cheap = hold(population, events, |random| Time(random.below(2_000_000)));
        let dear = hold(population, events, |random| random.exponential_time(Time(1_000_000)));
        println!("{population:>10} {:>14.1} {:>14.1}", cheap / 1e6, dear / 1e6);
    }
}

/// Approximate costs of a current machine.
const COSTS: &str = "
variation = 0.25
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
[rounds]
round_ns = 100
empty_poll_ns = 30
visit_ns = 40
[locks.adaptive]
alone_ns = 15
contended_ns = 120
spin_ns = 2000
[hand_off]
item_ns = 15
batch_ns = 60
[threads]
wake_call_ns = 1000
wake_up_ns = 5000
context_switch_ns = 1500
[caches]
line_transfer_ns = 60
connection_lines = 6
";

/// Packets through 64 processors, 3,072 connections: closed, and at two million a
/// second.
fn packets(operations: u64) {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let words: Vec<String> =
        words.into_iter().filter(|word| word.parse::<u64>().is_err()).collect();
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word));
    let costs = Costs::parse(COSTS).expect("the costs are fine");
    println!("{:>26} {:>8} {:>12} {:>14}", "organization", "s", "M events/s", "events a packet");
    let rate_per_s = 2e6;
    let closed = Arrivals::Closed { window: 1, think_ns: 0.0 };
    for entry in catalog::CATALOG.iter().filter(|entry| !entry.single && wanted(entry.name)) {
        for arrivals in [closed.clone(), Arrivals::Poisson { rate_per_s }] {
            let mut scenario = Scenario::new(entry.name, 64, 3072, Work::TcpRr, costs.clone());
            scenario.options.virtual_processors = 64;
            scenario.operations = operations;
            scenario.arrivals = arrivals;
            let start_s = processor_s();
            match run(&scenario) {
                Ok(outcome) => {
                    let s = processor_s() - start_s;
                    let (events, done) = (outcome.events as f64, outcome.completed_in_all as f64);
                    let (per_s, each) = (events / s / 1e6, events / done);
                    println!("{:>26} {s:>8.2} {per_s:>12.1} {each:>14.1}", entry.name);
                }
                Err(error) => println!("{:>26} {error}", entry.name),
            }
        }
    }
}

/// A closed network of a delay and four queues.
fn networks(events: u64) {
    println!("{:>10} {:>14}", "customers", "M events/s");
    for population in [64, 1_000, 10_000] {
        let station = |index: u32| Station {
            name: format!("station {index}"),
            kind: if index == 0 { Kind::Delay } else { Kind::Queue },
            visits: vec![1.0],
            service_us: vec![if index == 0 { f64::from(population) } else { 1.0 }],
        };
        let load = Load::Closed { population, think_us: 0.0 };
        let classes = vec![Class { name: "all".into(), load }];
        let stations = (0..5).map(station).collect();
        let network = planner::Network::new("bench", 0.0, classes, stations);
        let asked = Asked { replications: 2, customers: events / 14, ..Asked::default() };
        let start_s = processor_s();
        match network.and_then(|network| simulate(&network, &asked)) {
            Ok(simulated) => {
                let per_s = simulated.events as f64 / (processor_s() - start_s);
                println!("{population:>10} {:>14.1}", per_s / 1e6);
            }
            Err(error) => println!("{population:>10} {error}"),
        }
    }
}

fn hold(population: u32, events: u64, delay: impl Fn(&mut Random) -> Time) -> f64 {
    let mut random = Random::new(1);
    let mut calendar = Calendar::new();
    for who in 0..population {
        calendar.after(delay(&mut random), Event { _what: 0, who });
    }
    let start_s = processor_s();
    for _ in 0..events {
        if let Some(event) = black_box(calendar.next()) {
            calendar.after(delay(&mut random), event);
            black_box(event.who);
        }
    }
    events as f64 / (processor_s() - start_s)
}

/// This thread's processor time, s.
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
