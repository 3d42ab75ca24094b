use super::*;
use crate::wait::Asked;
use platform::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::task::{Context, Wake};

/// What waits in a block of this many bytes.
struct Block(usize);

impl Footprint for Block {
    fn footprint(&self) -> usize {
        self.0
    }
}

/// A task that counts how often it is woken.
#[derive(Default)]
struct Task(AtomicUsize);

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A queue with these blocks, and so many tasks that wait for room, each of which asks twice.
fn waited_for(blocks: &[usize], tasks: usize) -> (Queue<Block>, Vec<Arc<Task>>) {
    let mut queue = Queue::default();
    blocks.iter().for_each(|bytes| queue.push(Block(*bytes)));
    let tasks: Vec<_> = (0..tasks).map(|_| Arc::<Task>::default()).collect();
    for task in &tasks {
        let waker = Waker::from(task.clone());
        for _ in 0..2 {
            queue.waiters.add(&Context::from_waker(&waker), &mut Asked::default());
        }
    }
    (queue, tasks)
}

/// Takes one, and says which tasks it wakes.
fn woken(queue: &mut Queue<Block>, tasks: &[Arc<Task>]) -> Vec<usize> {
    let mut wakes = Vec::new();
    queue.fetch(&mut wakes).expect("one is there");
    tasks.iter().for_each(|task| task.0.store(0, Ordering::Relaxed));
    wakes.drain(..).for_each(Waker::wake);
    let times = |task: &Arc<Task>| task.0.load(Ordering::Relaxed);
    (0..tasks.len()).flat_map(|at| std::iter::repeat_n(at, times(&tasks[at]))).collect()
}

#[test]
fn as_many_are_woken_as_there_is_room_for() {
    for tasks in [10, 60] {
        let (mut queue, tasks) = waited_for(&[300, SMALL, 2 * SMALL + 1, 1, 1], tasks);
        assert_eq!(woken(&mut queue, &tasks), [0]);
        assert_eq!(woken(&mut queue, &tasks), [1]);
        assert_eq!(woken(&mut queue, &tasks), [2, 3, 4]);
        assert_eq!(woken(&mut queue, &tasks), [5]);
        // Nothing is left that would wake the others.
        let left: Vec<_> = (6..tasks.len()).collect();
        assert_eq!(woken(&mut queue, &tasks), left);
        let mut wakes = Vec::new();
        queue.waiters.take(&mut wakes);
        assert!(wakes.is_empty());
    }
}

/// A crowd is asked once in a while whether it still waits, which wakes it; so it waits here as a
/// program's tasks do.
#[test]
fn of_thousands_that_wait_few_are_woken() {
    const TASKS: usize = 5000;
    let (mut queue, tasks) = waited_for(&[1], TASKS);
    let mut polls = 0;
    let mut sent = vec![0; TASKS];
    let mut awake: Vec<usize> = (0..TASKS).collect();
    // There is room for 500; each task wants to send ten.
    while !(awake.is_empty() && queue.is_empty()) {
        for at in std::mem::take(&mut awake) {
            polls += 1;
            while sent[at] < 10 && queue.datagrams.len() < 500 {
                queue.push(Block(SMALL));
                sent[at] += 1;
            }
            if sent[at] < 10 {
                let waker = Waker::from(tasks[at].clone());
                let mut asked = Asked::default();
                queue.waiters.add(&Context::from_waker(&waker), &mut asked);
            }
        }
        // A device takes a few at a time.
        let mut wakes = Vec::new();
        for _ in 0..64 {
            queue.fetch(&mut wakes);
        }
        wakes.drain(..).for_each(Waker::wake);
        awake.extend((0..TASKS).filter(|at| tasks[*at].0.swap(0, Ordering::Relaxed) > 0));
    }
    assert!(sent.iter().all(|sent| *sent == 10));
    // 782 times something is taken: all had been woken each time.
    assert!(polls < 4 * 10 * TASKS, "{polls} polls");
}
