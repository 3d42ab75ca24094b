use super::*;
use platform::Mutex;
use std::collections::VecDeque;

/// A task that stands at the end of its executor's queue once it is woken.
struct Task {
    name: usize,
    queue: Arc<Mutex<VecDeque<usize>>>,
}

impl Wake for Task {
    fn wake(self: Arc<Self>) {
        self.queue.lock().push_back(self.name);
    }
}

fn add(waiters: &mut Waiters, waker: &Waker, now: Instant) {
    waiters.add_at(&Context::from_waker(waker), &mut Asked::default(), || now);
}

/// They come to rest. Before, those who were asked came again behind others, who were asked for their
/// sake meanwhile, and so on for ever: a hundred tasks that waited took a whole processor.
#[test]
fn many_that_wait_are_left_alone() {
    for count in [60, 65, 100, 1000, 50_000] {
        let queue = Arc::<Mutex<VecDeque<usize>>>::default();
        let task = |name| Waker::from(Arc::new(Task { name, queue: queue.clone() }));
        let tasks: Vec<_> = (0..count).map(task).collect();
        queue.lock().extend(0..count);
        let (mut waiters, mut now) = (Waiters::default(), Instant::now());
        let mut polls = 0;
        let next = || queue.lock().pop_front();
        while let Some(at) = next() {
            polls += 1;
            now += Duration::from_micros(50);
            add(&mut waiters, &tasks[at], now);
            assert!(polls < 10 * count, "{count} are polled for ever");
        }
        assert_eq!(waiters.wakers.len(), count);
        let mut wakes = Vec::new();
        waiters.take(&mut wakes);
        wake_each(wakes);
        let woken: HashSet<_> = queue.lock().iter().copied().collect();
        assert_eq!(woken.len(), count);
    }
}

/// Of tasks that have given up for minutes, as many are kept as come in some seconds.
#[test]
fn who_has_given_up_is_forgotten() {
    let (mut waiters, start) = (Waiters::default(), Instant::now());
    let (queue, given_up) = <(Arc<Mutex<VecDeque<usize>>>, Arc<Mutex<VecDeque<usize>>>)>::default();
    let stays = Waker::from(Arc::new(Task { name: 0, queue: queue.clone() }));
    for millis in 0..200_000 {
        let now = start + Duration::from_millis(millis);
        add(&mut waiters, &Waker::from(Arc::new(Task { name: 1, queue: given_up.clone() })), now);
        add(&mut waiters, &stays, now);
        let kept = Arc::strong_count(&given_up) - 1;
        assert!(kept < 20_000, "{kept} after {millis} ms");
    }
    // Who has waited all the time is asked now and then.
    let asked = queue.lock().len();
    assert!((1..1000).contains(&asked), "{asked}");
    let mut wakes = Vec::new();
    waiters.take(&mut wakes);
    assert!(wakes.iter().any(|waker| waker.will_wake(&stays)));
}
