use super::*;
use crate::Locked;
use std::sync::atomic::AtomicUsize;

#[test]
fn permits_are_counted() {
    let semaphore = Semaphore::new(2);
    semaphore.acquire();
    assert_eq!((semaphore.permits(), semaphore.waiting()), (1, 0));
    semaphore.acquire();
    assert_eq!((semaphore.permits(), semaphore.waiting()), (0, 0));
    semaphore.release();
    semaphore.release();
    semaphore.release();
    assert_eq!(semaphore.permits(), 3, "V without P is one more");
}

#[test]
fn no_more_enter_than_there_are_permits() {
    const ROUNDS: usize = if cfg!(miri) { 20 } else { 2_000 };
    let semaphore = Semaphore::new(2);
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    semaphore.acquire();
                    let now = inside.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    if round % 8 == 0 {
                        std::thread::yield_now();
                    }
                    inside.fetch_sub(1, Ordering::SeqCst);
                    semaphore.release();
                }
            });
        }
    });
    assert!(most.into_inner() <= 2);
    assert_eq!((semaphore.permits(), semaphore.waiting()), (2, 0));
}

#[test]
fn waiters_are_served_in_their_order() {
    let locked: Locked<BinarySemaphore, Vec<usize>> = Locked::new(Vec::new());
    std::thread::scope(|scope| {
        locked.with(|_| {
            for i in 0..4 {
                let locked = &locked;
                scope.spawn(move || locked.with(|order| order.push(i)));
                // Queued, not only counted: the queue is what is in order.
                while locked.lock().0.queue().queued <= i as u64 {
                    std::thread::yield_now();
                }
            }
        });
    });
    assert_eq!(locked.into_inner(), [0, 1, 2, 3]);
}
