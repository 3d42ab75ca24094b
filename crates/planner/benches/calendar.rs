//! Events a second of the calendar, by the hold model (Vaucher and Duval 1975): of a
//! population of events, the next one is taken and another one put in, at an
//! exponential distance. A second is one of processor time, so that others on the
//! machine count little. Arguments: millions of events for each line; 4 if none.

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
    println!("{:>10} {:>14} {:>14}", "population", "M events/s", "with libm::log");
    for population in [64, 1_000, 10_000, 100_000] {
        let cheap = hold(population, events, |random| Time(random.below(2_000_000)));
        let dear = hold(population, events, |random| random.exponential_time(Time(1_000_000)));
        println!("{population:>10} {:>14.1} {:>14.1}", cheap / 1e6, dear / 1e6);
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
