//! Runs a test under many schedules.

use super::time;
use shuttle::scheduler::{
    PctScheduler, RandomScheduler, ReplayScheduler, Schedule, Scheduler, Task, TaskId,
};
use shuttle::{Config, Runner};

/// The thread that lets time pass: the first that is started.
const CLOCK: usize = 1;
/// Bytes of a thread's stack.
const STACK: usize = 1 << 20;
/// Changes of priority in a schedule of the second kind.
const CHANGES: usize = 3;

/// Runs `test` under `schedules` schedules that choose at random at each step, and
/// under as many in which the thread of the highest priority runs, and
/// priorities change at few random steps (PCT, Burckhardt et al. 2010). Time
/// passes only when no thread can run, but for what looks at the clock take.
///
/// # Panics
/// If `test` does, or if threads that it started never end; it prints the schedule.
pub fn check(schedules: usize, test: impl Fn() + Send + Sync + Clone + 'static) {
    run(RandomScheduler::new(schedules), test.clone());
    run(PctScheduler::new(CHANGES, schedules), test);
}

/// Runs `test` once more under the schedule that [`check`] has printed, in which the
/// same threads take the same turns.
///
/// # Panics
/// As [`check`]; and if the schedule is of another test.
pub fn replay(schedule: &str, test: impl Fn() + Send + Sync + 'static) {
    run_alone(ReplayScheduler::new_from_encoded(schedule), test);
}

fn run(scheduler: impl Scheduler + 'static, test: impl Fn() + Send + Sync + 'static) {
    run_alone(Patient(scheduler), test);
}

fn run_alone(scheduler: impl Scheduler + 'static, test: impl Fn() + Send + Sync + 'static) {
    run_with(Config::new(), scheduler, test);
}

fn run_with(
    mut config: Config,
    scheduler: impl Scheduler + 'static,
    test: impl Fn() + Send + Sync + 'static,
) {
    config.stack_size = STACK;
    config.silence_warnings = true;
    Runner::new(scheduler, config).run(move || {
        time::reset();
        shuttle::thread::spawn(time::run_clock);
        test();
        time::end();
    });
}

/// As another scheduler, but the clock has its turn when nobody else can.
struct Patient<S>(S);

impl<S: Scheduler> Scheduler for Patient<S> {
    fn new_execution(&mut self) -> Option<Schedule> {
        self.0.new_execution()
    }

    fn next_task(
        &mut self,
        runnable: &[&Task],
        current: Option<TaskId>,
        is_yielding: bool,
    ) -> Option<TaskId> {
        let clock = TaskId::from(CLOCK);
        let Some(at) = runnable.iter().position(|task| task.id() == clock) else {
            return self.0.next_task(runnable, current, is_yielding);
        };
        if runnable.len() == 1 {
            return Some(clock);
        }
        let mut others = runnable.to_vec();
        others.remove(at);
        self.0.next_task(&others, current, is_yielding)
    }

    fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::atomic::{AtomicU32, Ordering};
    use crate::thread;
    use shuttle::FailurePersistence;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, Mutex};

    /// Two threads, and what each saw of a number that both change.
    fn race(seen: &Mutex<Vec<u32>>) {
        let number = Arc::new(AtomicU32::new(0));
        let other = number.clone();
        let thread = thread::spawn(move || {
            other.fetch_add(1, Ordering::SeqCst);
            thread::sleep(std::time::Duration::from_micros(3));
            other.fetch_add(10, Ordering::SeqCst);
        });
        let look = || number.load(Ordering::SeqCst);
        let first = [look(), look(), look()];
        thread::sleep(std::time::Duration::from_micros(50));
        let mine = [first[0], first[1], first[2], look()];
        thread.join().expect("no panic");
        seen.lock().expect("not poisoned").extend(mine);
        assert_ne!(mine, [0, 1, 1, 11], "what is looked for");
    }

    #[test]
    fn a_schedule_that_failed_fails_again_in_the_same_way() {
        let folder = std::env::temp_dir().join(format!("anabranch-replay-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("folder");
        let mut config = Config::new();
        config.failure_persistence = FailurePersistence::File(Some(folder.clone()));
        let seen = Arc::new(Mutex::new(Vec::new()));
        let watched = seen.clone();
        let failing = move || race(&watched);
        let random = RandomScheduler::new_from_seed(1, 100_000);
        let failed = catch_unwind(AssertUnwindSafe(|| {
            run_with(config, Patient(random), failing.clone());
        }));
        assert!(failed.is_err(), "no schedule came to it");
        let file = std::fs::read_dir(&folder).expect("folder").next().expect("one").expect("entry");
        let schedule = std::fs::read_to_string(file.path()).expect("a schedule");
        std::fs::remove_dir_all(&folder).expect("removed");
        seen.lock().expect("not poisoned").clear();
        assert!(catch_unwind(AssertUnwindSafe(|| replay(schedule.trim(), failing))).is_err());
        assert_eq!(*seen.lock().expect("not poisoned"), [0, 1, 1, 11]);
    }
}
