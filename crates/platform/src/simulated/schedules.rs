//! Runs a test under many schedules.

use super::time;
use shuttle::scheduler::{PctScheduler, RandomScheduler, Schedule, Scheduler, Task, TaskId};
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

fn run(scheduler: impl Scheduler + 'static, test: impl Fn() + Send + Sync + 'static) {
    let mut config = Config::new();
    config.stack_size = STACK;
    config.silence_warnings = true;
    Runner::new(Patient(scheduler), config).run(move || {
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
