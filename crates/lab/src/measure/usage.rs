//! What the process has used of the machine.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// What the process has used since its start.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Processor time of all threads.
    pub processor: Duration,
    /// Context switches of the threads that live now, voluntary and not.
    pub switches: u64,
}

impl Usage {
    /// Until now. Reads `/proc` and so takes some microseconds a thread.
    pub fn now() -> Usage {
        Usage { processor: read(ClockId::ProcessCPUTime), switches: switches() }
    }

    /// What was used since `earlier`.
    pub fn since(self, earlier: Usage) -> Usage {
        Usage {
            processor: self.processor.saturating_sub(earlier.processor),
            switches: self.switches.saturating_sub(earlier.switches),
        }
    }
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Processor time of this process.
pub fn process_time() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// Processor time of this thread.
pub fn thread_time() -> Duration {
    read(ClockId::ThreadCPUTime)
}

/// Context switches of all threads that live; 0 where `/proc` cannot be read.
fn switches() -> u64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return 0 };
    let status = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("status"));
    tasks
        .flatten()
        .filter_map(|task| status(task).ok())
        .flat_map(|status| {
            let counts = status.lines().filter(|line| line.contains("voluntary_ctxt_switches"));
            counts
                .filter_map(|l| l.rsplit('\t').next()?.trim().parse::<u64>().ok())
                .collect::<Vec<_>>()
        })
        .sum()
}

/// Bytes of memory that the process has resident; 0 where `/proc` cannot be
/// read.
pub fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: usize = text.split(' ').nth(1).and_then(|n| n.parse().ok()).unwrap_or(0);
    pages * rustix::param::page_size()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn use_grows() {
        let before = Usage::now();
        let mut n = 0u64;
        while Usage::now().since(before).processor < Duration::from_millis(2) {
            n = std::hint::black_box(n + 1);
        }
        // Threads of other tests that end meanwhile take their switches with them.
        let switched = |_| {
            let before = Usage::now();
            std::thread::sleep(Duration::from_millis(1));
            Usage::now().since(before).switches > 0
        };
        assert!((0..1000).any(switched));
        assert!(resident() > 0);
    }
}
