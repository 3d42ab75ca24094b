use super::*;
use crate::{adaptive::Adaptive, counted::Counted, mcs::Mcs, os::Os, spin::Spin, ticket::Ticket};
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

macro_rules! locks {
    ($($name:ident: $lock:ty,)*) => {$(
        mod $name {
            use super::*;
            #[test]
            fn excludes_others() {
                excludes::<$lock>();
            }
            #[test]
            fn is_released_by_a_panic() {
                survives_a_panic::<$lock>();
            }
        }
    )*};
}

locks! {
    spin: Spin,
    ticket: Ticket,
    mcs: Mcs,
    adaptive: Adaptive,
    os: Os,
    counted: Counted<Spin>,
}

#[test]
fn uses_are_counted() {
    let locked = excludes::<Counted<Mcs>>();
    let counts = locked.lock().counts();
    // One more than the updates: the look at the result.
    assert_eq!(counts.uses, (THREADS * ROUNDS + 1) as u64);
}
