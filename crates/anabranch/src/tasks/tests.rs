use super::*;
use std::task::Poll;

/// An executor on this thread, and how often its alarm went off.
fn here() -> (Arc<Counts>, Arc<AtomicU64>) {
    let (counts, alarms) = (Arc::<Counts>::default(), Arc::<AtomicU64>::default());
    let seen = alarms.clone();
    found(&counts, 0, || {
        Box::new(move || {
            seen.fetch_add(1, Ordering::Relaxed);
        })
    });
    (counts, alarms)
}

#[test]
fn a_task_that_wakes_itself_gives_way_and_has_its_turn() {
    let (counts, alarms) = here();
    let mut left = 3;
    let task = std::future::poll_fn(move |cx| {
        left -= 1;
        if left == 0 {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    });
    spawn(Box::pin(task), None).unwrap_or_else(|_| panic!("there is an executor"));
    for round in 1..=3 {
        assert_eq!(counts.finished.load(Ordering::Relaxed), 0);
        run();
        // It is told that there is more, but for the last time.
        assert_eq!(alarms.load(Ordering::Relaxed), round.min(2));
    }
    assert_eq!(counts.finished.load(Ordering::Relaxed), 1);
    end();
}

#[test]
fn a_waker_from_another_thread_raises_the_alarm_once() {
    let (counts, alarms) = here();
    let waker = Arc::new(Mutex::new(None::<Waker>));
    let (kept, mut polls) = (waker.clone(), 0);
    let task = std::future::poll_fn(move |cx| {
        polls += 1;
        *kept.lock() = Some(cx.waker().clone());
        if polls == 2 { Poll::Ready(()) } else { Poll::Pending }
    });
    spawn(Box::pin(task), None).unwrap_or_else(|_| panic!("there is an executor"));
    run();
    let there = waker.lock().clone().unwrap();
    std::thread::spawn(move || (0..10).for_each(|_| there.wake_by_ref())).join().unwrap();
    assert_eq!(alarms.load(Ordering::Relaxed), 1);
    run();
    assert_eq!(counts.finished.load(Ordering::Relaxed), 1);
    // A waker of a task that has ended finds another in its place, and leaves it alone.
    spawn(Box::pin(std::future::pending()), None).unwrap_or_else(|_| panic!("as above"));
    run();
    waker.lock().take().unwrap().wake();
    run();
    end();
    assert_eq!(counts.dropped.load(Ordering::Relaxed), 1);
}

#[test]
fn a_panic_ends_its_task_alone() {
    let (counts, _) = here();
    spawn(Box::pin(async { panic!("as the test wants it") }), None).unwrap_or_else(|_| panic!());
    spawn(Box::pin(async {}), None).unwrap_or_else(|_| panic!());
    run();
    assert_eq!(counts.panicked.load(Ordering::Relaxed), 1);
    assert_eq!(counts.finished.load(Ordering::Relaxed), 1);
    end();
    assert!(!are_here());
}
