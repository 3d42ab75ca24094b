use super::*;
use std::collections::BTreeMap;
use sync::LockKind;

/// A program of steps for each thread, which notes when a thread passes a point.
struct Bench {
    machine: Machine<u32>,
    passed: Vec<(u64, ThreadId, u32)>,
}

const PRICES: Prices = Prices {
    wake_call: 10,
    wake_up: 100,
    context_switch: 50,
    time_slice: 1000,
    spin_yield: 200,
    line_transfer: 5,
    thread_move: 0,
};

impl Bench {
    fn new(processors: usize) -> Bench {
        let machine = Machine::new(processors, PRICES, Random::new(1));
        Bench { machine, passed: Vec::new() }
    }

    fn thread(&mut self, processor: usize, wired: bool, steps: &[Step<u32>]) -> ThreadId {
        let thread = self.machine.thread(processor, wired);
        self.machine.script(thread, steps);
        self.machine.start(thread);
        thread
    }

    fn run(&mut self) {
        loop {
            while let Some(processor) = self.machine.ready() {
                while let Some((thread, point)) = self.machine.advance(processor) {
                    self.passed.push((self.machine.now().0, thread, point));
                }
            }
            match self.machine.calendar.next() {
                Some(Event::Resume { processor, epoch }) => self.machine.resume(processor, epoch),
                Some(Event::Woken { thread }) => self.machine.make_runnable(thread),
                Some(Event::Grant { lock }) => self.machine.grant(lock),
                _ => break,
            }
        }
    }

    fn times(&self, point: u32) -> Vec<(u64, ThreadId)> {
        let of =
            |(time, thread, at): &(u64, ThreadId, u32)| (*at == point).then_some((*time, *thread));
        self.passed.iter().filter_map(of).collect()
    }
}

fn price(spin: u64) -> Price {
    Price { alone: 2, contended: 20, per_waiter: 1, spin }
}

#[test]
fn work_takes_its_time_and_processors_run_beside_each_other() {
    let mut bench = Bench::new(2);
    let steps = [Step::Work(Kind::Work, 30), Step::Work(Kind::Cache, 12), Step::At(0)];
    bench.thread(0, true, &steps);
    bench.thread(1, true, &steps);
    bench.run();
    assert_eq!(bench.times(0), [(42, 0), (42, 1)]);
    for spent in bench.machine.spent() {
        assert_eq!((spent.busy[Kind::Work as usize], spent.busy[Kind::Cache as usize]), (30, 12));
        assert_eq!(spent.idle, 0);
    }
}

#[test]
fn threads_of_a_processor_share_it_by_time_slices() {
    let mut bench = Bench::new(1);
    let steps = [Step::Work(Kind::Work, 2500), Step::At(0)];
    bench.thread(0, true, &steps);
    bench.thread(0, true, &steps);
    bench.run();
    // Time slices of 1000 in turn, and 50 for each context switch.
    assert_eq!(bench.times(0), [(1000 + 1050 + 1050 + 1050 + 550, 0), (5000 + 5 * 50, 1)]);
}

#[test]
fn a_floating_thread_runs_where_a_processor_idles() {
    let mut bench = Bench::new(2);
    let steps = [Step::Work(Kind::Work, 500), Step::At(0)];
    bench.thread(0, false, &steps);
    bench.thread(0, false, &steps);
    bench.run();
    assert_eq!(bench.times(0), [(500, 0), (500, 1)]);
}

#[test]
fn a_wired_thread_waits_for_its_processor() {
    let mut bench = Bench::new(2);
    let steps = [Step::Work(Kind::Work, 500), Step::At(0)];
    bench.thread(0, true, &steps);
    bench.thread(0, true, &steps);
    bench.run();
    assert_eq!(bench.times(0), [(500, 0), (500 + 50 + 500, 1)]);
}

#[test]
fn a_wake_up_is_never_lost() {
    for early in [0, 5000] {
        let mut bench = Bench::new(2);
        // The thread sleeps before it is woken, or is woken before it sleeps.
        let sleeper =
            bench.thread(0, true, &[Step::Work(Kind::Work, early), Step::Sleep, Step::At(0)]);
        bench.thread(1, true, &[Step::Work(Kind::Work, 1000), Step::Wake(sleeper), Step::At(1)]);
        bench.run();
        let expected = if early == 0 { 1000 + 100 } else { 5000 };
        assert_eq!(bench.times(0), [(expected, sleeper)]);
    }
}

#[test]
fn locks_exclude_whatever_their_kind() {
    for kind in LockKind::ALL {
        for (processors, spin) in [(1, 0), (2, 30), (4, 1000), (8, 0)] {
            let mut bench = Bench::new(processors);
            let lock = bench.machine.lock(Rule::of(kind), price(spin), 0);
            let round = [
                Step::Acquire(lock),
                Step::At(1),
                Step::Work(Kind::Work, 333),
                Step::At(2),
                Step::Release(lock),
                Step::Work(Kind::Work, 77),
            ];
            for n in 0..10 {
                let steps: Vec<_> = std::iter::repeat_n(round, 20).flatten().collect();
                bench.thread(n, n % 2 == 0, &steps);
            }
            bench.run();
            let mut inside = None;
            let mut rounds = BTreeMap::new();
            for &(_, thread, point) in &bench.passed {
                match point {
                    1 => assert_eq!(inside.replace(thread), None, "{kind:?}: two are inside"),
                    _ => {
                        assert_eq!(inside.take(), Some(thread), "{kind:?}");
                        *rounds.entry(thread).or_insert(0) += 1;
                    }
                }
            }
            assert!(
                rounds.len() == 10 && rounds.values().all(|n| *n == 20),
                "{kind:?}: {rounds:?}"
            );
            assert_eq!(bench.machine.locks[lock as usize].uses, 200);
        }
    }
}

#[test]
fn locks_in_order_serve_in_order() {
    for rule in [Rule::of(LockKind::Ticket), Rule::of(LockKind::Mcs), Rule::SEMAPHORE] {
        let mut bench = Bench::new(6);
        let lock = bench.machine.lock(rule, price(50), 0);
        for n in 0..6 {
            let steps = [
                Step::Work(Kind::Work, 10 * (n as u64 + 1)),
                Step::Acquire(lock),
                Step::At(0),
                Step::Work(Kind::Work, 400),
                Step::Release(lock),
            ];
            bench.thread(n, true, &steps);
        }
        bench.run();
        let order: Vec<_> = bench.times(0).iter().map(|(_, thread)| *thread).collect();
        assert_eq!(order, [0, 1, 2, 3, 4, 5], "{rule:?}");
    }
}

#[test]
fn a_free_lock_costs_itself_and_its_line() {
    let mut bench = Bench::new(2);
    let lock = bench.machine.lock(Rule::of(LockKind::Spin), price(0), 0);
    let use_it =
        [Step::Acquire(lock), Step::Work(Kind::Work, 10), Step::Release(lock), Step::At(0)];
    bench.thread(0, true, &use_it);
    let later = [Step::Work(Kind::Work, 1000)];
    bench.thread(1, true, &[&later[..], &use_it[..]].concat());
    bench.run();
    assert_eq!(bench.times(0), [(12, 0), (1000 + 2 + 5 + 10, 1)]);
}

#[test]
fn who_waits_spins_and_pays_the_transfer() {
    let mut bench = Bench::new(2);
    let lock = bench.machine.lock(Rule::of(LockKind::Ticket), price(0), 0);
    let steps =
        [Step::Acquire(lock), Step::Work(Kind::Work, 100), Step::Release(lock), Step::At(0)];
    bench.thread(0, true, &steps);
    bench.thread(1, true, &steps);
    bench.run();
    // The first holds it for 102, the lock travels for 20.
    assert_eq!(bench.times(0), [(102, 0), (102 + 20 + 100, 1)]);
    let spent = bench.machine.spent();
    assert_eq!(spent[1].busy[Kind::Lock as usize], 102 + 20);
    assert_eq!(bench.machine.locks[lock as usize].waited, 102);
}

#[test]
fn who_parks_leaves_the_processor() {
    let mut bench = Bench::new(2);
    let lock = bench.machine.lock(Rule::of(LockKind::Os), price(30), 0);
    let hold = [Step::Acquire(lock), Step::Work(Kind::Work, 1000), Step::Release(lock)];
    bench.thread(0, true, &hold);
    bench.thread(1, true, &hold);
    bench.run();
    let spent = bench.machine.spent();
    assert_eq!(spent[1].busy[Kind::Lock as usize], 30 + 20, "it spun, and got the line");
    assert_eq!(spent[1].idle, 1002 - 30 + 100, "then it was away, until it was woken");
}

#[test]
fn a_spinner_gives_way_to_the_holder_on_its_processor() {
    for kind in [LockKind::Spin, LockKind::Mcs] {
        let mut bench = Bench::new(1);
        let lock = bench.machine.lock(Rule::of(kind), price(0), 0);
        let hold =
            [Step::Acquire(lock), Step::Work(Kind::Work, 5000), Step::Release(lock), Step::At(0)];
        bench.thread(0, true, &hold);
        bench.thread(0, true, &hold);
        bench.run();
        assert_eq!(bench.times(0).len(), 2, "{kind:?}");
    }
}

#[test]
fn gates_let_numbers_in_one_after_the_other() {
    for processors in [1, 2, 4] {
        let mut bench = Bench::new(processors);
        let gate = bench.machine.gate();
        for n in 0..4u32 {
            let number = 3 - n;
            let steps = [
                Step::Await(gate, number),
                Step::At(number),
                Step::Work(Kind::Work, 300),
                Step::Pass(gate, number + 1),
            ];
            bench.thread(n as usize, true, &steps);
        }
        bench.run();
        let order: Vec<_> = bench.passed.iter().map(|(_, _, number)| *number).collect();
        assert_eq!(order, [0, 1, 2, 3], "{processors}");
    }
}
