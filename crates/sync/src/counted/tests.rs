use super::*;
use crate::spin::Spin;

#[test]
fn a_lock_that_was_used_once_was_not_held_for_longer_than_that() {
    let lock = Counted::<Spin>::default();
    let start = Instant::now();
    lock.with(|| std::thread::sleep(Duration::from_millis(3)));
    let (held, all) = (lock.counts().hold, start.elapsed());
    assert!(Duration::from_millis(3) <= held && held <= all, "{held:?} of {all:?}");
}

#[test]
fn samples_stand_for_about_as_many_uses_as_there_were() {
    let mut counted = 0;
    for n in 1..=100_000 {
        counted += stands_for(n).unwrap_or(0);
        assert!(n / 2 <= counted + 4 && counted <= n + n / 2, "{counted} of {n}");
        assert!(n < 1000 || counted.abs_diff(n) <= EVERY / 2 + 5, "{counted} of {n}");
    }
    assert!((1..=100_000).filter(|n| stands_for(*n).is_some()).count() < 100_000 / 240);
}
