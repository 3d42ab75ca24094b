use super::*;
use std::time::Duration;

#[test]
fn a_thread_that_has_ended_is_still_reported() {
    let instruments = Arc::new(Instruments::every(1));
    let before = instruments.snapshot();
    let ours = instruments.clone();
    let thread = std::thread::spawn(move || {
        let mut timer = ThreadTimer::new(Some(&ours), || "worker".to_owned());
        timer.begin();
        timer.received(&[]);
        std::thread::sleep(Duration::from_millis(2));
        timer.mark(Layer::Transport);
        timer.sent(3);
        timer.end();
    });
    thread.join().expect("no panic");
    let report = instruments.snapshot().since(&before);
    let [thread] = &report.threads[..] else { panic!("one thread: {report:?}") };
    assert_eq!((thread.name.as_str(), thread.rounds, thread.packets_out), ("worker", 1, 3));
    assert!(thread.voluntary_switches > 0);
    assert!(report.layer_s(Layer::Transport) >= 0.0019);
    assert_eq!(report.latency.samples, 0);
}

#[test]
fn one_round_of_many_is_timed() {
    let instruments = Arc::new(Instruments::every(16));
    let mut timer = ThreadTimer::new(Some(&instruments), || "worker".to_owned());
    let rounds = (0..16_000).filter(|_| {
        timer.begin();
        let timed = timer.timed();
        timer.end();
        timed
    });
    assert!((800..1250).contains(&rounds.count()));
    let mut off = ThreadTimer::off();
    off.begin();
    assert!(!off.timed() && !off.stamp().is_some());
}

/// Where threads are many and each has few rounds, as those of connections have: before, the first
/// round of each was timed, and stood for 256.
#[test]
fn the_first_round_is_timed_no_more_often_than_others() {
    let instruments = Instruments::new();
    let timed = (0..300).filter(|_| {
        let ours = instruments.clone();
        let first = move || {
            let mut timer = ThreadTimer::new(Some(&ours), || "short".to_owned());
            timer.begin();
            timer.timed()
        };
        std::thread::spawn(first).join().expect("no panic")
    });
    let timed = timed.count();
    assert!(timed < 60, "{timed} of 300");
}

#[test]
fn queues_and_locks_of_one_name_are_reported_together() {
    let instruments = Arc::new(Instruments::every(1));
    let mut timer = ThreadTimer::new(Some(&instruments), || "worker".to_owned());
    let queues = [0, 1].map(|_| QueueWatch::new(Some(&instruments), || "mailbox".to_owned()));
    for uses in [3, 4] {
        let counts = LockCounts {
            uses,
            wait: Duration::from_millis(uses),
            hold: Duration::from_millis(1),
            contended: 1,
        };
        instruments.lock("group", move || Some(counts));
    }
    timer.begin();
    let stamp = queues[0].put(timer.stamp(), || 5);
    queues[1].put(timer.stamp(), || 1);
    queues[0].taken(1);
    queues[0].left(stamp);
    queues[1].dropped(2);
    let empty = Instruments::default().snapshot();
    let report = instruments.snapshot().since(&empty);
    let [queue] = &report.queues[..] else { panic!("one name: {report:?}") };
    assert_eq!((queue.queues, queue.taken, queue.dropped), (2, 1, 2));
    assert_eq!((queue.length_mean, queue.length_max), (3.0, 5));
    assert_eq!((queue.residence.samples, report.handoffs()), (1, 1));
    let [lock] = &report.locks[..] else { panic!("one name: {report:?}") };
    assert_eq!((lock.locks, lock.uses, lock.uses_max, lock.contended), (2, 7, 4, 2));
    assert!((report.lock_wait_s() - 0.007).abs() < 1e-9);
}

#[test]
fn what_is_stamped_has_a_latency_where_it_is_served() {
    let instruments = Arc::new(Instruments::every(1));
    let mut taker = ThreadTimer::new(Some(&instruments), || "taker".to_owned());
    let mut server = ThreadTimer::new(Some(&instruments), || "server".to_owned());
    let before = instruments.snapshot();
    taker.begin();
    taker.received(&[]);
    let stamp = taker.stamp();
    taker.end();
    server.begin();
    server.follow(stamp);
    server.follow(TraceStamp::NONE);
    server.end();
    let report = instruments.snapshot().since(&before);
    assert_eq!((report.latency.samples, report.threads[1].latency.samples), (1, 1));
}

#[test]
fn many_threads_that_have_ended_are_put_together() {
    let instruments = Arc::new(Instruments::every(1));
    let run = |packets: usize| {
        let ours = instruments.clone();
        let thread = std::thread::spawn(move || {
            ThreadTimer::new(Some(&ours), || "short".to_owned()).sent(packets);
        });
        thread.join().expect("no panic");
    };
    (0..100).for_each(|_| run(1));
    let before = instruments.snapshot();
    (0..3 * APART).for_each(|_| run(2));
    let report = instruments.snapshot().since(&before);
    assert!(report.threads.len() <= 2 * APART);
    assert_eq!(report.threads.last().map(|t| t.name.as_str()), Some("ended"));
    let sent: u64 = report.threads.iter().map(|thread| thread.packets_out).sum();
    assert_eq!(sent, 2 * 3 * APART as u64);
}

/// A round of a thread that takes a packet, hands one on and sends one.
fn round(timer: &mut ThreadTimer, queue: &QueueWatch) {
    timer.begin();
    timer.received(&[wire::Packet::copy_of(&[0; 100])]);
    let stamp = queue.put(timer.stamp(), || 1);
    timer.handed(1);
    queue.taken(1);
    queue.left(stamp);
    timer.slept();
    timer.sent(1);
    timer.mark(Layer::Transport);
    timer.end();
}

#[test]
fn dormant_instruments_count_while_somebody_watches() {
    let instruments = Instruments::dormant();
    let queue = QueueWatch::new(Some(&instruments), || "mailbox".to_owned());
    let mut timer = ThreadTimer::new(Some(&instruments), || "worker".to_owned());
    let all = |report: Report| {
        let thread = &report.threads[0];
        let counts = [thread.rounds, thread.packets_in, thread.packets_out, thread.sleeps];
        (counts, thread.handed, report.queues[0].taken)
    };
    let before = instruments.snapshot();
    (0..1000).for_each(|_| round(&mut timer, &queue));
    assert_eq!(all(instruments.snapshot().since(&before)), ([0; 4], 0, 0));

    let watching = instruments.watch();
    let also = instruments.watch();
    let before = instruments.snapshot();
    (0..1000).for_each(|_| round(&mut timer, &queue));
    drop(also);
    (0..1000).for_each(|_| round(&mut timer, &queue));
    let report = instruments.snapshot().since(&before);
    assert!(report.residence.samples > 0, "some rounds are timed");
    assert_eq!(report.threads[0].bytes_in, 200_000);
    assert_eq!(all(report), ([2000; 4], 2000, 2000));

    drop(watching);
    let before = instruments.snapshot();
    (0..1000).for_each(|_| round(&mut timer, &queue));
    assert!(!timer.timed() && !timer.wants_sizes());
    assert_eq!(all(instruments.snapshot().since(&before)), ([0; 4], 0, 0));
}

/// Instruments that outlive many stacks, each with a queue and a lock. Before, they kept all of them.
#[test]
fn queues_and_locks_that_are_gone_are_put_together() {
    let instruments = Arc::new(Instruments::every(1));
    let mut timer = ThreadTimer::new(Some(&instruments), || "worker".to_owned());
    let mut run = |kept: bool| {
        let stack = Arc::new(());
        let weak = Arc::downgrade(&stack);
        let counts = LockCounts { uses: 1, ..LockCounts::default() };
        instruments.lock("group", move || weak.upgrade().map(|_| counts));
        let queue = QueueWatch::new(Some(&instruments), || "mailbox".to_owned());
        timer.begin();
        let stamp = queue.put(timer.stamp(), || 2);
        queue.taken(3);
        queue.left(stamp);
        kept.then_some((stack, queue))
    };
    let kept = run(true);
    (0..100).for_each(|_| drop(run(false)));
    let before = instruments.snapshot();
    (0..5 * APART).for_each(|_| drop(run(false)));
    let after = instruments.snapshot();
    assert!(after.queues.len() <= 2 * APART && instruments.locks.lock().all.len() <= 2 * APART);
    let report = after.since(&before);
    let [queue] = &report.queues[..] else { panic!("one name: {report:?}") };
    assert_eq!((queue.taken, queue.length_mean, queue.length_max), (3 * 5 * APART as u64, 2.0, 2));
    assert_eq!(queue.residence.samples, 5 * APART as u64);
    assert_eq!(queue.length_last, 2, "of the one that is there");
    assert!(queue.queues > 5 * APART, "those that are there, and those that came and went");
    let [lock] = &report.locks[..] else { panic!("one name: {report:?}") };
    assert_eq!((lock.locks, lock.uses), (1, 0));
    drop(kept);
    assert!(after.since(&instruments.snapshot()).locks.len() <= 1);
}

#[test]
fn however_seldom_rounds_are_timed_they_are() {
    for every in [1 << 31, u32::MAX] {
        let instruments = Arc::new(Instruments::every(every));
        let mut timer = ThreadTimer::new(Some(&instruments), || "worker".to_owned());
        let timed = (0..10).map(|_| {
            timer.begin();
            let timed = timer.timed();
            timer.end();
            timed
        });
        assert_eq!(timed.filter(|timed| *timed).count(), 0, "none for long");
    }
}

/// What reads a lock may be the last to hold what the lock is of; and whatever goes with that may
/// come to the instruments.
#[test]
fn who_reads_a_lock_may_come_to_the_instruments() {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let instruments = Arc::new(Instruments::every(1));
        let comes = || {
            let (weak, first) = (Arc::downgrade(&instruments), AtomicUsize::new(0));
            instruments.lock("group", move || {
                if first.fetch_add(1, Ordering::Relaxed) == 0 {
                    let instruments = weak.upgrade()?;
                    drop(instruments.thread("late"));
                    instruments.lock("late", || None);
                }
                Some(LockCounts { uses: 1, ..LockCounts::default() })
            });
        };
        comes();
        assert_eq!(instruments.snapshot().locks.len(), 1);
        comes();
        // So many that those are looked for that are gone.
        (0..APART).for_each(|_| instruments.lock("gone", || None));
        done.send(instruments.snapshot().locks.len()).expect("it waits");
    });
    // Before, it stood still.
    assert_eq!(is_done.recv_timeout(Duration::from_secs(20)), Ok(2));
}
