use super::toy::Toy;
use super::*;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

const NONE: TraceStamp = TraceStamp::NONE;

/// Counts how often it rings.
#[derive(Default)]
struct Count(AtomicUsize);

impl Alarm for Count {
    fn ring(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl Count {
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn queue(high: usize, low: usize) -> (Queue<usize>, Arc<Count>, Arc<Count>) {
    let (consumer, producer) = (Arc::<Count>::default(), Arc::<Count>::default());
    let ends = (consumer.clone(), producer.clone());
    let queue = Queue::new(Marks { high, low }, ends.0, Some(ends.1), QueueWatch::default());
    (queue, consumer, producer)
}

#[test]
fn what_goes_in_comes_out_in_order() {
    let (queue, consumer, _) = queue(8, 4);
    assert!(queue.is_empty());
    queue.put_all(&mut (0..3).collect(), NONE);
    queue.try_put(3).expect("room");
    assert_eq!(queue.offer(&mut VecDeque::from([4]), NONE), 0);
    assert_eq!(consumer.get(), 3, "once for each batch");
    let mut out = Vec::new();
    assert_eq!(queue.take(&mut out, 2).0, 2);
    assert_eq!(queue.take(&mut out, 9).0, 3);
    assert_eq!(queue.take(&mut out, 9).0, 0);
    assert_eq!(out, [0, 1, 2, 3, 4]);
}

#[test]
fn credit_comes_back_at_the_low_water_mark() {
    let (queue, _, producer) = queue(4, 1);
    assert_eq!(queue.credit(), 4);
    let mut batch: VecDeque<usize> = (0..6).collect();
    queue.offer(&mut batch, NONE);
    assert_eq!(batch, [4, 5], "as many as there is room for");
    assert_eq!(queue.try_put(9), Err(9));
    assert_eq!(queue.credit(), 0);
    let mut out = Vec::new();
    queue.take(&mut out, 2);
    assert_eq!((queue.credit(), producer.get()), (0, 0), "not yet");
    queue.take(&mut out, 1);
    assert_eq!((queue.credit(), producer.get()), (3, 1));
    queue.take(&mut out, 1);
    assert_eq!(producer.get(), 1, "told once");
}

#[test]
fn a_producer_with_credit_is_not_woken() {
    let (queue, _, producer) = queue(4, 1);
    queue.offer(&mut VecDeque::from([1, 2]), NONE);
    queue.take(&mut Vec::new(), 9);
    assert_eq!(producer.get(), 0);
}

#[test]
fn what_is_left_in_a_closed_queue_is_known() {
    let (queue, _, _) = queue(4, 1);
    queue.put_all(&mut VecDeque::from([1, 2]), NONE);
    assert_eq!(queue.close(), [1, 2]);
    assert_eq!(queue.close(), []);
    let mut batch = VecDeque::from([3, 4]);
    queue.put_all(&mut batch, NONE);
    assert_eq!(batch, [3, 4], "they come back");
    assert_eq!(queue.try_put(5), Err(5));
    assert_eq!(queue.offer(&mut batch, NONE), 2, "they are gone");
    assert!(batch.is_empty() && queue.is_empty() && queue.credit() > 0);
}

#[test]
fn a_finished_queue_still_gives_what_is_in_it() {
    let (queue, consumer, _) = queue(4, 1);
    queue.put_all(&mut VecDeque::from([1]), NONE);
    queue.finish();
    assert_eq!(consumer.get(), 2, "the end is news");
    assert!(queue.is_finished() && !queue.is_empty());
    assert_eq!(queue.take(&mut Vec::new(), 1).0, 1);
}

#[test]
fn marks_that_make_no_sense_do_no_harm() {
    let (queue, _, _) = queue(0, 7);
    assert_eq!(queue.credit(), 1);
    queue.put_all(&mut VecDeque::from([1]), NONE);
    assert_eq!(queue.credit(), 0);
}

#[test]
fn closing_wakes_producers() {
    let (queue, _, _) = queue(1, 0);
    thread::scope(|scope| {
        let producers: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut batch = (0..1000).collect();
                    queue.put_all(&mut batch, NONE);
                    batch.len()
                })
            })
            .collect();
        let mut out = Vec::new();
        while out.len() < 100 {
            queue.take(&mut out, 3);
        }
        let taken = out.len() + queue.close().len();
        let left: usize = producers.into_iter().map(|p| p.join().expect("no panic")).sum();
        assert_eq!(taken + left, 4000);
    });
}

#[test]
fn layers_that_fill_each_others_queues_go_on() {
    for (high, low) in [(1, 0), (2, 0), (2, 1), (3, 1), (64, 32)] {
        let toy = Toy::new(Marks { high, low }, 20_000);
        thread::scope(|scope| {
            scope.spawn(|| toy.above());
            toy.below();
        });
    }
}

#[test]
fn many_producers_and_a_consumer_that_sleeps() {
    const EACH: usize = 5000;
    let bell = Arc::new(Bell::new());
    let queue = Queue::new(Marks { high: 2, low: 1 }, bell.clone(), None, QueueWatch::default());
    thread::scope(|scope| {
        for producer in 0..3 {
            let queue = &queue;
            scope.spawn(move || {
                queue.put_all(&mut (0..EACH).map(|n| (producer, n)).collect(), NONE)
            });
        }
        let (mut out, mut next) = (Vec::new(), [0; 3]);
        while next.iter().sum::<usize>() < 3 * EACH {
            if queue.take(&mut out, 2).0 == 0 {
                bell.sleep(|| (!queue.is_empty(), None), |()| std::time::Duration::MAX);
            }
            for (producer, n) in out.drain(..) {
                assert_eq!(n, next[producer], "in order");
                next[producer] += 1;
            }
        }
    });
}

#[test]
fn a_bell_that_has_rung_lets_nobody_sleep() {
    let bell = Bell::new();
    // Between the announcement and the sleep.
    bell.sleep(
        || {
            bell.ring();
            (false, None)
        },
        |()| std::time::Duration::MAX,
    );
    bell.sleep(|| (true, None), |()| unreachable!("there is work"));
    bell.sleep(|| (false, Some(())), |()| std::time::Duration::ZERO);
}

#[test]
fn stamps_go_with_their_messages() {
    let instruments = Arc::new(crate::Instruments::every(1));
    let mut timer = instrument::ThreadTimer::new(Some(&instruments), || "thread".to_owned());
    let probe = QueueWatch::new(Some(&instruments), || "queue".to_owned());
    let queue = Queue::new(Marks { high: 8, low: 4 }, Arc::<Count>::default(), None, probe);
    timer.begin();
    queue.put_all(&mut VecDeque::from([1, 2]), NONE);
    queue.put_all(&mut VecDeque::from([3, 4]), timer.stamp());
    let mut out = Vec::new();
    assert!(!queue.take(&mut out, 2).1.is_some());
    assert!(queue.take(&mut out, 1).1.is_some());
    assert!(!queue.take(&mut out, 1).1.is_some());
}
