//! How busy the machine is with other programs: figures that are measured beside them are
//! not the stack's own.

use crate::measure::usage::process_time;
use crate::setup::affinity;
use std::time::{Duration, Instant};

/// The share of the processors that others may take before figures suffer.
const HARMLESS: f64 = 0.1;
/// A look's least length: the system counts in hundredths of a second.
const LEAST: Duration = Duration::from_millis(100);

/// A moment from which on other programs' use of the processors is counted.
#[derive(Clone, Debug)]
pub struct Look {
    at: Instant,
    /// Busy time of the processors that this thread may run on, seconds.
    busy_s: f64,
    /// Processor time of this process, seconds.
    own_s: f64,
}

/// What other programs took of the processors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Others {
    /// Processors, on average.
    pub taken: f64,
    /// Processors that there are.
    pub processors: usize,
}

impl Others {
    /// Do figures suffer?
    pub fn disturb(&self) -> bool {
        self.taken > HARMLESS * self.processors as f64
    }
}

impl Look {
    /// From now on; `None` where `/proc/stat` cannot be read.
    pub fn now() -> Option<Look> {
        let text = std::fs::read_to_string("/proc/stat").ok()?;
        let busy = busy_ticks(&text, &affinity::allowed_processors())? as f64;
        let ticks_per_s = rustix::param::clock_ticks_per_second() as f64;
        let own_s = process_time().as_secs_f64();
        Some(Look { at: Instant::now(), busy_s: busy / ticks_per_s, own_s })
    }

    /// What others took since; `None` if that was too short ago to tell.
    pub fn others(&self) -> Option<Others> {
        let now = Look::now()?;
        let elapsed = now.at.duration_since(self.at);
        if elapsed < LEAST {
            return None;
        }
        let all = now.busy_s - self.busy_s;
        let taken = (all - (now.own_s - self.own_s)).max(0.0) / elapsed.as_secs_f64();
        Some(Others { taken, processors: affinity::processors() })
    }
}

/// What others take while this thread sleeps for `time`.
pub fn look(time: Duration) -> Option<Others> {
    let look = Look::now()?;
    std::thread::sleep(time.max(LEAST));
    look.others()
}

/// Ticks in which `processors` neither idled nor waited for a disk, by `/proc/stat`
/// (proc_stat(5)). Time that the host gave to other guests counts.
fn busy_ticks(text: &str, processors: &[usize]) -> Option<u64> {
    let mut sum = None;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
        if !number.is_some_and(|number| processors.contains(&number)) {
            continue;
        }
        let ticks: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guests are in user.
        let [user, nice, system, _, _, irq, softirq, steal, ..] = ticks[..] else { continue };
        sum = Some(sum.unwrap_or(0) + user + nice + system + irq + softirq + steal);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "\
cpu  100 1 20 5000 7 3 4 50 0 0
cpu0 60 1 10 2500 3 2 2 20 0 0
cpu1 40 0 10 2500 4 1 2 30 0 0
intr 5 5 5 5 5 5 5 5 5
";

    #[test]
    fn busy_is_what_is_not_idle() {
        assert_eq!(busy_ticks(STAT, &[0]), Some(95));
        assert_eq!(busy_ticks(STAT, &[0, 1]), Some(95 + 83));
        assert_eq!(busy_ticks(STAT, &[7]), None);
        assert_eq!(busy_ticks("", &[0]), None);
    }

    #[test]
    fn a_tenth_is_harmless() {
        let others = |taken| Others { taken, processors: 2 };
        assert!(!others(0.0).disturb() && !others(0.2).disturb());
        assert!(others(0.3).disturb() && others(2.0).disturb());
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        assert!(Look::now().is_some());
        let others = look(Duration::ZERO).expect("long enough");
        assert!(others.taken >= 0.0 && others.processors > 0, "{others:?}");
    }
}
