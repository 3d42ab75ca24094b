//! What the system knows of a thread: read from `/proc` by whoever asks, so
//! that the thread itself pays nothing.

use std::time::Duration;

/// What the system has counted of a thread since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TaskUsage {
    /// Context switches because it waited.
    pub voluntary: u64,
    /// Context switches because its time was over, or another's had come.
    pub involuntary: u64,
    /// Time it ran outside the kernel.
    pub user: Duration,
    /// Time it ran in the kernel.
    pub system: Duration,
    /// Time it could have run but other threads did.
    pub runnable: Duration,
}

impl TaskUsage {
    /// Of thread `tid` of this process; `None` if it has ended or `/proc` cannot
    /// be read.
    pub fn read(tid: u32) -> Option<TaskUsage> {
        let read = |name| std::fs::read_to_string(format!("/proc/self/task/{tid}/{name}")).ok();
        let mut usage = TaskUsage::default();
        for line in read("status")?.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let value = || value.trim().parse().unwrap_or(0);
            match name {
                "voluntary_ctxt_switches" => usage.voluntary = value(),
                "nonvoluntary_ctxt_switches" => usage.involuntary = value(),
                _ => {}
            }
        }
        let stat = read("stat")?;
        // utime and stime are fields 14 and 15 (proc(5)); the name, field 2,
        // may have anything in it but ends with the last bracket.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let mut ticks = || fields.next().and_then(|n| n.parse::<u64>().ok()).unwrap_or(0);
        let (user, system) = (ticks(), ticks());
        let second = rustix::param::clock_ticks_per_second().max(1);
        let of_ticks = |n: u64| Duration::from_secs_f64(n as f64 / second as f64);
        (usage.user, usage.system) = (of_ticks(user), of_ticks(system));
        // Ticks are coarse; the scheduler's own sum is exact but not split.
        let exact = read("schedstat").unwrap_or_default();
        let mut nanos = exact.split_whitespace().filter_map(|n| n.parse::<u64>().ok());
        if let (Some(ran), Some(waited)) = (nanos.next(), nanos.next()) {
            let ran = Duration::from_nanos(ran);
            let share = if user + system == 0 { 1.0 } else { user as f64 / (user + system) as f64 };
            usage.user = ran.mul_f64(share);
            usage.system = ran.saturating_sub(usage.user);
            usage.runnable = Duration::from_nanos(waited);
        }
        Some(usage)
    }

    /// Adds what another thread has used.
    pub fn add(&mut self, other: &TaskUsage) {
        self.voluntary += other.voluntary;
        self.involuntary += other.involuntary;
        self.user += other.user;
        self.system += other.system;
        self.runnable += other.runnable;
    }

    /// What it has used since `earlier`.
    pub fn since(&self, earlier: &TaskUsage) -> TaskUsage {
        TaskUsage {
            voluntary: self.voluntary.saturating_sub(earlier.voluntary),
            involuntary: self.involuntary.saturating_sub(earlier.involuntary),
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            runnable: self.runnable.saturating_sub(earlier.runnable),
        }
    }
}

/// The calling thread's number.
pub(super) fn own_tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_switches_of_its_own_will() {
        let before = TaskUsage::read(own_tid()).expect("it runs");
        std::thread::sleep(Duration::from_millis(1));
        let used = TaskUsage::read(own_tid()).expect("it runs").since(&before);
        assert!(used.voluntary > 0);
        assert_eq!(TaskUsage::read(u32::MAX >> 1), None);
    }
}
