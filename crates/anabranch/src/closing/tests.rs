use super::*;
use std::sync::Arc;

#[test]
fn waits_for_the_last() {
    let closing = Arc::new(Closing::default());
    assert_eq!(closing.wait(Duration::MAX), 0);
    closing.begin();
    closing.begin();
    assert_eq!(closing.wait(Duration::ZERO), 2);
    let other = closing.clone();
    let waiter = std::thread::spawn(move || other.wait(Duration::MAX));
    closing.end();
    closing.end();
    assert_eq!(waiter.join().expect("no panic"), 0);
}

#[test]
fn knows_wake_ups() {
    assert!(!is_waking());
    waking(|| {
        waking(|| assert!(is_waking()));
        assert!(is_waking());
    });
    assert!(!is_waking());
    let _ = std::panic::catch_unwind(|| waking(|| panic!("in a wake-up")));
    assert!(!is_waking());
}
