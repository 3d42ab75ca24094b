//! Models of two neighbouring layers, over the interleavings with up to a few
//! preemptions: nobody waits for ever, nothing is lost. Run with
//! `RUSTFLAGS="--cfg loom" cargo test -p anabranch-organizations --lib queue::model`.

use super::toy::Toy;
use super::{Alarm, Bell, Marks, Queue};
use instrument::{QueueWatch, TraceStamp};
use loom::thread;
use std::collections::VecDeque;
use std::sync::Arc;

fn check(preemptions: usize, f: impl Fn() + Send + Sync + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(f);
}

fn both_ways(marks: Marks, messages: usize) {
    check(4, move || {
        let toy = Arc::new(Toy::new(marks, messages));
        let above = toy.clone();
        let thread = thread::spawn(move || above.above());
        toy.below();
        thread.join().unwrap();
    });
}

#[test]
fn queues_of_one_go_both_ways() {
    both_ways(Marks { high: 1, low: 0 }, 2);
}

#[test]
fn queues_of_two_go_both_ways() {
    both_ways(Marks { high: 2, low: 0 }, 3);
}

/// A producer that sleeps for room, and a consumer that goes: the rest comes
/// back, and nobody sleeps on.
#[test]
fn closing_wakes_the_producer() {
    check(5, || {
        let bell = Arc::new(Bell::new());
        let marks = Marks { high: 1, low: 0 };
        let bell = bell as Arc<dyn Alarm>;
        let queue = Arc::new(Queue::new(marks, bell, None, QueueWatch::default()));
        let consumer = queue.clone();
        let thread = thread::spawn(move || {
            let mut taken = Vec::new();
            consumer.take(&mut taken, 1);
            taken.len() + consumer.close().len()
        });
        let mut batch = VecDeque::from([1, 2, 3]);
        queue.put_all(&mut batch, TraceStamp::NONE);
        let taken = thread.join().unwrap();
        assert_eq!(taken + batch.len(), 3);
    });
}
