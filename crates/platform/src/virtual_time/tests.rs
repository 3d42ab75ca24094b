use super::*;
use std::sync::atomic::AtomicUsize;
use std::thread;

const PATIENCE: Duration = Duration::from_secs(60);

fn later(time: &VirtualTime, millis: u64) -> Instant {
    time.now() + Duration::from_millis(millis)
}

#[test]
fn stands_still_until_it_is_moved() {
    let time = VirtualTime::start();
    let then = time.now();
    thread::sleep(Duration::from_millis(2));
    assert_eq!(time.now(), then);
    time.advance(later(time, 5));
    assert_eq!(time.now().since(then), Duration::from_millis(5));
    time.advance(then);
    assert_eq!(time.now().since(then), Duration::from_millis(5), "it never goes back");
}

/// Three threads sleep until times of their own, again and again: each wakes at
/// exactly its times, whatever the others do.
#[test]
fn threads_wake_at_their_times() {
    let time = VirtualTime::start();
    let start = time.now();
    let sleepers: Vec<_> = (1..=3u64)
        .map(|period| {
            let running = time.thread();
            thread::spawn(move || {
                let _running = running;
                (1..=20)
                    .map(|n| {
                        let until = start + Duration::from_millis(n * period);
                        while time.now() < until {
                            time.sleep(&[], Some(until)).expect("descriptors");
                        }
                        time.now().since(start).as_millis() as u64
                    })
                    .collect::<Vec<_>>()
            })
        })
        .collect();
    loop {
        assert!(time.settle(PATIENCE));
        let Some(next) = time.next() else { break };
        time.advance(next);
    }
    for (period, sleeper) in (1..).zip(sleepers) {
        let expected: Vec<u64> = (1..=20).map(|n| n * period).collect();
        assert_eq!(sleeper.join().expect("no panic"), expected);
    }
}

/// What one thread hands to the next by a descriptor is done before time is settled.
#[test]
fn settles_after_a_chain_of_wake_ups() {
    const LINKS: usize = 6;
    let time = VirtualTime::start();
    let events: Arc<Vec<Event>> =
        Arc::new((0..=LINKS).map(|_| Event::new().expect("a descriptor")).collect());
    let done = Arc::new(AtomicUsize::new(0));
    let threads: Vec<_> = (0..LINKS)
        .map(|link| {
            let (events, done, running) = (events.clone(), done.clone(), time.thread());
            thread::spawn(move || {
                let _running = running;
                for _ in 0..50 {
                    time.sleep(&[events[link].as_fd()], None).expect("descriptors");
                    events[link].clear();
                    thread::yield_now();
                    done.fetch_add(1, Ordering::Relaxed);
                    events[link + 1].signal();
                }
            })
        })
        .collect();
    for round in 1..=50 {
        assert!(time.settle(PATIENCE));
        events[0].signal();
        assert!(time.settle(PATIENCE));
        assert_eq!(done.load(Ordering::Relaxed), round * LINKS);
        assert_eq!(time.next(), None);
    }
    threads.into_iter().for_each(|thread| thread.join().expect("no panic"));
}

#[test]
fn a_thread_that_never_sleeps_does_not_settle() {
    let time = VirtualTime::start();
    let running = time.thread();
    assert!(!time.settle(Duration::from_millis(1)));
    drop(running);
    assert!(time.settle(PATIENCE));
}
