//! Locks are counted unless all that could want the counts sleep. It is a process of its own,
//! for that is of a whole process.

extern crate anabranch_instrument as instrument;

use instrument::Instruments;
use sync::counted::Counted;
use sync::raw::RawLock;
use sync::rw::ReadersWriter;

#[test]
fn locks_rest_while_instruments_sleep() {
    let lock = Counted::<ReadersWriter>::default();
    let uses = || {
        let before = lock.counts().uses;
        (0..10).for_each(|_| lock.with(|| ()));
        (0..10).for_each(|_| lock.with_shared(|| ()));
        lock.counts().uses - before
    };
    assert_eq!(uses(), 20, "nobody has instruments");
    let dormant = Instruments::dormant();
    assert_eq!(uses(), 0);
    let (one, other) = (dormant.watch(), dormant.watch());
    assert_eq!(uses(), 20);
    drop(one);
    assert_eq!(uses(), 20);
    drop(other);
    assert_eq!(uses(), 0);
    let awake = Instruments::new();
    assert_eq!(uses(), 20, "another stack's instruments are awake");
    drop(awake);
    assert_eq!(uses(), 0);
    drop(dormant);
    assert_eq!(uses(), 20);
}
