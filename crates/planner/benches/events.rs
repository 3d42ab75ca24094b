//! Events a second, by one thread: of the calendar by the hold model (Vaucher and
//! Duval 1975: of a population of events, the next one is taken and another one put
//! in, at an exponential distance), and of a closed network. A second is one of
//! processor time, so that others on the machine count little. Arguments: millions of
//! events for each line; 4 if none.

use planner::network::{Class, Kind, Load, Station};
use planner::simulator::network::{Asked, simulate};
use planner::simulator::{Calendar, Random, Time};
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
    println!("{:>10} {:>14} {:>14}", "population", "M events/s", "with libm::log");
    for population in [64, 1_000, 10_000, 100_000] {
        let cheap = hold(population, events, |random| Time(random.below(2_000_000)));
        let dear = hold(population, events, |random| random.exponential_time(Time(1_000_000)));
        println!("{population:>10} {:>14.1} {:>14.1}", cheap / 1e6, dear / 1e6);
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
