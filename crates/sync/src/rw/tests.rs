use super::*;
use crate::LockKind;
use crate::by_name::Order;
use std::sync::atomic::AtomicUsize;

/// Waits until there is one of `bits` in the lock's word.
fn until(lock: &ReadersWriter, bits: u64) {
    while lock.state.load(Ordering::Relaxed) & bits == 0 {
        std::thread::yield_now();
    }
}

/// However long a reader has waited: so the catalog does not say that it is served in the end.
#[test]
fn writers_that_overlap_overtake_a_reader_without_end() {
    const TURNS: usize = if cfg!(miri) { 20 } else { 1000 };
    let lock = ReadersWriter::default();
    let (turns, overtaken) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let write = || {
        while turns.load(Ordering::Relaxed) < TURNS {
            lock.with(|| {
                // Until the other writer waits.
                if turns.fetch_add(1, Ordering::Relaxed) + 1 < TURNS {
                    until(&lock, WAITERS);
                }
            });
        }
    };
    std::thread::scope(|scope| {
        lock.with(|| {
            scope.spawn(|| {
                lock.with_shared(|| {
                    overtaken.store(turns.load(Ordering::Relaxed), Ordering::Relaxed);
                });
            });
            until(&lock, PARKED);
            scope.spawn(write);
            scope.spawn(write);
            until(&lock, WAITERS);
        });
    });
    assert!(overtaken.into_inner() >= TURNS);
    assert_eq!(LockKind::ReadersWriter.order(), Order::Unfair);
}
