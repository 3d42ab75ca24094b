use super::*;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::sync::Arc;

#[test]
fn full_and_empty() {
    let (mut producer, mut consumer) = ring(3);
    assert_eq!((producer.capacity(), consumer.capacity()), (3, 3));
    assert_eq!(consumer.pop(), None);
    for i in 0..3 {
        assert_eq!(producer.push(i), Ok(()));
    }
    assert_eq!(producer.push(3), Err(3), "three fit, though four slots are there");
    assert_eq!((producer.len(), consumer.len()), (3, 3));
    assert_eq!(consumer.pop(), Some(0));
    assert_eq!(producer.push(3), Ok(()));
    assert_eq!(std::iter::from_fn(|| consumer.pop()).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(producer.is_empty() && consumer.is_empty());
}

#[test]
fn what_is_left_is_dropped_once() {
    let item = Arc::new(());
    let (mut producer, mut consumer) = ring(4);
    for _ in 0..4 {
        producer.push(item.clone()).unwrap();
    }
    assert!(consumer.pop().is_some());
    producer.push(item.clone()).unwrap();
    assert!(consumer.pop().is_some());
    assert_eq!(Arc::strong_count(&item), 4);
    drop(producer);
    assert_eq!(Arc::strong_count(&item), 4);
    drop(consumer);
    assert_eq!(Arc::strong_count(&item), 1);
}

#[test]
#[should_panic(expected = "a ring of 0 items")]
fn a_ring_of_nothing_is_refused() {
    let _ = ring::<()>(0);
}

#[test]
fn items_pass_between_threads_in_order() {
    const ITEMS: usize = if cfg!(miri) { 200 } else { 100_000 };
    let (mut producer, mut consumer) = ring(7);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for i in 0..ITEMS {
                let mut item = Box::new(i);
                while let Err(back) = producer.push(item) {
                    item = back;
                    std::thread::yield_now();
                }
            }
        });
        for i in 0..ITEMS {
            let item = loop {
                match consumer.pop() {
                    Some(item) => break item,
                    None => std::thread::yield_now(),
                }
            };
            assert_eq!(*item, i);
        }
        assert!(consumer.pop().is_none());
    });
}

proptest! {
    #[test]
    fn it_is_a_bounded_queue(capacity in 1usize..9, ops in prop::collection::vec(any::<bool>(), 0..200)) {
        let (mut producer, mut consumer) = ring(capacity);
        let mut model = VecDeque::new();
        for (i, push) in ops.into_iter().enumerate() {
            if push {
                let fits = model.len() < capacity;
                prop_assert_eq!(producer.push(i), if fits { Ok(()) } else { Err(i) });
                if fits {
                    model.push_back(i);
                }
            } else {
                prop_assert_eq!(consumer.pop(), model.pop_front());
            }
            prop_assert_eq!(producer.len(), model.len());
            prop_assert_eq!(consumer.len(), model.len());
        }
    }
}
