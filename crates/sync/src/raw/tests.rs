use super::*;
use crate::{
    counted::Counted, mcs::Mcs, rw::ReadersWriter, semaphore::BinarySemaphore, spin::Spin,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

const THREADS: usize = 4;
const ROUNDS: usize = if cfg!(miri) { 25 } else { 5_000 };

/// Two words that only exclusion keeps equal, and a count of all updates.
fn excludes<L: RawLock>() -> Locked<L, (usize, usize)> {
    let locked: Locked<L, (usize, usize)> = Locked::new((0, 0));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                for round in 0..ROUNDS {
                    locked.with(|(a, b)| {
                        assert_eq!(a, b);
                        *a += 1;
                        if round % 64 == 0 {
                            std::thread::yield_now();
                        }
                        *b += 1;
                    });
                }
            });
        }
    });
    assert_eq!(locked.with(|v| *v), (THREADS * ROUNDS, THREADS * ROUNDS));
    locked
}

fn survives_a_panic<L: RawLock>() {
    let mut locked: Locked<L, u32> = Locked::new(1);
    let caught = catch_unwind(AssertUnwindSafe(|| {
        locked.with(|value| {
            *value = 2;
            std::panic::resume_unwind(Box::new("released?"));
        })
    }));
    assert!(caught.is_err());
    assert_eq!(locked.with(|value| *value), 2);
    *locked.get_mut() = 3;
    assert_eq!(locked.into_inner(), 3);
}

fn reads<L: RawLock>() {
    let locked: Locked<L, (usize, usize)> = Locked::new((0, 0));
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let locked = &locked;
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    if thread == 0 || round % 16 == thread {
                        locked.with(|(a, b)| {
                            *a += 1;
                            *b += 1;
                        });
                    } else {
                        locked.read(|(a, b)| assert_eq!(a, b));
                    }
                }
            });
        }
    });
    let writes = ROUNDS + (1..THREADS).map(|t| (t..ROUNDS).step_by(16).count()).sum::<usize>();
    assert_eq!(locked.read(|v| *v), (writes, writes));
}

fn hints<L: RawLock>() {
    let locked: Locked<L, ()> = Locked::default();
    assert!(!locked.lock().is_locked() && !locked.lock().is_locked_shared());
    locked.with(|()| {
        assert!(locked.lock().is_locked() && locked.lock().is_locked_shared());
    });
    locked.read(|()| assert!(locked.lock().is_locked()));
    assert!(!locked.lock().is_locked());
}

macro_rules! suite {
    ($lock:ty) => {
        use super::*;
        #[test]
        fn excludes_others() {
            excludes::<$lock>();
        }
        #[test]
        fn readers_see_whole_writes() {
            reads::<$lock>();
        }
        #[test]
        fn says_whether_it_is_held() {
            hints::<$lock>();
        }
        #[test]
        fn is_released_by_a_panic() {
            survives_a_panic::<$lock>();
        }
    };
}

macro_rules! suites {
    (() $($module:ident::$lock:ident $facts:tt)*) => {$(
        mod $module {
            suite!(crate::$module::$lock);
        }
    )*};
}

crate::for_each_lock!([suites]);

mod binary_semaphore {
    suite!(BinarySemaphore);
}
mod counted {
    suite!(Counted<Spin>);
}
mod counted_readers_writer {
    suite!(Counted<ReadersWriter>);
}

#[test]
fn uses_are_counted() {
    let locked = excludes::<Counted<Mcs>>();
    let counts = locked.lock().counts();
    // One more than the updates: the look at the result.
    assert_eq!(counts.uses, (THREADS * ROUNDS + 1) as u64);
    assert!(counts.contended < counts.uses);
}

#[test]
fn a_use_that_finds_it_held_is_contended() {
    let locked: Locked<Counted<BinarySemaphore>, ()> = Locked::new(());
    std::thread::scope(|scope| {
        locked.with(|()| {
            scope.spawn(|| locked.with(|()| ()));
            // The other has looked, and waits.
            while locked.lock().inner().waiting() == 0 {
                std::thread::yield_now();
            }
        });
    });
    let counts = locked.lock().counts();
    assert_eq!((counts.uses, counts.contended), (2, 1));
    let mut both = counts;
    both.add(&counts);
    assert_eq!((both.uses, both.contended), (4, 2));
}

#[test]
fn readers_read_together_and_shared_uses_are_counted() {
    let locked: Locked<Counted<ReadersWriter>, u32> = Locked::new(5);
    let together = std::sync::Barrier::new(3);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                locked.read(|n| {
                    assert_eq!(*n, 5);
                    // Passes only when all three are inside.
                    together.wait();
                });
            });
        }
    });
    assert_eq!(locked.lock().counts().uses, 3);
    assert_eq!(locked.lock().counts().contended, 0);
}

#[test]
fn a_waiting_writer_keeps_new_readers_out() {
    let locked: Locked<ReadersWriter, u32> = Locked::new(0);
    std::thread::scope(|scope| {
        locked.read(|n| {
            assert_eq!(*n, 0);
            scope.spawn(|| locked.with(|n| *n = 1));
            while !locked.lock().is_locked_shared() {
                std::thread::yield_now();
            }
            // It waits: so this reader comes after it.
            scope.spawn(|| locked.read(|n| assert_eq!(*n, 1)));
        });
    });
}
